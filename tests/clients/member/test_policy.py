"""Deviations from the table."""

from __future__ import annotations

from groupproof.clients.member.policy import REFERENCE, UNHEARD_OF, Override, Policy
from groupproof.protocol.rules.classic.member_reactions import Effect, Lapse, Phase, reaction
from groupproof.protocol.vocabulary import Api


def test_the_reference_does_what_the_table_says() -> None:
    assert REFERENCE.reaction(Api.HEARTBEAT, 27, Phase.CURRENT) == reaction(Api.HEARTBEAT, 27, Phase.CURRENT)


def test_an_override_changes_its_answers_in_its_phases_alone_and_keeps_the_requirement() -> None:
    policy = Policy(overrides=(Override(api=Api.HEARTBEAT, answers=(27,), effects=(Effect.IGNORE,), phases=(Phase.CURRENT,)),))

    assert policy.reaction(Api.HEARTBEAT, 27, Phase.CURRENT).effects == (Effect.IGNORE,)
    assert policy.reaction(Api.HEARTBEAT, 27, Phase.CURRENT).requirements == reaction(Api.HEARTBEAT, 27, Phase.CURRENT).requirements
    for api, answer, phase in ((Api.HEARTBEAT, 22, Phase.CURRENT), (Api.SYNC_GROUP, 27, Phase.CURRENT), (Api.HEARTBEAT, 27, Phase.STALE)):
        assert policy.reaction(api, answer, phase) == reaction(api, answer, phase)


def test_an_override_without_answers_is_for_every_failure() -> None:
    policy = Policy(overrides=(Override(api=Api.LEAVE_GROUP, effects=(Effect.RAISE,)),))

    assert policy.reaction(Api.LEAVE_GROUP, 9999, Phase.CURRENT).effects == (Effect.RAISE,)
    assert policy.reaction(Api.LEAVE_GROUP, Lapse.TIMED_OUT, Phase.CURRENT).effects == (Effect.RAISE,)
    assert policy.reaction(Api.LEAVE_GROUP, 0, Phase.CURRENT).effects == (Effect.ACCEPT,)


def test_an_override_for_an_unheard_of_code_is_for_every_code_that_no_release_has() -> None:
    policy = Policy(overrides=(Override(api=Api.HEARTBEAT, answers=(UNHEARD_OF,), effects=(Effect.HALT,)),))

    assert {policy.reaction(Api.HEARTBEAT, code, Phase.CURRENT).effects for code in (999, 4711, 31_999)} == {(Effect.HALT,)}
    for answer in (0, 22, -1, Lapse.TIMED_OUT):
        assert policy.reaction(Api.HEARTBEAT, answer, Phase.CURRENT) == reaction(Api.HEARTBEAT, answer, Phase.CURRENT)

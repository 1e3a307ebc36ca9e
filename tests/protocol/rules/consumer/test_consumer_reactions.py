"""The `consumer` member's table: total, consistent, and as measured with the Java client."""

from __future__ import annotations

from itertools import product

import pytest

from groupproof.protocol.rules.classic.member_reactions import Answer, Effect, Lapse, Phase
from groupproof.protocol.rules.consumer.consumer_reactions import CONSUMER_REACTIONS, consumer_reaction
from groupproof.protocol.rules.requirements import requirements
from groupproof.protocol.vocabulary import Api, ErrorCode

CODES: tuple[Answer, ...] = (*(int(code) for code in ErrorCode), 9999, *Lapse)
BEAT, COMMIT, FETCH = Api.CONSUMER_GROUP_HEARTBEAT, Api.OFFSET_COMMIT, Api.OFFSET_FETCH


def test_every_cell_has_a_reaction_whose_requirements_exist() -> None:
    ids = {requirement.id for requirement in requirements()}
    for api, answer, phase in product(CONSUMER_REACTIONS, CODES, Phase):
        cell = consumer_reaction(api, answer, phase)
        assert cell.effects, (api, answer, phase)
        assert set(cell.requirements) <= ids, (api, answer, phase)


@pytest.mark.parametrize(
    ("effect", "codes"),
    [
        (Effect.RAISE, {30, 35, 42, 69, 81, 82, 111, 112, 113, 128, -1, 7}),
        (Effect.LOSE, {25, 110}),
        (Effect.REDISCOVER, {15, 16}),
        (Effect.REPORT, {29}),
    ],
)
def test_heartbeats_are_reacted_to_as_measured(effect: Effect, codes: set[int]) -> None:
    """`consumer-client-behaviour.md`, section 7, column Java."""
    measured = {0, 7, 14, 15, 16, 25, 29, 30, 35, 42, 69, 81, 82, 110, 111, 112, 113, 128, -1}
    assert {code for code in measured if effect in consumer_reaction(BEAT, code, Phase.CURRENT)} == codes


def test_no_error_of_a_fetch_is_treated_as_an_answer() -> None:
    assert [code for code in CODES if Effect.ACCEPT in consumer_reaction(FETCH, code, Phase.CURRENT)] == [0]
    assert [code for code in CODES if Effect.RETRY_OWN in consumer_reaction(COMMIT, code, Phase.CURRENT)] == [113]


def test_an_answer_to_who_has_left_is_ignored_whatever_it_is() -> None:
    assert {consumer_reaction(BEAT, code, Phase.STALE).effects for code in CODES} == {(Effect.IGNORE,)}


def test_an_api_without_rows_has_no_reaction() -> None:
    assert Api.LEAVE_GROUP not in CONSUMER_REACTIONS
    with pytest.raises(KeyError):
        consumer_reaction(Api.LEAVE_GROUP, 0, Phase.CURRENT)

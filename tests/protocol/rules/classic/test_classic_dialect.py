"""The classic dialect as an object."""

from __future__ import annotations

from groupproof.protocol.rules import REQUESTS, ClassicEvent, Effect, Form, Guard, known_profiles, profile, profiles
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.classic.releases import RELEASES
from groupproof.protocol.vocabulary import Api, GroupState


def test_every_release_of_kafka_speaks_it_and_first() -> None:
    assert {name for name in known_profiles() if CLASSIC in profile(name).dialects} == set(profiles())
    assert all(profile(name).table.dialect is CLASSIC for name in profiles())
    assert CLASSIC.since is not None
    assert CLASSIC.since <= min(RELEASES.values())


def test_its_words_are_all_that_terms_has() -> None:
    assert (CLASSIC.events, CLASSIC.guards, CLASSIC.answers, CLASSIC.effects) == (tuple(ClassicEvent), tuple(Guard), tuple(Form), tuple(Effect))
    assert CLASSIC.requests == REQUESTS
    assert CLASSIC.timers < set(CLASSIC.events) - set(CLASSIC.requests)


def test_its_requests_have_kafka_s_names() -> None:
    assert {event.value for event in CLASSIC.requests} <= {api.title for api in Api}
    assert set(CLASSIC.before_group) == set(CLASSIC.requests)


def test_a_group_comes_into_a_state_from_kafka_s_valid_previous_states() -> None:
    empty, preparing, completing, stable, dead = GroupState

    assert CLASSIC.valid_previous_states == {
        empty: {preparing}, preparing: {stable, completing, empty}, completing: {preparing}, stable: {completing}, dead: set(GroupState),
    }  # fmt: skip

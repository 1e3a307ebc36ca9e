"""Each observation of a group goes to the checkers of the dialect that it belongs to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.harness.toy_dialect.lease_functions import LEASE_FUNCTIONS
from tests.harness.toy_dialect.lease_judging import LEASE_CHECKERS, LEASE_READER
from tests.traces import Story

from groupproof.harness.judging.checkers.checker_registry import CHECKERS, DialectRouter, checkers_named, checkers_spoken
from groupproof.harness.judging.checkers.classic.classic_checkers import CLASSIC_CHECKERS
from groupproof.harness.judging.checkers.consumer.consumer_checkers import CONSUMER_CHECKERS
from groupproof.harness.model.dialect_parts import registered
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api

BEAT = Api.SHARE_GROUP_HEARTBEAT


@pytest.fixture(autouse=True)
def lease() -> Iterator[None]:
    with registered(LEASE_FUNCTIONS, LEASE_READER, LEASE_CHECKERS):
        yield


def _routes(*observations: Observation) -> list[str | None]:
    router = DialectRouter()
    return [router.route(obs) for obs in observations]


def test_the_checkers_of_a_dialect_go_by_its_name() -> None:
    assert CHECKERS.all() == (CLASSIC_CHECKERS, CONSUMER_CHECKERS, LEASE_CHECKERS)
    assert checkers_named("lease") is LEASE_CHECKERS
    assert checkers_named("datalink") is None


def test_a_commit_is_of_the_dialect_that_its_connection_spoke_last() -> None:
    story = Story()
    frames = [
        story.request(Api.OFFSET_COMMIT, "a", connection=1), story.request(BEAT, "a", connection=1), story.request(Api.OFFSET_COMMIT, "a", connection=1),
        story.request(Api.HEARTBEAT, "a", connection=2), story.request(Api.OFFSET_COMMIT, "a", connection=2), story.request(Api.OFFSET_COMMIT, "a", connection=1),
    ]  # fmt: skip

    assert _routes(*frames) == [None, "lease", "lease", "classic", "classic", "lease"]


def _joined(story: Story, api: Api, client: str, *, member: str, connection: int) -> Observation:
    """Tell of the answer that gives a client its member id."""
    return story.answer(story.request(api, client, connection=connection), member=member, body={"member_id": member})


def test_a_commit_on_any_connection_is_of_the_dialect_in_which_its_member_id_was_made() -> None:
    story = Story()
    made = [_joined(story, BEAT, "a", member="L", connection=1), _joined(story, Api.JOIN_GROUP, "a", member="C", connection=2)]
    commits = [
        story.request(Api.OFFSET_COMMIT, "a", member="L", connection=3), story.request(Api.OFFSET_COMMIT, "a", member="C", connection=3),
        story.request(Api.OFFSET_COMMIT, "a", member="L", connection=2),
    ]  # fmt: skip

    assert _routes(*made, *commits) == ["lease", "classic", "lease", "classic", "lease"]


def test_a_refused_request_makes_no_member_id_and_an_id_keeps_its_dialect() -> None:
    story = Story()
    _joined(story, Api.JOIN_GROUP, "a", member="C", connection=1)
    for error in (25, 0):
        story.answer(story.request(BEAT, "b", member="X" if error else "C", connection=2), error=error)
    commits = [story.request(Api.OFFSET_COMMIT, "a", member=member, connection=1) for member in ("X", "C")]

    assert _routes(*story.trace)[-2:] == ["classic", "classic"]
    assert [commit.member for commit in commits] == ["X", "C"]


def test_a_commit_without_an_id_is_of_the_only_dialect_of_its_client_or_its_group() -> None:
    story = Story()
    frames = [
        story.request(BEAT, "a", connection=1), story.request(Api.OFFSET_COMMIT, "a", connection=2), story.request(Api.OFFSET_COMMIT, "tool", connection=3),
        story.request(Api.HEARTBEAT, "a", connection=4), story.request(Api.OFFSET_COMMIT, "a", connection=2), story.request(Api.OFFSET_COMMIT, "tool", connection=3),
    ]  # fmt: skip

    assert _routes(*frames) == ["lease", "lease", "lease", "classic", None, None]


def test_an_application_is_of_the_dialect_that_its_client_spoke_last() -> None:
    story = Story()
    before = story.see("event", who="shim", client="a", body={"name": "ready"})
    beat = story.request(BEAT, "a")

    assert _routes(before, beat, before) == [None, "lease", "lease"]


def test_a_transition_is_of_the_dialect_of_its_rule_and_a_link_of_all() -> None:
    story = Story()
    moves = [
        story.see("transition", rule=rule)
        for rule in ("ShareGroupHeartbeat/none/created", "SessionEnd/lease.Held/session-ends", "Heartbeat/Stable/alive")
    ]
    link = story.see("event", who="link", connection=1, body={"name": "closed"})

    assert _routes(*moves, link) == ["lease", "lease", "classic", None]


def test_a_group_in_which_nobody_spoke_is_a_classic_one() -> None:
    story = Story()
    story.request(Api.OFFSET_COMMIT)

    assert checkers_spoken(story.trace) == [(CLASSIC_CHECKERS, story.trace)]


def test_in_a_group_of_two_dialects_the_checkers_get_what_is_theirs() -> None:
    story = Story()
    join, beat = story.request(Api.JOIN_GROUP, "m0", connection=1), story.request(BEAT, "m1", connection=2)
    link = story.see("event", who="link", connection=1, body={"name": "closed"})

    assert checkers_spoken(story.trace) == [(CLASSIC_CHECKERS, [join, link]), (LEASE_CHECKERS, [beat, link])]


@pytest.mark.parametrize("reason", ["upgraded", "downgraded"])
def test_the_transition_of_a_group_that_is_converted_is_of_all(reason: str) -> None:
    story = Story()
    moves = [
        story.see("transition", rule=f"ConsumerGroupHeartbeat/none/{detail}", state_after="Stable", detail=detail) for detail in ("created", reason)
    ]

    assert _routes(*moves)[1] is None
    assert _routes(*moves)[0] is not None

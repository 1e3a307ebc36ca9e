"""From requests and answers alone: when a rebalance began, whose silence it was, and what was no rebalance after all."""

from __future__ import annotations

import pytest
from tests.harness.judging.diagnosis.making import Story
from tests.harness.running.virtual import played

from groupproof.harness.cases.client import CASES
from groupproof.harness.judging.checkers.tracking.group_tracker import GroupTracker
from groupproof.harness.judging.diagnosis.causes import Cause
from groupproof.harness.judging.diagnosis.group_diagnosis import rebalances_of
from groupproof.protocol.trace import Trace

TWO = {"a-1": "m0", "b-1": "m1"}
SOME = ("rebalance/classic/topic-grows", "cooperative/classic/hand-over", "static/classic/fenced-heartbeat", "leave/classic/not-coordinator")
BY_ID = {case.id: case for case in CASES}


def generations_by_tracker(trace: Trace) -> list[int]:
    """Return the generations of a trace in their order, as the tracker of the checkers follows them."""
    group, found = GroupTracker(), [-1]
    for obs in trace:
        group.follow(obs)
        if group.generation not in (-1, found[-1]):
            found.append(group.generation)
    return found[1:]


def _settled() -> Story:
    story = Story()
    story.settle(0, TWO, 1, "a-1")
    return story


def test_a_follower_that_joins_with_nothing_new_is_answered_at_once_and_begins_nothing() -> None:
    story = _settled()
    story.joined(1_001, story.join(1_000, "m1", "b-1"), "b-1", 1, "a-1")

    assert len(rebalances_of(story.trace)) == 1


def test_a_join_that_is_refused_begins_nothing() -> None:
    story = _settled()
    story.answer(1_001, story.join(1_000, "m2", "unknown-1"), error=25)

    assert len(rebalances_of(story.trace)) == 1


def test_a_leader_that_joins_again_begins_one() -> None:
    story = _settled()
    story.settle(1_000, TWO, 2, "a-1")
    found = rebalances_of(story.trace)[1]

    assert (found.cause, found.member, found.generation_before, found.generation) == (Cause.LEADER_REJOINED, "a-1", 1, 2)
    assert (found.started_ms, found.join_ms, found.sync_ms) == (1_000, 5, 5)


def test_a_rebalance_first_seen_by_27_is_the_silence_of_the_member_whose_session_is_over() -> None:
    story = _settled()
    for ms in (2_000, 4_000):
        story.beat(ms, "m0", "a-1", 1)
    story.beat(6_500, "m0", "a-1", 1, error=27)
    story.settle(6_510, {"a-1": "m0"}, 2, "a-1")
    found = rebalances_of(story.trace)[1]

    assert (found.cause, found.member) == (Cause.HEARTBEAT_TIMEOUT, "b-1")
    assert found.started_ms == 6_006, "when the session of who was last heard at 6 ms was over"


def test_a_rebalance_whose_cause_nobody_here_shows_is_left_open() -> None:
    story = _settled()
    story.beat(900, "m1", "b-1", 1)
    story.beat(1_000, "m0", "a-1", 1, error=27)
    found = rebalances_of(story.trace)[1]

    assert (found.cause, found.member) == (Cause.UNREPORTED, None)
    assert found.ended == "still going on where the trace ends"


def test_a_member_that_joined_and_never_asked_for_its_assignment_is_named() -> None:
    story = Story()
    joins = [story.join(0, "m0", "a-1", rebalance=3_000, session=30_000), story.join(0, "m1", "b-1", rebalance=3_000, session=30_000)]
    for asked, member in zip(joins, TWO, strict=True):
        story.joined(5, asked, member, 1, "a-1")
    story.answer(7, story.ask(6, "SyncGroup", "m0", member="a-1", generation=1, body={"assignments": ({"member_id": "a-1"},)}))
    story.beat(3_010, "m0", "a-1", 1, error=27)
    found = rebalances_of(story.trace)[1]

    assert (found.cause, found.member) == (Cause.SYNC_TIMEOUT, "b-1")


def test_the_leave_of_the_last_member_empties_the_group() -> None:
    story = Story()
    story.settle(0, {"a-1": "m0"}, 1, "a-1")
    story.answer(
        1_001, story.ask(1_000, "LeaveGroup", "m0", member="a-1", body={"members": ({"member_id": "a-1", "reason": "the consumer is being closed"},)})
    )
    found = rebalances_of(story.trace)[1]

    assert (found.cause, found.is_emptied, found.generation) == (Cause.CLOSED, True, None)


def test_a_group_that_continues_at_another_broker_while_it_prepares_has_moved() -> None:
    story = Story()
    story.settle(0, TWO, 1, "a-1", node=0)
    story.join(1_000, "m2", "c-1", node=0)
    story.settle(3_000, TWO, 2, "a-1", node=1)
    first, abandoned, anew = rebalances_of(story.trace)

    assert (first.cause, abandoned.cause, anew.cause) == (Cause.FIRST_MEMBER, Cause.NEW_MEMBER, Cause.MOVED)
    assert (abandoned.generation, abandoned.ended) == (None, "never ended here: the coordinator moved")
    assert (anew.node, anew.started_ms) == (1, 3_000)


@pytest.mark.parametrize("case", SOME)
def test_the_diagnosis_reports_the_generations_that_the_tracker_follows(case: str) -> None:
    trace = [obs for obs in played(BY_ID[case]).trace if obs.kind != "transition"]

    found = [rebalance.generation for rebalance in rebalances_of(trace) if rebalance.generation is not None]

    assert found == generations_by_tracker(trace) != []


@pytest.mark.requirement("INV-04")
def test_a_group_that_is_created_again_has_a_rebalance_that_ends() -> None:
    story = Story()
    story.settle(0, TWO, 5, "a-1")
    story.settle(1_000, {"c-1": "m0", "d-1": "m1"}, 1, "c-1")

    assert [(found.generation, found.ended) for found in rebalances_of(story.trace)] == [(5, "settled"), (1, "settled")]
    assert generations_by_tracker(story.trace) == [5, 1]


def test_the_silence_of_a_member_that_was_refused_is_not_the_cause_of_a_rebalance() -> None:
    story = _settled()
    story.beat(100, "m1", "b-1", 1, error=25)
    for ms in (2_000, 4_000):
        story.beat(ms, "m0", "a-1", 1)
    story.beat(6_500, "m0", "a-1", 1, error=27)

    assert (rebalances_of(story.trace)[1].cause, rebalances_of(story.trace)[1].member) == (Cause.UNREPORTED, None)

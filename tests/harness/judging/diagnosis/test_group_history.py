"""The course of a group told by its transitions: phases, who was waited for, and rebalances that never ended."""

from __future__ import annotations

import pytest
from tests.harness.judging.diagnosis.making import Story

from groupproof.harness.judging.diagnosis.causes import Cause
from groupproof.harness.judging.diagnosis.group_diagnosis import rebalances_of
from groupproof.harness.judging.diagnosis.group_history import ABANDONED


def _rebalance(story: Story, ms: float, generation: int, reason: str, *, join: float = 10, sync: float = 5) -> None:
    story.move(ms, "Stable", "PreparingRebalance", generation, reason)
    story.move(ms + join, "PreparingRebalance", "CompletingRebalance", generation + 1)
    story.move(ms + join + sync, "CompletingRebalance", "Stable", generation + 1)


def test_phases_are_measured_from_transition_to_transition() -> None:
    story = Story()
    _rebalance(story, 100, 1, "leader rejoined a-1", join=40, sync=7)
    (found,) = rebalances_of(story.trace)

    assert (found.join_ms, found.sync_ms, found.lasted_ms, found.generation) == (40, 7, 47, 2)


@pytest.mark.requirement("DIAG-27")
def test_a_phase_as_long_as_the_rebalance_timeout_waited_for_who_never_joined() -> None:
    story = Story()
    story.move(0, "Empty", "PreparingRebalance", 0, "adding new member a-1")
    story.settle(1, {"a-1": "m0", "b-1": "m1"}, 1, "a-1", rebalance=4_000)
    story.move(12, "PreparingRebalance", "CompletingRebalance", 1)
    story.move(13, "CompletingRebalance", "Stable", 1)
    story.move(1_000, "Stable", "PreparingRebalance", 1, "adding new member c-1")
    asked = story.join(1_010, "m0", "a-1", rebalance=4_000)
    story.move(5_000, "PreparingRebalance", "CompletingRebalance", 2)
    story.joined(5_001, asked, "a-1", 2, "a-1")
    found = rebalances_of(story.trace)[1]

    assert (found.evicted, found.rebalance_timeout_ms) == (("b-1",), 4_000)
    assert [(awaited_member.member, awaited_member.ms) for awaited_member in found.awaited_to_join] == [("b-1", 4_000)]


def test_a_rebalance_that_begins_again_ends_the_one_before() -> None:
    story = Story()
    story.move(0, "Stable", "PreparingRebalance", 1, "leader rejoined a-1")
    story.move(10, "PreparingRebalance", "CompletingRebalance", 2)
    _rebalance(story, 20, 2, "removing member on heartbeat expiration b-1")
    first, second = rebalances_of(story.trace)

    assert first.ended.startswith("begun anew")
    assert (first.sync_ms, second.generation) == (None, 3)


def test_a_rebalance_that_another_broker_takes_over_is_abandoned() -> None:
    story = Story()
    story.move(0, "Stable", "PreparingRebalance", 1, "leader rejoined a-1", node=0)
    story.move(50, "Stable", "PreparingRebalance", 1, "leader rejoined a-1", node=1)

    assert rebalances_of(story.trace)[0].ended == ABANDONED


def test_a_group_that_nobody_is_left_of_is_empty_and_not_settled() -> None:
    story = Story()
    story.move(0, "Stable", "PreparingRebalance", 4, "explicit LeaveGroup request a-1")
    story.move(0, "PreparingRebalance", "Empty", 5)
    (found,) = rebalances_of(story.trace)

    assert (found.is_emptied, found.generation, found.synced_ms) == (True, 5, None)


@pytest.mark.requirement("DIAG-29")
def test_answers_27_and_22_are_counted_where_they_were_sent() -> None:
    story = Story()
    _rebalance(story, 0, 1, "leader rejoined a-1")
    story.beat(2, "m1", "b-1", 1, error=27)
    story.beat(20, "m1", "b-1", 1, error=22)
    story.trace.sort(key=lambda obs: obs.at_ns)

    assert rebalances_of(story.trace)[0].answers == {27: 1, 22: 1}


def test_a_group_of_which_nothing_was_stored_is_new_to_the_next_broker_too() -> None:
    story = Story()
    for node in (0, 1, 2):
        story.move(50 * node, "Empty", "PreparingRebalance", 0, "adding new member a-1", node=node)
    story.move(200, "PreparingRebalance", "CompletingRebalance", 1, node=2)
    story.move(210, "CompletingRebalance", "Stable", 1, node=2)
    story.move(300, "Stable", "PreparingRebalance", 1, "adding new member b-1", node=2)

    assert [found.cause for found in rebalances_of(story.trace)] == [Cause.FIRST_MEMBER] * 3 + [Cause.NEW_MEMBER]

"""Overlap and unowned time, from callbacks and from the wire, to the millisecond."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.harness.judging.diagnosis.making import Story

from groupproof.harness.judging.meters.meter import Figures
from groupproof.harness.judging.meters.ownership_gaps import Ownership

P0, P1 = ("t", 0), ("t", 1)


def _measured(story: Story) -> dict[str, float]:
    return _figures(story).totals


def _figures(story: Story) -> Figures:
    meter = Ownership()
    for obs in story.trace:
        meter.feed(obs)
    return meter.result()


def test_two_owners_by_their_callbacks_overlap_until_one_gives_it_up() -> None:
    story = Story()
    story.join(0, "m0")
    story.client_event(100, "m0", "partitions_assigned", P0, P1)
    story.client_event(200, "m1", "partitions_assigned", P0)
    story.client_event(250, "m0", "partitions_revoked", P0)
    story.client_event(300, "m0", "partitions_revoked", P1)
    figures = _figures(story)

    assert (figures.totals["ownership_overlap_ms"], figures.totals["ownership_overlap_partition_ms"]) == (50, 50)
    assert {client: mine["ownership_overlap_partition_ms"] for client, mine in figures.by_client.items()} == {"m0": 50, "m1": 50}


def test_two_partitions_shared_count_twice_in_partition_time_and_once_in_time() -> None:
    story = Story()
    story.client_event(0, "m0", "partitions_assigned", P0, P1)
    story.client_event(10, "m1", "partitions_assigned", P0, P1)
    story.client_event(40, "m0", "shutdown_complete")

    assert (_measured(story)["ownership_overlap_ms"], _measured(story)["ownership_overlap_partition_ms"]) == (30, 60)


def test_the_cost_of_a_stop_of_all_tasks_is_the_time_without_owners() -> None:
    story = Story()
    story.settle(0, {"a-1": "m0", "b-1": "m1"}, 1, "a-1")
    story.settle(1_000, {"a-1": "m0", "b-1": "m1"}, 2, "a-1")
    story.beat(2_000, "m0", "a-1", 2)
    measured = _measured(story)

    assert (measured["stop_the_world_ms"], measured["unowned_ms"], measured["unowned_partition_ms"]) == (10, 10, 20)


def test_a_member_without_an_answer_still_owns_its_partitions() -> None:
    """By the wire: m1's session ended, m0 has all, and m1 hears of it with the answer 25."""
    story = Story()
    story.settle(0, {"a-1": "m0", "b-1": "m1"}, 1, "a-1")
    asked = story.join(7_000, "m0", "a-1")
    story.joined(7_001, asked, "a-1", 2, "a-1")
    story.answer(7_010, story.ask(7_002, "SyncGroup", "m0", member="a-1", generation=2), partitions=(P0, P1))
    story.beat(7_500, "m1", "b-1", 1, error=25)

    assert _measured(story)["ownership_overlap_ms"] == pytest.approx(491)


def test_a_cooperative_member_keeps_what_it_has_while_it_joins() -> None:
    story = Story()
    first = story.join(0, "m0", "a-1")
    story.answer(1, first, member="a-1", generation=1, body={"protocol_name": "cooperative-sticky", "leader": "a-1", "member_id": "a-1"})
    story.answer(2, story.ask(1, "SyncGroup", "m0", member="a-1", generation=1), partitions=(P0,))
    story.join(100, "m0", "a-1")
    story.beat(400, "m0", "a-1", 1)

    assert _measured(story)["unowned_ms"] == 0


def test_a_group_without_members_owes_nothing_and_neither_does_the_clean_close() -> None:
    story = Story()
    story.settle(0, {"a-1": "m0"}, 1, "a-1")
    story.answer(501, story.ask(500, "LeaveGroup", "m0", member="a-1"))
    story.beat(900, "m1", "x", 1, error=25)

    assert _measured(story)["unowned_ms"] == 0
    over = Story()
    over.settle(0, {"a-1": "m0"}, 1, "a-1")
    over.add(20, "event", who="kit", body={"name": "end"})
    over.join(30, "m0", "a-1")
    over.beat(900, "m0", "a-1", 1)
    assert _measured(over)["unowned_ms"] == 0


def test_application_and_wire_are_not_mixed() -> None:
    """Once an application reports, its callbacks count: its SyncGroup answers say only what it will be told."""
    story = Story()
    story.settle(0, {"a-1": "m0"}, 1, "a-1")
    story.client_event(100, "m0", "partitions_assigned", P1)
    story.client_event(150, "m1", "partitions_assigned", P0)
    story.client_event(200, "m0", "shutdown_complete")

    assert _measured(story)["ownership_overlap_ms"] == 0


@pytest.mark.parametrize("who", ["shim", "member"])
def test_two_owners_are_two_whichever_side_reports_them(who: str) -> None:
    """The checkers of a case heard both, and the meter said that there was no overlap."""
    story = Story()
    story.client_event(0, "m0", "partitions_assigned", P0)
    story.client_event(1_000, "m1", "partitions_assigned", P0)
    story.client_event(6_000, "m1", "partitions_revoked", P0)
    meter = Ownership()
    for obs in story.trace:
        meter.feed(replace(obs, who=who))

    assert meter.result().totals["ownership_overlap_ms"] == 5_000


@pytest.mark.requirement("CLIENT-64")
def test_the_refusal_of_an_older_membership_takes_nothing_from_the_newer_one() -> None:
    story = Story()
    story.settle(0, {"a-1": "m0"}, 1, "a-1")
    late = story.ask(100, "OffsetCommit", "m0", member="a-1", generation=1)
    story.settle(200, {"a-2": "m0"}, 2, "a-2")
    story.answer(300, late, member="a-1", generation=1, error=25)
    story.beat(900, "m0", "a-2", 2)

    assert _measured(story)["unowned_ms"] == 10, "from its JoinGroup until it had its assignment"

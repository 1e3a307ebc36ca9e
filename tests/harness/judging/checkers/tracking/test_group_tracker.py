"""The tracker of a group: a test for each thing on which the kit's own computations used to disagree."""

from __future__ import annotations

import pytest
from tests.traces import ID, Story

from groupproof.harness.judging.checkers.tracking.group_tracker import LATE_LINES_MS_MAX, GroupTracker
from groupproof.harness.judging.checkers.tracking.ownership_tracker import REPORTING_MS
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.subscription import Assignment, encode_assignment

T0, T1, T2 = ("t", 0), ("t", 1), ("t", 2)
OTHER = "m1-1"


def tracked(story: Story) -> GroupTracker:
    tracker = GroupTracker()
    for obs in story.trace:
        tracker.follow(obs)
    return tracker


@pytest.mark.parametrize(("protocol", "owned"), [("range", [T1, T2]), ("cooperative-sticky", [T0, T1, T2])])
def test_an_eager_assignment_replaces_and_a_cooperative_one_adds(protocol: str, owned: list[tuple[str, int]]) -> None:
    story = Story()
    story.join(protocol=protocol)
    story.partitions("assigned", T0, T1)
    story.partitions("assigned", T1, T2)

    assert sorted(tracked(story).hands.now["m0"]) == owned


def test_the_events_of_a_loads_member_are_read_like_a_shims() -> None:
    story = Story().member(gets=[T0])
    story.see("event", who="member", client="m0", partitions=(T0,), body={"name": "partitions_assigned"})
    story.see("event", who="member", client="m1", partitions=(T0,), body={"name": "partitions_assigned"})

    assert sorted(tracked(story).hands.owners[T0]) == ["m0", "m1"]


def test_an_id_that_is_handed_out_makes_no_member() -> None:
    story = Story()
    story.join(error=79)
    assert not tracked(story).members["m0"].is_member

    story.join(member=ID)
    assert tracked(story).members["m0"].is_member


@pytest.mark.parametrize(("error", "member"), [(25, ""), (82, ""), (22, ID), (27, ID), (16, ID)])
def test_which_refusals_end_a_membership_and_which_its_generation(error: int, member: str) -> None:
    story = Story().member(gets=[T0])
    story.beat(error=error)

    mine = tracked(story).members["m0"]
    assert mine.member == member
    assert mine.is_member is (error in (27, 16))
    assert (mine.assignment is None) is (error not in (27, 16))


@pytest.mark.parametrize("newer", ["m0-2", ID])
@pytest.mark.parametrize("error", [25, 82, 22])
def test_the_refusal_of_an_older_membership_says_nothing_of_the_newer_one(error: int, newer: str) -> None:
    story = Story().member(gets=[T0])
    late = story.request(Api.OFFSET_COMMIT, member=ID, generation=1)
    story.join(gets=newer, generation=2)
    story.answer(late, error=error)
    story.sync(member=newer, generation=2, gets=[T1])

    mine = tracked(story).members["m0"]
    assert (mine.member, mine.generation) == (newer, 2)
    assert mine.synced_seq > 0


def test_a_client_that_left_is_no_member_and_one_whose_leave_was_refused_still_is() -> None:
    story = Story().member(gets=[T0])
    story.leave(error=16)
    assert tracked(story).members["m0"].is_member

    story.leave()
    assert not tracked(story).members["m0"].is_member


def test_nobody_is_a_member_of_a_group_that_is_empty() -> None:
    story = Story().member(gets=[T0])
    story.see("transition", group="g", state_before="Stable", state_after="Empty", generation=2)

    assert not tracked(story).members["m0"].is_member


def test_others_are_those_to_whom_the_same_generation_gave_the_partition() -> None:
    story = Story().member(gets=[T0, T1])
    story.join("m1", gets=OTHER, generation=2)
    story.sync("m1", member=OTHER, generation=2, gets=[T1])
    tracker = tracked(story)

    assert tracker.others_in(1, T1, "m0") == set()
    assert tracker.others_in(2, T1, "m0") == {"m1"}
    assert tracker.others_in(2, T1, "m1") == set()
    assert tracker.others_in(None, T1, "m0") == set()
    assert [tracker.was_never_assigned("m1", partition) for partition in (T0, T1)] == [True, False]


@pytest.mark.parametrize("is_told", [False, True])
def test_a_group_that_is_created_again_counts_from_one_again(is_told: bool) -> None:
    story = Story().member(gets=[T0])
    story.join(member=ID, generation=2)
    story.sync(generation=2, gets=[T0])
    if is_told:
        story.see("transition", group="g", state_before=None, state_after="Empty", generation=0)
    story.join("m1", gets=OTHER, generation=1)
    story.sync("m1", member=OTHER, gets=[T0])

    assert tracked(story).others_in(1, T0, "m1") == set()


def test_only_who_is_commanded_by_the_kit_is_driven() -> None:
    story = Story()
    story.kit("command", "m0", command="subscribe", fields={})
    story.kit("command", "m1", command="close", fields={})

    assert tracked(story).driven == {"m0"}


@pytest.mark.parametrize(
    ("blob", "is_read"),
    [(b"", True), (encode_assignment(Assignment()), True), (encode_assignment(Assignment(partitions=(T0,))), False), (b"?", False)],
)
def test_an_assignment_that_the_kit_cannot_read_proves_nothing(blob: bytes, is_read: bool) -> None:
    story = Story()
    story.join()
    story.answer(story.request(Api.SYNC_GROUP, member=ID, generation=1), body={"assignment": blob})
    tracker = tracked(story)

    assert ("m0" not in tracker.unreadable) is is_read
    assert tracker.was_never_assigned("m0", T0) is is_read


@pytest.mark.parametrize(("late", "allowed"), [(0, 0), (2_000, 2_000), (60_000, LATE_LINES_MS_MAX)])
def test_lines_are_allowed_as_much_as_the_quickest_of_them_was_late(late: float, allowed: float) -> None:
    story = Story().member(gets=[T0])
    story.at(late).partitions("assigned", T0)
    assert tracked(story).late_ms("m0") == REPORTING_MS + allowed

    story.at(late + 10_000).join(member=ID, generation=2)
    story.sync(generation=2, gets=[T0])
    story.partitions("assigned", T0)
    assert tracked(story).late_ms("m0") == REPORTING_MS


def test_an_empty_assignment_does_not_show_how_late_lines_are_where_the_newest_answer_gave_partitions() -> None:
    """A member of KIP-848 gets nothing first, and its partitions with a later heartbeat: the line of the first answer comes after the second."""
    story = Story().member(gets=[T0])
    story.at(1_000).partitions("assigned")
    story.at(2_000).partitions("assigned", T0)

    assert tracked(story).late_ms("m0") == REPORTING_MS + 2_000


@pytest.mark.parametrize(("late", "may"), [(None, True), (50, False), (2_000, True)])
def test_lines_may_be_late_until_one_was_in_time(late: float | None, may: bool) -> None:
    story = Story().member(gets=[T0])
    if late is not None:
        story.at(late).partitions("assigned", T0)

    assert tracked(story).may_be_late("m0") is may


@pytest.mark.requirement("EMIG-05")
def test_a_generation_that_was_not_stored_is_counted_again_elsewhere() -> None:
    story = Story().member(gets=[T0])
    story.join(member=ID, generation=2)
    story.sync(generation=2, gets=[T0])
    before = tracked(story)
    story.see("transition", group="g", state_before="Stable", state_after="PreparingRebalance", generation=1)
    after = tracked(story)

    assert (before.epoch, before.lives.was_in("m0", 2), before.others_in(2, T0, "m1")) == (0, True, {"m0"})
    assert (after.epoch, after.lives.was_in("m0", 2), after.others_in(2, T0, "m1")) == (1, False, set())


@pytest.mark.requirement("CGG-39", "CGG-57")
@pytest.mark.parametrize(("detail", "owners"), [("upgraded", {"m0"}), ("downgraded", {"m0"}), ("created", set())])
def test_a_group_that_is_converted_is_the_same_and_one_that_is_created_another(detail: str, owners: set[str]) -> None:
    story = Story().member(gets=[T0])
    story.see("transition", group="g", state_before=None, state_after="Stable", generation=1, detail=detail)

    assert tracked(story).others_in(1, T0, "m1") == owners

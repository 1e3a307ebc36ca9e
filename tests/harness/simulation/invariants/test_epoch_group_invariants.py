"""The invariants of a consumer group, each broken by a group that was changed behind the coordinator's back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.harness.simulation.runs import calm, ran

from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
from groupproof.coordinator.machine.consumer.consumer_members import AWAY, MemberProgress
from groupproof.coordinator.machine.machine_outputs import Reply
from groupproof.harness.simulation.run import Run
from groupproof.harness.simulation.settings import InvariantBroken
from groupproof.protocol.wire.consumer_messages import (
    ConsumerAssignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

Change = Callable[[ConsumerGroup, list[Any]], None]


def _run() -> tuple[Run, ConsumerGroup, list[Any]]:
    run = ran(calm(dialect="consumer"), 12_000)
    group = run.invariants.group()
    assert isinstance(group, ConsumerGroup)
    return run, group, list(group.members.values())


def _goes_back(group: ConsumerGroup, members: list[Any]) -> None:
    group.generation = group.assignment_epoch = 1


def _target_ahead(group: ConsumerGroup, members: list[Any]) -> None:
    group.assignment_epoch += 1


def _member_ahead(group: ConsumerGroup, members: list[Any]) -> None:
    members[0].epoch += 1


def _shared(group: ConsumerGroup, members: list[Any]) -> None:
    members[0].assigned = members[1].assigned


def _without_epoch(group: ConsumerGroup, members: list[Any]) -> None:
    members[0].assigned = {topic: dict.fromkeys(indexes, 0) for topic, indexes in members[0].assigned.items()}


def _target_of_two(group: ConsumerGroup, members: list[Any]) -> None:
    group.target[members[0].member_id] = group.target[members[1].member_id]
    group.generation = group.assignment_epoch = group.generation + 1


def _target_without(group: ConsumerGroup, members: list[Any]) -> None:
    group.target[members[0].member_id] = {}
    group.generation = group.assignment_epoch = group.generation + 1


def _ahead_of_its_target(group: ConsumerGroup, members: list[Any]) -> None:
    members[0].pending, members[0].assigned = members[0].assigned, {}


def _still_waits(group: ConsumerGroup, members: list[Any]) -> None:
    members[0].progress = MemberProgress.UNRELEASED_PARTITIONS


@pytest.mark.parametrize(("change", "broken"), [
    (_goes_back, "CGI-04"), (_target_ahead, "CGI-05"), (_member_ahead, "CGI-06"), (_shared, "CGI-02: one owner"), (_without_epoch, "CGI-02: ValidPartitionEpoch"),
    (_target_of_two, "CGI-11: LegalTargetAssignment: . of"), (_target_without, "CGI-11: LegalTargetAssignment: nobody"), (_still_waits, "CGI-12: ValidStableGroupState"),
])  # fmt: skip
@pytest.mark.requirement("CGI-02", "CGI-04", "CGI-05", "CGI-06", "CGI-11", "CGI-12")
def test_a_group_that_breaks_an_invariant_is_found_by_its_name(change: Change, broken: str) -> None:
    run, group, members = _run()
    run.invariants._look_at(group)
    change(group, members)

    with pytest.raises(InvariantBroken, match=broken):
        run.invariants._look_at(group)


@pytest.mark.requirement("CGI-08")
def test_a_member_that_has_reached_the_target_s_epoch_has_nothing_of_others_from_4_2_on() -> None:
    run, group, members = _run()
    _ahead_of_its_target(group, members)
    group.state = group.inferred_state()
    run.invariants._ends_with_the_target = True

    with pytest.raises(InvariantBroken, match="CGI-08: ValidMemberEpoch"):
        run.invariants._look_at(group)


@pytest.mark.requirement("CGI-08", "CGR-23")
def test_a_member_that_gives_up_what_it_subscribes_to_no_more_may_have_reached_the_epoch_of_a_target_with_it() -> None:
    run, group, members = _run()
    _ahead_of_its_target(group, members)
    members[0].names = frozenset()
    group.generation += 1  # the target without it is awaited
    group.state = group.inferred_state()
    run.invariants._ends_with_the_target = True

    assert list(run.invariants._broken(group)) == []


def _beat(run: Run, member_id: str, epoch: int, *partitions: int, reports: tuple[int, ...] | None = None, answered: int = 9) -> None:
    def listed(indexes: tuple[int, ...]) -> tuple[TopicPartitions, ...]:
        return (TopicPartitions(topic_id="id", partitions=indexes),)

    asked = ConsumerGroupHeartbeatRequest(
        group_id="g", member_id=member_id, member_epoch=epoch, topic_partitions=None if reports is None else listed(reports)
    )
    assignment = ConsumerAssignment(topic_partitions=listed(partitions)) if partitions else None
    run.invariants._beaten(asked, ConsumerGroupHeartbeatResponse(member_id=member_id, member_epoch=answered, assignment=assignment))


@pytest.mark.requirement("CGI-10", "CGI-03")
def test_what_is_handed_out_was_released_by_a_report_and_epochs_never_go_back() -> None:
    run, group, _ = _run()
    one, other, *_ = group.members
    _beat(run, one, 0, 0, 1)
    with pytest.raises(InvariantBroken, match=r"CGI-10: .* is given 1 of id, which .* has not released"):
        _beat(run, other, 0, 1)

    _beat(run, one, 9, 0)
    with pytest.raises(InvariantBroken, match="CGI-10"):
        _beat(run, other, 0, 1)
    _beat(run, one, 9, reports=(0,))
    _beat(run, other, 0, 1)
    with pytest.raises(InvariantBroken, match=r"CGI-03: GcSideMemberEpochIsMonotonic: .* goes from epoch 9 to 8"):
        _beat(run, one, 9, answered=8)


def test_a_static_member_that_has_left_for_now_keeps_its_share_and_takes_part_no_more() -> None:
    run, _, members = _run()
    _beat(run, members[0].member_id, 0, 0, 1)
    _beat(run, members[0].member_id, AWAY)
    members[0].epoch = AWAY

    assert members[0].member_id not in run.invariants._present()
    assert run.invariants._members[members[0].member_id].held == {("id", 0), ("id", 1)}


def test_an_answer_to_nothing_breaks_an_invariant() -> None:
    run, *_ = _run()
    with pytest.raises(InvariantBroken, match="INV-10"):
        run.invariants.answered(Reply(1, ConsumerGroupHeartbeatResponse()), None)

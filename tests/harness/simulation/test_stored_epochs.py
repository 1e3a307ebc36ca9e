"""What a consumer group of the simulator would have stored: a reader of it finds every epoch with its cause, for certain where the records leave no other."""

from __future__ import annotations

from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
from groupproof.coordinator.machine.consumer.consumer_members import ConsumerMember, MemberProgress
from groupproof.harness.judging.diagnosis.causes import Cause
from groupproof.harness.simulation.rehearsal.incident_run import run_incident
from groupproof.harness.simulation.rehearsal.incidents import INCIDENTS
from groupproof.harness.simulation.stored_epochs import StoredEpochs
from groupproof.protocol.wire.coordinator_records import decode_record

_TOPIC = "00000000-0000-0000-0000-00000000002a"


def _names(stored: StoredEpochs, group: ConsumerGroup | None) -> list[tuple[str, bool]]:
    """Return the names of what is stored now, and whether it is a tombstone."""
    return [(decode_record(key, value).name.removeprefix("ConsumerGroup"), value is None) for _, key, value in stored.follow(group, 1)]


def test_records_are_stored_in_kafkas_order_and_what_did_not_change_is_not_stored_again() -> None:
    stored, group = StoredEpochs("g"), ConsumerGroup(group_id="g")
    member = ConsumerMember(member_id="m", client_id="c", names=frozenset({"t"}), rebalance_timeout_ms=1)
    group.add(member)
    group.generation = group.assignment_epoch = member.epoch = 1
    group.target["m"] = {_TOPIC: (0, 1)}
    member.assigned = {_TOPIC: {0: 1, 1: 1}}

    whole = ["MemberMetadata", "Metadata", "TargetAssignmentMember", "TargetAssignmentMetadata", "CurrentMemberAssignment"]
    assert _names(stored, group) == [(name, False) for name in whole]
    assert _names(stored, group) == []
    member.progress, member.pending, member.assigned = MemberProgress.UNREVOKED_PARTITIONS, {_TOPIC: {1: 1}}, {_TOPIC: {0: 1}}
    assert _names(stored, group) == [("CurrentMemberAssignment", False)]


def test_members_that_went_and_groups_that_are_deleted_leave_tombstones() -> None:
    stored, group = StoredEpochs("g"), ConsumerGroup(group_id="g")
    member = ConsumerMember(member_id="m", names=frozenset({"t"}))
    group.add(member)
    group.generation, group.target["m"] = 1, {}
    assert len(_names(stored, group)) == 4
    group.remove(member)
    group.generation = 2

    gone = [("CurrentMemberAssignment", True), ("TargetAssignmentMember", True), ("MemberMetadata", True)]
    assert _names(stored, group) == [*gone, ("Metadata", False)]
    assert _names(stored, None) == [("TargetAssignmentMetadata", True), ("Metadata", True)]
    assert _names(stored, None) == []


def test_a_reader_finds_every_epoch_that_the_coordinator_had() -> None:
    run = run_incident(INCIDENTS["node-rdkafka-1146"], with_remedy=True)
    group = run.health.group

    assert [(rebalance.generation, rebalance.cause, rebalance.is_certain) for rebalance in group.rebalances] == [
        (1, Cause.FIRST_MEMBER, True), *((epoch, Cause.NEW_MEMBER, True) for epoch in range(2, 6)),
    ]  # fmt: skip
    assert (group.state, len(group.owned), {topic for topic, _ in group.owned}) == ("Stable", 8, {"t"})
    assert all(rebalance.settled_ms is not None for rebalance in group.rebalances)

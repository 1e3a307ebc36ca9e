"""The records that Kafka's coordinator would store for a simulated consumer group: the changes between two views of its machine. Pure.

Source: `GroupCoordinatorRecordHelpers` and `GroupMetadataManager.consumerGroupHeartbeat`. The records of one operation come in this order:
tombstones of removed members, members, the group epoch, the target, and the current assignment of each member.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
from groupproof.coordinator.machine.consumer.consumer_members import Assigned, ConsumerMember
from groupproof.coordinator.machine.consumer.group_records import STATE_CODES
from groupproof.harness.simulation.stored_records import HOST, Stored
from groupproof.protocol.wire.coordinator_records import encode_record

__all__ = ["StoredEpochs"]

_Rows = dict[str, dict[str, Any]]


class StoredEpochs:
    """The stored state of one group."""

    def __init__(self, group: str) -> None:
        self._group = group
        self._epoch = self._assigned_epoch = 0
        self._members: _Rows = {}
        self._targets: _Rows = {}
        self._current: _Rows = {}

    def follow(self, group: ConsumerGroup | None, at_ms: int) -> Iterator[Stored]:
        """Yield the records that update the stored state to the group. None: the group was deleted."""
        members = group.members if group is not None else {}
        for member_id in [member_id for member_id in self._members if member_id not in members]:
            for rows, name in ((self._current, _CURRENT), (self._targets, _TARGET), (self._members, _MEMBER)):
                if rows.pop(member_id, None) is not None:
                    yield self._record(at_ms, name, None, member_id)
        if group is None:
            yield from self._deleted(at_ms)
            return
        yield from self._changed(at_ms, _MEMBER, self._members, {name: _metadata(member) for name, member in members.items()})
        if group.generation != self._epoch:
            self._epoch = group.generation
            yield self._record(at_ms, _EPOCH, {"epoch": self._epoch})
        targets = {name: {"topic_partitions": _topics(share)} for name, share in group.target.items() if name in members}
        yield from self._changed(at_ms, _TARGET, self._targets, targets)
        if group.assignment_epoch != self._assigned_epoch:
            self._assigned_epoch = group.assignment_epoch
            yield self._record(at_ms, _TARGET_EPOCH, {"assignment_epoch": self._assigned_epoch})
        yield from self._changed(at_ms, _CURRENT, self._current, {name: _assignment(member) for name, member in members.items()})

    def _deleted(self, at_ms: int) -> Iterator[Stored]:
        if self._epoch:
            self._epoch = self._assigned_epoch = 0
            yield self._record(at_ms, _TARGET_EPOCH, None)
            yield self._record(at_ms, _EPOCH, None)

    def _changed(self, at_ms: int, name: str, stored: _Rows, rows: _Rows) -> Iterator[Stored]:
        for member_id, row in rows.items():
            if stored.get(member_id) != row:
                stored[member_id] = row
                yield self._record(at_ms, name, row, member_id)

    def _record(self, at_ms: int, name: str, value: Mapping[str, Any] | None, member_id: str | None = None) -> Stored:
        key = {"group_id": self._group} if member_id is None else {"group_id": self._group, "member_id": member_id}
        return at_ms, *encode_record(name, key, value)


_EPOCH: Final = "ConsumerGroupMetadata"
_MEMBER: Final = "ConsumerGroupMemberMetadata"
_TARGET: Final = "ConsumerGroupTargetAssignmentMember"
_TARGET_EPOCH: Final = "ConsumerGroupTargetAssignmentMetadata"
_CURRENT: Final = "ConsumerGroupCurrentMemberAssignment"


def _metadata(member: ConsumerMember) -> dict[str, Any]:
    return {
        "instance_id": member.instance_id, "rack_id": member.rack_id, "client_id": member.client_id, "client_host": member.client_host or HOST,
        "subscribed_topic_names": tuple(sorted(member.names)), "subscribed_topic_regex": member.regex or None,
        "rebalance_timeout_ms": member.rebalance_timeout_ms, "server_assignor": member.assignor,
    }  # fmt: skip


def _assignment(member: ConsumerMember) -> dict[str, Any]:
    return {
        "member_epoch": member.epoch, "previous_member_epoch": member.previous_epoch, "state": STATE_CODES[member.progress],
        "assigned_partitions": _topics(member.assigned), "partitions_pending_revocation": _topics(member.pending),
    }  # fmt: skip


def _topics(partitions: Assigned | Mapping[str, tuple[int, ...]]) -> tuple[dict[str, Any], ...]:
    return tuple({"topic_id": topic_id, "partitions": tuple(sorted(indexes))} for topic_id, indexes in sorted(partitions.items()) if indexes)

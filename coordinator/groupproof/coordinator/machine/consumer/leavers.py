"""Finds the members that leave with an event: one that leaves or expires, or those that a LeaveGroup names. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from groupproof.coordinator.machine.consumer.consumer_event import ConsumerGroupEvent, group_of
from groupproof.coordinator.machine.consumer.consumer_members import AWAY, LEFT
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerEvent
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.messages import LeaveGroupRequest, LeftMember

if TYPE_CHECKING:
    from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
    from groupproof.coordinator.machine.consumer.consumer_members import ConsumerMember
    from groupproof.coordinator.machine.event import Event
    from groupproof.protocol.wire.messages import LeaveMember

__all__ = ["entries_of", "leavers_of"]


def leavers_of(event: Event) -> Sequence[ConsumerMember]:
    """Return the leaving members: none where a heartbeat is not a leave, or a LeaveGroup names no member."""
    group = group_of(event)
    if event.kind is ClassicEvent.LEAVE_GROUP:
        named = [_named(group, entry) for entry in _request(event).members]
        return list({id(member): member for member in named if not isinstance(member, ErrorCode)}.values())
    if event.kind is ConsumerEvent.HEARTBEAT and not _is_leave(event):
        return ()
    member = group.members.get(event.member_id) or group.holder_of(event.instance_id)
    return () if member is None else (member,)


def entries_of(event: Event) -> tuple[LeftMember, ...]:
    """Return the error code of each entry of a LeaveGroup. A repeated entry is found each time, as in Kafka (CGG-46 to CGG-48)."""
    group = group_of(event)
    found = [(entry, _named(group, entry)) for entry in _request(event).members]
    return tuple(
        LeftMember(
            member_id=entry.member_id, group_instance_id=entry.group_instance_id, error_code=member if isinstance(member, ErrorCode) else ErrorCode.NONE,
        )
        for entry, member in found
    )  # fmt: skip


def _is_leave(event: Event) -> bool:
    assert isinstance(event, ConsumerGroupEvent)
    return event.member_epoch in (LEFT, AWAY)


def _request(event: Event) -> LeaveGroupRequest:
    assert isinstance(event.request, LeaveGroupRequest)
    return event.request


def _named(group: ConsumerGroup, entry: LeaveMember) -> ConsumerMember | ErrorCode:
    """Return the member of either protocol that an entry names, or the error code (`classicGroupLeaveToConsumerGroup`)."""
    if entry.group_instance_id is None:
        return group.members.get(entry.member_id) or ErrorCode.UNKNOWN_MEMBER_ID
    holder = group.holder_of(entry.group_instance_id)
    if holder is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return holder if entry.member_id in ("", holder.member_id) else ErrorCode.FENCED_INSTANCE_ID

from __future__ import annotations

from typing import cast

from groupproof.coordinator.machine.consumer.consumer_event import ConsumerGroupEvent
from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
from groupproof.coordinator.machine.consumer.consumer_members import ConsumerMember
from groupproof.coordinator.machine.consumer.leavers import entries_of, leavers_of
from groupproof.coordinator.machine.coordinator_settings import Settings
from groupproof.protocol.rules.cells import EventKind
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerEvent
from groupproof.protocol.wire.messages import LeaveGroupRequest, LeaveMember


def _event(kind: EventKind, *entries: tuple[str, str | None], member_id: str = "", epoch: int = 0) -> ConsumerGroupEvent:
    group = ConsumerGroup(group_id="g")
    group.add(ConsumerMember(member_id="a"))
    group.add(ConsumerMember(member_id="b", instance_id="i"))
    request = LeaveGroupRequest(group_id="g", members=tuple(LeaveMember(member_id=name, group_instance_id=instance) for name, instance in entries))
    event = ConsumerGroupEvent(kind=kind, now_ms=0, settings=cast("Settings", None), group_id="g", group=group, request=request, member_id=member_id)
    event.member_epoch = epoch
    return event


def _ids(event: ConsumerGroupEvent) -> list[str]:
    return [member.member_id for member in leavers_of(event)]


def test_a_leavegroup_names_by_member_id_and_where_there_is_none_by_instance() -> None:
    event = _event(ClassicEvent.LEAVE_GROUP, ("a", None), ("", "i"), ("a", "i"), ("x", None), ("", "j"))

    assert _ids(event) == ["a", "b"]
    assert [entry.error_code for entry in entries_of(event)] == [0, 0, 82, 25, 25]


def test_a_member_that_is_named_twice_leaves_once() -> None:
    event = _event(ClassicEvent.LEAVE_GROUP, ("b", "i"), ("", "i"))

    assert _ids(event) == ["b"]
    assert [entry.error_code for entry in entries_of(event)] == [0, 0]


def test_nobody_goes_with_a_heartbeat_that_is_no_leave() -> None:
    assert _ids(_event(ConsumerEvent.HEARTBEAT, member_id="a", epoch=1)) == []
    assert _ids(_event(ConsumerEvent.HEARTBEAT, member_id="a", epoch=-1)) == ["a"]
    assert _ids(_event(ConsumerEvent.REJOIN_DEADLINE, member_id="a")) == ["a"]

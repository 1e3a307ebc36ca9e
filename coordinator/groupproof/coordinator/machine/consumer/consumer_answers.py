"""Every answer of the `consumer` dialect's table: heartbeats, descriptions, and plain errors in their shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from groupproof.coordinator.machine.answers import FORMS
from groupproof.coordinator.machine.consumer.commit_epochs import committed_by_epoch
from groupproof.coordinator.machine.consumer.consumer_event import group_of
from groupproof.protocol.rules.classic.classic_terms import Form
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerAnswer, ConsumerEvent
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.consumer_messages import (
    ConsumerAssignment,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatResponse,
    DescribedAssignment,
    DescribedConsumer,
    DescribedConsumerGroup,
    DescribedPartitions,
    TopicPartitions,
)
from groupproof.protocol.wire.messages import SyncGroupResponse

if TYPE_CHECKING:
    from groupproof.coordinator.machine.consumer.consumer_event import ConsumerGroupEvent
    from groupproof.coordinator.machine.consumer.consumer_members import Assigned, ConsumerMember
    from groupproof.coordinator.machine.event import Event
    from groupproof.protocol.rules.cells import AnswerName

__all__ = ["CONSUMER_ANSWERS", "error_answer"]

CLASSIC_MEMBER: Final = 0
CONSUMER_MEMBER: Final = 1
"""The member types of ConsumerGroupDescribe v1 (KIP-1099)."""


def _heartbeat(event: ConsumerGroupEvent) -> ConsumerGroupHeartbeatResponse:
    member = event.consumer
    return ConsumerGroupHeartbeatResponse(
        member_id=member.member_id, member_epoch=member.epoch, heartbeat_interval_ms=event.interval_ms,
        assignment=_assignment(member.assigned) if _is_due(event, member) else None,
    )  # fmt: skip


def _is_due(event: ConsumerGroupEvent, member: ConsumerMember) -> bool:
    """Return whether the assignment is sent: after a full request, or where it changed (CGM-25 to CGM-27)."""
    request = event.heartbeat
    names_topics = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    is_full = request.rebalance_timeout_ms != -1 and names_topics and request.topic_partitions is not None
    return event.member_epoch == 0 or is_full or member.assigned != event.assigned_before


def _assignment(assigned: Assigned) -> ConsumerAssignment:
    return ConsumerAssignment(
        topic_partitions=tuple(TopicPartitions(topic_id=topic_id, partitions=tuple(sorted(indexes))) for topic_id, indexes in assigned.items())
    )


def _classic_share(event: Event) -> SyncGroupResponse:
    """Repeat the request's protocol (`classicGroupSyncToConsumerGroup`)."""
    assert event.assignment is not None, "an effect of the row stored the assignment"
    return SyncGroupResponse(
        protocol_type=event.sync.protocol_type, protocol_name=event.sync.protocol_name, assignment=event.assignment[event.member_id]
    )


def _left(event: ConsumerGroupEvent) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(member_id=event.member_id, member_epoch=event.member_epoch)


def _described(event: ConsumerGroupEvent) -> ConsumerGroupDescribeResponse:
    group = group_of(event)
    described = DescribedConsumerGroup(
        group_id=event.group_id, group_state=group.state.value, group_epoch=group.generation, assignment_epoch=group.assignment_epoch,
        assignor_name=event.assignor, members=tuple(_described_member(event, member) for member in group.members.values()),
        authorized_operations=event.operations,
    )  # fmt: skip
    return ConsumerGroupDescribeResponse(groups=(described,))


def _described_member(event: ConsumerGroupEvent, member: ConsumerMember) -> DescribedConsumer:
    group = group_of(event)
    assigned = {topic_id: set(indexes) for topic_id, indexes in member.assigned.items()}
    if event.describes_pending:
        for topic_id, indexes in member.pending.items():
            assigned.setdefault(topic_id, set()).update(indexes)
    return DescribedConsumer(
        member_id=member.member_id, instance_id=member.instance_id, rack_id=member.rack_id, member_epoch=member.epoch, client_id=member.client_id,
        client_host=member.client_host, subscribed_topic_names=tuple(sorted(member.names)), subscribed_topic_regex=member.regex,
        assignment=_described_partitions(event, assigned), target_assignment=_described_partitions(event, group.target.get(member.member_id, {})),
        member_type=CONSUMER_MEMBER if member.classic is None else CLASSIC_MEMBER,
    )  # fmt: skip


def _described_partitions(event: ConsumerGroupEvent, partitions: Mapping[str, Any]) -> DescribedAssignment:
    """Return the partitions by id and name, without deleted topics (`Utils.assignmentToTopicPartitions`)."""
    return DescribedAssignment(
        topic_partitions=tuple(
            DescribedPartitions(topic_id=topic_id, topic_name=event.topic_names[topic_id], partitions=tuple(sorted(indexes)))
            for topic_id, indexes in partitions.items()
            if topic_id in event.topic_names
        )
    )


def _not_found(event: Event) -> ConsumerGroupDescribeResponse:
    is_there = event.group is not None and event.group.dialect is not CONSUMER
    message = f"Group {event.group_id} is not a consumer group." if is_there else f"Group {event.group_id} not found."
    return _failed_description(event, ErrorCode.GROUP_ID_NOT_FOUND, message)


def _failed_description(event: Event, error: ErrorCode, message: str | None = None) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(groups=(DescribedConsumerGroup(group_id=event.group_id, error_code=error, error_message=message),))


def error_answer(event: Event, error: ErrorCode, fields: Mapping[str, int]) -> Any:
    """Return the answer with the error code `error`, in the shape of the request's API (CGH-27)."""
    if event.kind is ConsumerEvent.HEARTBEAT:
        return ConsumerGroupHeartbeatResponse(error_code=error)
    assert event.kind is ConsumerEvent.DESCRIBE, f"{event.kind.value} is no request of the dialect"
    return _failed_description(event, error)


CONSUMER_ANSWERS: Final[Mapping[AnswerName, Callable[[Any], Any]]] = {
    ConsumerAnswer.HEARTBEAT: _heartbeat,
    ConsumerAnswer.LEFT: _left,
    ConsumerAnswer.DESCRIBED: _described,
    ConsumerAnswer.NOT_A_CONSUMER_GROUP: _not_found,
    ConsumerAnswer.COMMITTED_BY_EPOCH: committed_by_epoch,
    ConsumerAnswer.CLASSIC_SHARE: _classic_share,
    **{form: FORMS[form] for form in CONSUMER.answers if isinstance(form, Form)},
}

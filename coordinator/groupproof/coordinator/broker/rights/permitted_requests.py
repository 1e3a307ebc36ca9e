"""Splits a group request into the part that the client is allowed, which goes to the coordinator, and the refused rest. Pure.

Source: Kafka's `KafkaApis`, which checks the client's rights before anything else in a request: a denied group or topic never reaches the
coordinator. ListGroups needs DESCRIBE of the cluster first, which cannot be denied here, so it lists all groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from groupproof.coordinator.broker.rights.authorizer import Operation, Resource, Rights
from groupproof.coordinator.machine.answers import join_error
from groupproof.coordinator.machine.consumer.effective_settings import consumer_settings
from groupproof.coordinator.machine.coordinator_settings import Settings
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.consumer_messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    DescribedConsumerGroup,
)
from groupproof.protocol.wire.messages import (
    CommittedPartition,
    CommittedTopic,
    DeletedGroup,
    DeletedOffset,
    DeletedOffsetTopic,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    FetchedGroup,
    FetchedPartition,
    FetchedTopic,
    FetchGroup,
    FetchTopic,
    GroupRequest,
    GroupResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupRequest,
    SyncGroupResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)

__all__ = ["Asker", "PermittedRequest", "permitted_part"]

_NO_GROUP: Final = ErrorCode.GROUP_AUTHORIZATION_FAILED
_NO_TOPIC: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_HIDDEN: Final = "The group has described topic(s) that the client is not authorized to describe."

_SYNC_NAMES_SINCE: Final = 5  # KIP-559
_FETCH_GROUP_ERROR_SINCE: Final = 2

Topic = TypeVar("Topic")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """The client's `rights`, the `version` of its request, and the `settings` of its coordinator."""

    rights: Rights
    version: int
    settings: Settings

    def may_read_group(self, group_id: str) -> bool:
        return self.rights.may(Operation.READ, Resource.GROUP, group_id)

    def may_describe_group(self, group_id: str) -> bool:
        return self.rights.may(Operation.DESCRIBE, Resource.GROUP, group_id)

    def may_delete_group(self, group_id: str) -> bool:
        return self.rights.may(Operation.DELETE, Resource.GROUP, group_id)

    def may_read_topic(self, topic: str) -> bool:
        return self.rights.may(Operation.READ, Resource.TOPIC, topic)

    def may_describe_topic(self, topic: str) -> bool:
        return self.rights.may(Operation.DESCRIBE, Resource.TOPIC, topic)


@dataclass(frozen=True, slots=True, kw_only=True)
class PermittedRequest:
    """The request for the coordinator. `answered` converts the answer to it into the client's answer."""

    message: Any  # a request of any dialect
    answered: Callable[[Any], Any]


Part = PermittedRequest | GroupResponse | None


def permitted_part(message: GroupRequest, asker: Asker) -> Part:
    """Return the allowed part of a request, the answer where no part is allowed, and None where nothing is denied."""
    part = _PARTS.get(type(message))
    return None if part is None else part(message, asker)


def _apart(items: Iterable[Topic], may: Callable[[Topic], bool]) -> tuple[tuple[Topic, ...], tuple[Topic, ...]]:
    """Return the allowed items and the others."""
    listed = tuple(items)
    return tuple(item for item in listed if may(item)), tuple(item for item in listed if not may(item))


# Requests of members


def _join(message: JoinGroupRequest, asker: Asker) -> Part:
    return None if asker.may_read_group(message.group_id) else join_error(_NO_GROUP, "", asker.version, -1)


def _sync(message: SyncGroupRequest, asker: Asker) -> Part:
    """Check for a missing protocol first, as `handleSyncGroupRequest` does."""
    if asker.may_read_group(message.group_id):
        return None
    lacks_names = asker.version >= _SYNC_NAMES_SINCE and None in (message.protocol_type, message.protocol_name)
    return SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL if lacks_names else _NO_GROUP)


def _heartbeat(message: HeartbeatRequest, asker: Asker) -> Part:
    return None if asker.may_read_group(message.group_id) else HeartbeatResponse(error_code=_NO_GROUP)


def _leave(message: LeaveGroupRequest, asker: Asker) -> Part:
    return None if asker.may_read_group(message.group_id) else LeaveGroupResponse(error_code=_NO_GROUP)


def _beat(message: ConsumerGroupHeartbeatRequest, asker: Asker) -> Any:
    """Refuse without a message, before the request's shape is checked (CGH-36 to CGH-38). A regular expression is not refused."""
    if _is_off(asker) or (asker.may_read_group(message.group_id) and all(map(asker.may_describe_topic, message.subscribed_topic_names or ()))):
        return None
    return ConsumerGroupHeartbeatResponse(error_code=_NO_TOPIC if asker.may_read_group(message.group_id) else _NO_GROUP)


def _is_off(asker: Asker) -> bool:
    """Return whether the broker does not speak the consumer protocol. The coordinator's error for that comes first (CGH-39)."""
    return CONSUMER.name not in consumer_settings(asker.settings).protocols


# Offsets


def _commit(message: OffsetCommitRequest | TxnOffsetCommitRequest, asker: Asker) -> Part:
    response: Any = OffsetCommitResponse if isinstance(message, OffsetCommitRequest) else TxnOffsetCommitResponse
    if not asker.may_read_group(message.group_id):
        refused: GroupResponse = response(topics=_not_committed(message.topics, _NO_GROUP))
        return refused
    allowed, denied = _apart(message.topics, lambda topic: asker.may_read_topic(topic.name))
    if not denied:
        return None
    lacking = _not_committed(denied, _NO_TOPIC)
    return PermittedRequest(message=replace(message, topics=allowed), answered=lambda answer: replace(answer, topics=(*lacking, *answer.topics)))


def _not_committed(topics: Iterable[Any], error: ErrorCode) -> tuple[CommittedTopic, ...]:
    return tuple(
        CommittedTopic(
            name=topic.name, partitions=tuple(CommittedPartition(partition_index=item.partition_index, error_code=error) for item in topic.partitions)
        )
        for topic in topics
    )


def _delete_offsets(message: OffsetDeleteRequest, asker: Asker) -> Part:
    if not asker.may_delete_group(message.group_id):
        return OffsetDeleteResponse(error_code=_NO_GROUP)
    allowed, denied = _apart(message.topics, lambda topic: asker.may_read_topic(topic.name))
    if not denied:
        return None
    lacking = tuple(
        DeletedOffsetTopic(
            name=topic.name,
            partitions=tuple(DeletedOffset(partition_index=item.partition_index, error_code=_NO_TOPIC) for item in topic.partitions),
        )
        for topic in denied
    )

    def answered(answer: OffsetDeleteResponse) -> GroupResponse:
        return answer if answer.error_code else replace(answer, topics=(*lacking, *answer.topics))

    return PermittedRequest(message=replace(message, topics=allowed), answered=answered)


def _fetch_offsets(message: OffsetFetchRequest, asker: Asker) -> Part:
    """Ask about the allowed groups, and merge the answers with the refused groups in the order of the request."""
    allowed, denied = _apart(message.groups, lambda group: asker.may_describe_group(group.group_id))
    refused = {group.group_id: _not_fetched_group(group, asker.version) for group in denied}
    if not allowed:
        return OffsetFetchResponse(groups=tuple(refused[group.group_id] for group in message.groups))

    def answered(answer: OffsetFetchResponse) -> GroupResponse:
        asked = zip(allowed, answer.groups, strict=True)
        visible = iter([_fetched_group(group, fetched, asker) for group, fetched in asked])
        return OffsetFetchResponse(groups=tuple(refused[group.group_id] if group.group_id in refused else next(visible) for group in message.groups))

    return PermittedRequest(message=replace(message, groups=tuple(_visible_part(group, asker) for group in allowed)), answered=answered)


def _visible_part(group: FetchGroup, asker: Asker) -> FetchGroup:
    if group.topics is None:
        return group
    return replace(group, topics=tuple(topic for topic in group.topics if asker.may_describe_topic(topic.name)))


def _fetched_group(asked: FetchGroup, fetched: FetchedGroup, asker: Asker) -> FetchedGroup:
    """Remove denied topics where the request was for all topics; refuse them where it named them."""
    if fetched.error_code:
        return fetched
    visible = tuple(topic for topic in fetched.topics if asker.may_describe_topic(topic.name))
    denied = (topic for topic in asked.topics or () if not asker.may_describe_topic(topic.name))
    return replace(fetched, topics=(*visible, *_not_fetched(denied, _NO_TOPIC)))


def _not_fetched_group(group: FetchGroup, version: int) -> FetchedGroup:
    topics = () if version >= _FETCH_GROUP_ERROR_SINCE else _not_fetched(group.topics or (), _NO_GROUP)
    return FetchedGroup(group_id=group.group_id, topics=topics, error_code=_NO_GROUP)


def _not_fetched(topics: Iterable[FetchTopic], error: ErrorCode) -> tuple[FetchedTopic, ...]:
    return tuple(
        FetchedTopic(
            name=topic.name, partitions=tuple(FetchedPartition(partition_index=index, error_code=error) for index in topic.partition_indexes)
        )
        for topic in topics
    )


# Groups


def _describe(message: DescribeGroupsRequest, asker: Asker) -> Part:
    allowed, denied = _apart(message.groups, asker.may_describe_group)
    refused = tuple(DescribedGroup(group_id=group_id, error_code=_NO_GROUP) for group_id in denied)
    if not denied or not allowed:
        return DescribeGroupsResponse(groups=refused) if denied else None
    return PermittedRequest(message=replace(message, groups=allowed), answered=lambda answer: replace(answer, groups=(*refused, *answer.groups)))


def _describe_consumers(message: ConsumerGroupDescribeRequest, asker: Asker) -> Any:
    """Refuse groups that the client may not describe (CGD-14), and groups with a topic that it may not describe (CGD-15)."""
    if _is_off(asker):
        return None
    allowed, denied = _apart(message.group_ids, asker.may_describe_group)
    refused = tuple(DescribedConsumerGroup(group_id=group_id, error_code=_NO_GROUP) for group_id in denied)
    if denied and not allowed:
        return ConsumerGroupDescribeResponse(groups=refused)

    def answered(answer: ConsumerGroupDescribeResponse) -> ConsumerGroupDescribeResponse:
        return ConsumerGroupDescribeResponse(groups=(*refused, *(_visible_group(group, asker) for group in answer.groups)))

    return PermittedRequest(message=replace(message, group_ids=allowed), answered=answered)


def _visible_group(group: DescribedConsumerGroup, asker: Asker) -> DescribedConsumerGroup:
    assignments = (assignment for member in group.members for assignment in (member.assignment, member.target_assignment))
    topics = {partitions.topic_name for assignment in assignments for partitions in assignment.topic_partitions}
    if all(map(asker.may_describe_topic, topics)):
        return group
    return DescribedConsumerGroup(group_id=group.group_id, error_code=_NO_TOPIC, error_message=_HIDDEN)


def _delete(message: DeleteGroupsRequest, asker: Asker) -> Part:
    allowed, denied = _apart(dict.fromkeys(message.groups_names), asker.may_delete_group)
    refused = tuple(DeletedGroup(group_id=group_id, error_code=_NO_GROUP) for group_id in denied)
    if not denied or not allowed:
        return DeleteGroupsResponse(results=refused) if denied else None
    return PermittedRequest(
        message=replace(message, groups_names=allowed), answered=lambda answer: replace(answer, results=(*answer.results, *refused))
    )


_PARTS: Final[Mapping[type, Callable[[Any, Asker], Part]]] = {
    JoinGroupRequest: _join,
    SyncGroupRequest: _sync,
    HeartbeatRequest: _heartbeat,
    LeaveGroupRequest: _leave,
    OffsetCommitRequest: _commit,
    TxnOffsetCommitRequest: _commit,
    OffsetDeleteRequest: _delete_offsets,
    OffsetFetchRequest: _fetch_offsets,
    DescribeGroupsRequest: _describe,
    DeleteGroupsRequest: _delete,
    ConsumerGroupHeartbeatRequest: _beat,
    ConsumerGroupDescribeRequest: _describe_consumers,
}

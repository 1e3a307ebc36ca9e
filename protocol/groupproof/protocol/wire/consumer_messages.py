"""Version-neutral requests and responses of KIP-848's `consumer` protocol, like those in `messages`.

Fields are named as in Kafka's message schemas, in snake case. Topics are given by id, in UUID notation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from groupproof.protocol.vocabulary import Api, ErrorCode
from groupproof.protocol.wire.admin_messages import OPERATIONS_NOT_ASKED

__all__ = [
    "ConsumerAssignment", "ConsumerGroupDescribeRequest", "ConsumerGroupDescribeResponse", "ConsumerGroupHeartbeatRequest", "ConsumerGroupHeartbeatResponse",
    "DescribedAssignment", "DescribedConsumer", "DescribedConsumerGroup", "DescribedPartitions", "TopicPartitions",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPartitions:
    topic_id: str
    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupHeartbeatRequest:
    """A field that is None, or a rebalance timeout of -1, has not changed since the last heartbeat (KIP-848)."""

    api: ClassVar[Api] = Api.CONSUMER_GROUP_HEARTBEAT
    group_id: str
    member_id: str = ""
    member_epoch: int = 0
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    subscribed_topic_names: tuple[str, ...] | None = None
    subscribed_topic_regex: str | None = None
    server_assignor: str | None = None
    topic_partitions: tuple[TopicPartitions, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerAssignment:
    topic_partitions: tuple[TopicPartitions, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupHeartbeatResponse:
    """Without an assignment the member keeps its current one."""

    api: ClassVar[Api] = Api.CONSUMER_GROUP_HEARTBEAT
    error_code: ErrorCode | int = 0
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: ConsumerAssignment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupDescribeRequest:
    api: ClassVar[Api] = Api.CONSUMER_GROUP_DESCRIBE
    group_ids: tuple[str, ...]
    include_authorized_operations: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedPartitions:
    topic_id: str
    topic_name: str
    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedAssignment:
    topic_partitions: tuple[DescribedPartitions, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedConsumer:
    """One member. `member_type` is 1 for the consumer protocol and 0 for the classic one (v1)."""

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    member_epoch: int = 0
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: tuple[str, ...] = ()
    subscribed_topic_regex: str | None = None
    assignment: DescribedAssignment = DescribedAssignment()
    target_assignment: DescribedAssignment = DescribedAssignment()
    member_type: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedConsumerGroup:
    group_id: str
    error_code: ErrorCode | int = 0
    error_message: str | None = None
    group_state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    assignor_name: str = ""
    members: tuple[DescribedConsumer, ...] = ()
    authorized_operations: int = OPERATIONS_NOT_ASKED


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupDescribeResponse:
    api: ClassVar[Api] = Api.CONSUMER_GROUP_DESCRIBE
    groups: tuple[DescribedConsumerGroup, ...] = ()

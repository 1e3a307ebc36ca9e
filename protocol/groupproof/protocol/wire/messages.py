"""Version-neutral requests and responses of the group protocol, in the machines' form.

Field names are those of Kafka's message schemas in snake case, so that the codec maps them by name. Times are in milliseconds. A field that a version
lacks has its default. The batched forms of newer versions (LeaveGroup v3, FindCoordinator v4, OffsetFetch v8) are the only ones: an older version is
a batch with one entry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from groupproof.protocol.vocabulary import Api, ErrorCode
from groupproof.protocol.wire.admin_messages import (
    DeletedGroup,
    DeletedOffset,
    DeletedOffsetTopic,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribedMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetDeletePartition,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteTopic,
)

__all__ = [
    "ClassicRequest", "ClassicResponse", "CommitPartition", "CommitTopic", "CommittedPartition", "CommittedTopic", "Coordinator",
    "DeleteGroupsRequest", "DeleteGroupsResponse", "DeletedGroup", "DeletedOffset", "DeletedOffsetTopic", "DescribeGroupsRequest",
    "DescribeGroupsResponse", "DescribedGroup", "DescribedMember", "DialectMessage", "FetchGroup", "FetchTopic", "FetchedGroup", "FetchedPartition",
    "FetchedTopic", "FindCoordinatorRequest", "FindCoordinatorResponse", "GroupRequest", "GroupResponse", "HeartbeatRequest", "HeartbeatResponse",
    "JoinGroupRequest", "JoinGroupResponse", "JoinMember", "JoinProtocol", "LeaveGroupRequest", "LeaveGroupResponse", "LeaveMember", "LeftMember",
    "ListGroupsRequest", "ListGroupsResponse", "ListedGroup", "OffsetCommitRequest", "OffsetCommitResponse", "OffsetDeletePartition",
    "OffsetDeleteRequest", "OffsetDeleteResponse", "OffsetDeleteTopic", "OffsetFetchRequest", "OffsetFetchResponse", "SyncAssignment",
    "SyncGroupRequest", "SyncGroupResponse", "TxnOffsetCommitRequest", "TxnOffsetCommitResponse",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class FindCoordinatorRequest:
    api: ClassVar[Api] = Api.FIND_COORDINATOR
    coordinator_keys: tuple[str, ...]
    key_type: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinator:
    key: str
    node_id: int = -1
    host: str = ""
    port: int = -1
    error_code: ErrorCode | int = 0
    error_message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FindCoordinatorResponse:
    api: ClassVar[Api] = Api.FIND_COORDINATOR
    coordinators: tuple[Coordinator, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinProtocol:
    name: str
    metadata: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupRequest:
    """`rebalance_timeout_ms` is -1 in v0, where the session timeout applies (TIMER-25)."""

    api: ClassVar[Api] = Api.JOIN_GROUP
    group_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    protocol_type: str = "consumer"
    protocols: tuple[JoinProtocol, ...] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinMember:
    member_id: str
    group_instance_id: str | None = None
    metadata: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupResponse:
    api: ClassVar[Api] = Api.JOIN_GROUP
    error_code: ErrorCode | int = 0
    generation_id: int = -1
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = ""
    skip_assignment: bool = False
    member_id: str = ""
    members: tuple[JoinMember, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncAssignment:
    member_id: str
    assignment: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroupRequest:
    api: ClassVar[Api] = Api.SYNC_GROUP
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: tuple[SyncAssignment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroupResponse:
    api: ClassVar[Api] = Api.SYNC_GROUP
    error_code: ErrorCode | int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatRequest:
    api: ClassVar[Api] = Api.HEARTBEAT
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatResponse:
    api: ClassVar[Api] = Api.HEARTBEAT
    error_code: ErrorCode | int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveMember:
    member_id: str = ""
    group_instance_id: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroupRequest:
    api: ClassVar[Api] = Api.LEAVE_GROUP
    group_id: str
    members: tuple[LeaveMember, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftMember:
    member_id: str
    group_instance_id: str | None = None
    error_code: ErrorCode | int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroupResponse:
    """In v0 to v2 the wire has only one code: the top one, or else the only member's (LEAVE-51)."""

    api: ClassVar[Api] = Api.LEAVE_GROUP
    error_code: ErrorCode | int = 0
    members: tuple[LeftMember, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitPartition:
    partition_index: int
    committed_offset: int
    committed_leader_epoch: int = -1
    committed_metadata: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitTopic:
    name: str
    partitions: tuple[CommitPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitRequest:
    """`generation_id` is -1 and `member_id` empty for a client that does not use group management (COMMIT-02).

    Only v2 to v4 have `retention_time_ms`. With -1 the broker's retention applies (COMMIT-26).
    """

    api: ClassVar[Api] = Api.OFFSET_COMMIT
    group_id: str
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    retention_time_ms: int = -1
    topics: tuple[CommitTopic, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedPartition:
    partition_index: int
    error_code: ErrorCode | int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedTopic:
    name: str
    partitions: tuple[CommittedPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitResponse:
    api: ClassVar[Api] = Api.OFFSET_COMMIT
    topics: tuple[CommittedTopic, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnOffsetCommitRequest:
    """A commit that takes effect when its transaction is committed. It has member, instance and generation since v3 (KIP-447)."""

    api: ClassVar[Api] = Api.TXN_OFFSET_COMMIT
    transactional_id: str
    group_id: str
    producer_id: int
    producer_epoch: int = 0
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    topics: tuple[CommitTopic, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnOffsetCommitResponse:
    api: ClassVar[Api] = Api.TXN_OFFSET_COMMIT
    topics: tuple[CommittedTopic, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchTopic:
    name: str
    partition_indexes: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchGroup:
    """`topics` is None for every committed offset of the group. A consumer group's member sends its id and epoch (v9, KIP-848)."""

    group_id: str
    topics: tuple[FetchTopic, ...] | None = None
    member_id: str | None = None
    member_epoch: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchRequest:
    api: ClassVar[Api] = Api.OFFSET_FETCH
    groups: tuple[FetchGroup, ...]
    require_stable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedPartition:
    partition_index: int
    committed_offset: int = -1
    committed_leader_epoch: int = -1
    metadata: str | None = ""
    error_code: ErrorCode | int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedTopic:
    name: str
    partitions: tuple[FetchedPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedGroup:
    group_id: str
    topics: tuple[FetchedTopic, ...] = ()
    error_code: ErrorCode | int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchResponse:
    """Before v2 there is no group-level code: the wire repeats it on every partition."""

    api: ClassVar[Api] = Api.OFFSET_FETCH
    groups: tuple[FetchedGroup, ...]


class DialectMessage(Protocol):
    """A message class that a dialect adds (`message_conversion.add_messages`)."""

    api: ClassVar[Api]


ClassicRequest = (
    FindCoordinatorRequest
    | JoinGroupRequest
    | SyncGroupRequest
    | HeartbeatRequest
    | LeaveGroupRequest
    | OffsetCommitRequest
    | OffsetFetchRequest
    | TxnOffsetCommitRequest
    | DescribeGroupsRequest
    | ListGroupsRequest
    | DeleteGroupsRequest
    | OffsetDeleteRequest
)
ClassicResponse = (
    FindCoordinatorResponse
    | JoinGroupResponse
    | SyncGroupResponse
    | HeartbeatResponse
    | LeaveGroupResponse
    | OffsetCommitResponse
    | OffsetFetchResponse
    | TxnOffsetCommitResponse
    | DescribeGroupsResponse
    | ListGroupsResponse
    | DeleteGroupsResponse
    | OffsetDeleteResponse
)

GroupRequest = DialectMessage | ClassicRequest
GroupResponse = DialectMessage | ClassicResponse

"""Version-neutral requests and responses of admin clients: describe, list and delete groups, delete their offsets.

`messages` includes them in its unions. Fields are named as in Kafka's message schemas, in snake case.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = [
    "OPERATIONS_NOT_ASKED", "DeleteGroupsRequest", "DeleteGroupsResponse", "DeletedGroup", "DeletedOffset", "DeletedOffsetTopic",
    "DescribeGroupsRequest", "DescribeGroupsResponse", "DescribedGroup", "DescribedMember", "ListGroupsRequest", "ListGroupsResponse",
    "ListedGroup", "OffsetDeletePartition", "OffsetDeleteRequest", "OffsetDeleteResponse", "OffsetDeleteTopic",
]  # fmt: skip

OPERATIONS_NOT_ASKED = -2_147_483_648
"""The value of `authorized_operations` where the request does not ask for them (KIP-430)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeGroupsRequest:
    api: ClassVar[Api] = Api.DESCRIBE_GROUPS
    groups: tuple[str, ...]
    include_authorized_operations: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedMember:
    member_id: str
    group_instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    member_metadata: bytes = b""
    member_assignment: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedGroup:
    """`protocol_data` is the protocol's name. `error_message` exists from v6 on (KIP-1043)."""

    group_id: str
    error_code: ErrorCode | int = 0
    error_message: str | None = None
    group_state: str = ""
    protocol_type: str = ""
    protocol_data: str = ""
    members: tuple[DescribedMember, ...] = ()
    authorized_operations: int = OPERATIONS_NOT_ASKED


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeGroupsResponse:
    api: ClassVar[Api] = Api.DESCRIBE_GROUPS
    groups: tuple[DescribedGroup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListGroupsRequest:
    """An empty filter passes every group. Filters of states exist since v4 (KIP-518), of types since v5 (KIP-848)."""

    api: ClassVar[Api] = Api.LIST_GROUPS
    states_filter: tuple[str, ...] = ()
    types_filter: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedGroup:
    group_id: str
    protocol_type: str = ""
    group_state: str = ""
    group_type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListGroupsResponse:
    api: ClassVar[Api] = Api.LIST_GROUPS
    error_code: ErrorCode | int = 0
    groups: tuple[ListedGroup, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupsRequest:
    api: ClassVar[Api] = Api.DELETE_GROUPS
    groups_names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedGroup:
    group_id: str
    error_code: ErrorCode | int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupsResponse:
    api: ClassVar[Api] = Api.DELETE_GROUPS
    results: tuple[DeletedGroup, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDeletePartition:
    partition_index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDeleteTopic:
    name: str
    partitions: tuple[OffsetDeletePartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDeleteRequest:
    api: ClassVar[Api] = Api.OFFSET_DELETE
    group_id: str
    topics: tuple[OffsetDeleteTopic, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedOffset:
    partition_index: int
    error_code: ErrorCode | int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedOffsetTopic:
    name: str
    partitions: tuple[DeletedOffset, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDeleteResponse:
    """With an error of the whole group there are no topics."""

    api: ClassVar[Api] = Api.OFFSET_DELETE
    error_code: ErrorCode | int = 0
    topics: tuple[DeletedOffsetTopic, ...] = ()

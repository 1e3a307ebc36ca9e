"""What a server-side assignor sees and says: the members with their last target, the topics, and who gets which partition. Pure data.

The shape is that of Kafka's GroupSpec and SubscribedTopicDescriber. Whatever Kafka goes through in the order of a hash map has that order here: the outcome depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Final, NamedTuple, TypeAlias

__all__ = [
    "NOTHING",
    "GroupSpec",
    "MemberId",
    "MemberSpec",
    "Partitions",
    "ServerAssignor",
    "SubscriptionType",
    "TargetAssignment",
    "TopicId",
    "TopicSpec",
    "spec_of",
]

MemberId: TypeAlias = str
TopicId: TypeAlias = str
Partitions: TypeAlias = Mapping[TopicId, tuple[int, ...]]
"""Topics and their partitions, both in the order of Kafka's maps and sets; a topic without partitions is left out."""
TargetAssignment: TypeAlias = dict[MemberId, Partitions]


class SubscriptionType(StrEnum):
    """Whether all members subscribe to the same topics; the group knows (ModernGroup.subscriptionType), the assignors do not look."""

    HOMOGENEOUS = "homogeneous"
    HETEROGENEOUS = "heterogeneous"


NOTHING: Final[Partitions] = {}
"""The share of a member that the last target did not have."""


class MemberSpec(NamedTuple):
    """One member: the topics that it subscribes to and that exist, its part of the last target, and what it says of itself.

    The topics are in the order of its names (`spec_order.names_in_order`). No release reads the rack (KAFKA-19387). It is a named tuple, for each target
    makes one of every member.
    """

    subscribed_topic_ids: tuple[TopicId, ...]
    assigned: Partitions = NOTHING
    instance_id: str | None = None
    rack_id: str | None = None


spec_of: Final[Callable[[tuple[object, ...]], MemberSpec]] = partial(tuple.__new__, MemberSpec)
"""Make a member of the facts in their order, without a call of Python for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSpec:
    """The members in the order of Kafka's map of them (`spec_order.members_in_order`)."""

    members: Mapping[MemberId, MemberSpec]
    subscription_type: SubscriptionType


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSpec:
    """How many partitions a topic has, and the racks of their replicas, which no release reads (KAFKA-19387)."""

    partitions: int
    racks: Mapping[int, frozenset[str]] = field(default_factory=dict)


ServerAssignor: TypeAlias = Callable[[GroupSpec, Mapping[TopicId, TopicSpec]], TargetAssignment]
"""It says the target of every member of the group; a member whose part does not change gets the same object again."""

"""Input and output of a server-side assignor: the members with their last target, the topics, and the new target. Pure data.

The shape is that of Kafka's GroupSpec and SubscribedTopicDescriber. Where Kafka iterates a hash map, the order here is the same: the outcome depends
on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
    "TopicIdPartition",
    "TopicSpec",
    "partitions_in",
    "share_of",
    "spec_of",
]

MemberId: TypeAlias = str
TopicId: TypeAlias = str
Partitions: TypeAlias = Mapping[TopicId, tuple[int, ...]]
"""Topics and their partitions, both in the order of Kafka's maps and sets. A topic without partitions is left out."""
TargetAssignment: TypeAlias = dict[MemberId, Partitions]
TopicIdPartition: TypeAlias = tuple[str, int]


class SubscriptionType(StrEnum):
    """Whether all members subscribe to the same topics. The group determines it (ModernGroup.subscriptionType); assignors do not check it."""

    HOMOGENEOUS = "homogeneous"
    HETEROGENEOUS = "heterogeneous"


NOTHING: Final[Partitions] = {}
"""The share of a member without an entry in the last target."""


class MemberSpec(NamedTuple):
    """One member: its subscribed topics that exist, its share of the last target, and its reported properties.

    The topics are in the order of its names (`spec_order.names_in_order`). No release reads the rack (KAFKA-19387). It is a named tuple, because each
    target makes one for every member.
    """

    subscribed_topic_ids: tuple[TopicId, ...]
    assigned: Partitions = NOTHING
    instance_id: str | None = None
    rack_id: str | None = None


spec_of: Final[Callable[[tuple[object, ...]], MemberSpec]] = partial(tuple.__new__, MemberSpec)
"""Make a member from its fields in order, without a Python call for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSpec:
    """The members, in the order of Kafka's map (`spec_order.members_in_order`)."""

    members: Mapping[MemberId, MemberSpec]
    subscription_type: SubscriptionType


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSpec:
    """The number of partitions of a topic, and the racks of their replicas, which no release reads (KAFKA-19387)."""

    partitions: int
    racks: Mapping[int, frozenset[str]] = field(default_factory=dict)


ServerAssignor: TypeAlias = Callable[[GroupSpec, Mapping[TopicId, TopicSpec]], TargetAssignment]
"""Computes the target of every member of the group. A member with an unchanged share gets the same object again."""


def partitions_in(share: Mapping[TopicId, Iterable[int]]) -> set[TopicIdPartition]:
    """Return the partitions of a member's share, one by one."""
    return {(topic_id, index) for topic_id, indexes in share.items() for index in indexes}


def share_of(partitions: Iterable[TopicIdPartition]) -> dict[TopicId, tuple[int, ...]]:
    """Return partitions as a member's share: by topic, in order."""
    share: dict[TopicId, list[int]] = {}
    for topic_id, index in sorted(partitions):
        share.setdefault(topic_id, []).append(index)
    return {topic_id: tuple(indexes) for topic_id, indexes in share.items()}

"""Converts between the bytes of classic members and a consumer group's data: subscriptions, and assignments with topics by name. Pure.

Kafka reads the bytes by `ConsumerProtocol`, which refuses bytes that end before a required field of their version.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from groupproof.protocol.java_hash import java_hash
from groupproof.protocol.java_maps import hash_order
from groupproof.protocol.wire.subscription import (
    Assignment,
    Subscription,
    SubscriptionError,
    decode_assignment,
    decode_subscription,
    encode_assignment,
)

if TYPE_CHECKING:
    from groupproof.coordinator.machine.consumer.consumer_group import Share
    from groupproof.coordinator.machine.group import Group
    from groupproof.coordinator.machine.members import Member
    from groupproof.coordinator.machine.topics_image import TopicsImage
    from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["assignment_of", "first_unreadable", "partitions_by_id", "share_in_bytes", "subscription_of"]


def subscription_of(metadata: bytes) -> Subscription | None:
    """Return the subscription, None where Kafka cannot read it."""
    try:
        subscription = decode_subscription(metadata)
    except SubscriptionError:
        return None
    return None if subscription.is_truncated else subscription


def assignment_of(member: Member) -> Assignment | None:
    """Return a classic member's assignment, None where Kafka cannot read it, or where a custom assignor's user data would be lost (CGG-10)."""
    try:
        assignment = decode_assignment(member.assignment)
    except SubscriptionError:
        return None
    return None if assignment.user_data else assignment


def first_unreadable(group: Group) -> Member | None:
    """Return the first member that Kafka cannot convert (`ConsumerGroup.fromClassicGroup`), in the order of Kafka's HashMap."""
    members = {member.member_id: member for member in group.members}
    in_order = (members[member_id] for member_id in hash_order(members, java_hash))
    return next(
        (member for member in in_order if assignment_of(member) is None or subscription_of(member.metadata(group.protocol_name)) is None), None
    )


def partitions_by_id(partitions: Collection[TopicPartition], topics: TopicsImage) -> Share:
    """Return partitions by topic id, without topics that do not exist."""
    found: dict[str, list[int]] = {}
    for name, index in partitions:
        if (topic := topics.by_name.get(name)) is not None:
            found.setdefault(topic.topic_id, []).append(index)
    return {topic_id: tuple(sorted(set(indexes))) for topic_id, indexes in found.items()}


def share_in_bytes(share: Mapping[str, Collection[int]], topics: TopicsImage, metadata: bytes) -> bytes:
    """Return partitions as an encoded assignment, in the version of the member's subscription (CGG-30)."""
    names = {topic.topic_id: name for name, topic in topics.by_name.items() if topic.topic_id in share}
    partitions = tuple((names[topic_id], index) for topic_id, indexes in share.items() if topic_id in names for index in sorted(indexes))
    return encode_assignment(Assignment(partitions=partitions, version=int.from_bytes(metadata[:2], signed=True)))

"""The server-side assignor range: splits each topic into one range for each subscriber, newly at every rebalance.

RangeAssignor of Kafka 4.0 to 4.4; requirements CGA-15 to CGA-23. Static members come first, by instance id, then the others by member id, so a static
member that returns keeps its ranges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from groupproof.coordinator.assignors.group_spec import GroupSpec, MemberId, MemberSpec, SubscriptionType, TargetAssignment, TopicId, TopicSpec
from groupproof.coordinator.assignors.stored_order import stored
from groupproof.protocol.java_maps import JavaMap, uuid_hash

__all__ = ["range_assign", "range_in_order"]


def range_assign(spec: GroupSpec, topics: Mapping[TopicId, TopicSpec]) -> TargetAssignment:
    """Return the target of every member."""
    if not spec.members:
        return {}
    subscriptions = _subscriptions(spec)
    subscribers = Counter(topic for subscribed in subscriptions.values() for topic in subscribed)
    ranges = {topic: _Ranges(topics[topic].partitions, count) for topic, count in subscribers.items()}
    target: TargetAssignment = {}
    for member, subscribed in subscriptions.items():
        assignment: JavaMap[TopicId, range] = JavaMap(uuid_hash, int(len(subscribed) / 0.75) + 1)
        for topic in subscribed:
            if numbers := ranges[topic].next():
                assignment.put(topic, numbers)
        target[member] = stored(assignment.items(), spec.members[member].assigned)
    return {member: target[member] for member in spec.members}


def range_in_order(spec: GroupSpec, topics: Mapping[TopicId, TopicSpec], order: Sequence[MemberId]) -> TargetAssignment:
    """Return the target with the same ranges for the members in another order: KIP-848 fixes only that static members come first (CGA-22)."""
    members = {member: MemberSpec(spec.members[member].subscribed_topic_ids, instance_id=f"{place:04}") for place, member in enumerate(order)}
    return range_assign(GroupSpec(members=members, subscription_type=spec.subscription_type), topics)


def _subscriptions(spec: GroupSpec) -> dict[MemberId, tuple[TopicId, ...]]:
    """Return each member's subscription, in the order of the ranges.

    In a homogeneous group Kafka reads only the first member's (assignHomogeneousGroup).
    """
    ordered = sorted(spec.members, key=lambda member: (spec.members[member].instance_id is None, spec.members[member].instance_id or "", member))
    if spec.subscription_type is SubscriptionType.HOMOGENEOUS:
        return dict.fromkeys(ordered, spec.members[ordered[0]].subscribed_topic_ids)
    return {member: spec.members[member].subscribed_topic_ids for member in ordered}


class _Ranges:
    """The rest of one topic. A range starts where the last one ended; the first ranges have one partition more (TopicMetadata)."""

    def __init__(self, partitions: int, subscribers: int) -> None:
        self._quota, self._longer = divmod(partitions, subscribers)
        self._start = 0

    def next(self) -> range:
        """Return the range of the next subscriber."""
        end = self._start + self._quota + (self._longer > 0)
        self._longer -= self._longer > 0
        numbers = range(self._start, end)
        self._start = end
        return numbers

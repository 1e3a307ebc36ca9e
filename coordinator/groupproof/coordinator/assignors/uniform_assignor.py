"""The server-side assignor uniform: even numbers of partitions with as few moves as possible (UniformAssignor of Kafka 4.0 to 4.4)."""

from __future__ import annotations

from collections.abc import Mapping

from groupproof.coordinator.assignors.group_spec import GroupSpec, SubscriptionType, TargetAssignment, TopicId, TopicSpec
from groupproof.coordinator.assignors.uniform_heterogeneous import assign_heterogeneous
from groupproof.coordinator.assignors.uniform_homogeneous import assign_homogeneous

__all__ = ["uniform_assign"]


def uniform_assign(spec: GroupSpec, topics: Mapping[TopicId, TopicSpec]) -> TargetAssignment:
    """Return the target of every member."""
    if not any(member.subscribed_topic_ids for member in spec.members.values()):
        return {member: {} for member in spec.members}
    if spec.subscription_type is SubscriptionType.HOMOGENEOUS:
        return assign_homogeneous(spec, topics)
    return assign_heterogeneous(spec, topics)

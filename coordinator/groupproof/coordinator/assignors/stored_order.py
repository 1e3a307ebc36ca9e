"""A member's assignment after it is written to a record and read back: topics and partitions are in the order of new hash maps."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from groupproof.coordinator.assignors.group_spec import Partitions, TopicId
from groupproof.protocol.java_maps import JavaMap, capacity_of_copy, hash_order, int_hash, uuid_hash

__all__ = ["MutableAssignment", "deep_copy", "set_of", "stored"]

PartitionSet = JavaMap[int, None]
MutableAssignment = JavaMap[TopicId, PartitionSet]


def deep_copy(partitions: Partitions) -> MutableAssignment:
    """Return a mutable copy of an assignment (AssignorHelpers.deepCopyAssignment: the map has capacity for exactly these topics)."""
    copy: MutableAssignment = JavaMap(uuid_hash, len(partitions))
    for topic, numbers in partitions.items():
        copy.put(topic, set_of(numbers, capacity_of_copy(len(numbers))))
    return copy


def set_of(numbers: Collection[int], capacity: int) -> PartitionSet:
    """Return a HashSet of partitions."""
    found: PartitionSet = JavaMap(int_hash, capacity)
    found.put_all(numbers)
    return found


def stored(new: Iterable[tuple[TopicId, Collection[int]]], last: Partitions) -> Partitions:
    """Return the member's stored assignment after the target was computed.

    TargetAssignmentBuilder.build writes a record only where the partitions changed. Assignment.fromRecord collects it by Collectors.toMap and new
    HashSets.
    """
    fresh = {topic: tuple(numbers) for topic, numbers in new}
    if fresh == last or {topic: frozenset(numbers) for topic, numbers in fresh.items()} == {
        topic: frozenset(numbers) for topic, numbers in last.items()
    }:
        return last
    return {topic: tuple(hash_order(fresh[topic], int_hash, capacity_of_copy(len(fresh[topic])))) for topic in hash_order(fresh, uuid_hash)}

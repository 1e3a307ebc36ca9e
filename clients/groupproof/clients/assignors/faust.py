"""Faust's assignor: topics with equal partition counts and subscribers are assigned together, and move as little as the balance allows.

faust-streaming's `PartitionAssignor` and `CopartitionedAssignor`, for applications without tables: no changelogs and no promoted standbys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle

from groupproof.clients.assignors.assignment import Assignment, Cluster, GroupMember

__all__ = ["copartitioned_groups", "faust_assign"]


def faust_assign(members: Sequence[GroupMember], cluster: Cluster) -> Assignment:
    """Return the assignment. A member keeps the partitions in its `owned`, up to its share."""
    ordered = sorted(members, key=lambda member: member.member_id)
    assignment: Assignment = {member.member_id: [] for member in ordered}
    for topics in copartitioned_groups(ordered, cluster):
        readers = [member for member in ordered if set(topics) <= set(member.topics)]
        for member_id, numbers in _deal(readers, topics, cluster.partitions[topics[0]]).items():
            assignment[member_id].extend((topic, number) for topic in topics for number in sorted(numbers))
    return {member_id: sorted(partitions) for member_id, partitions in assignment.items()}


def copartitioned_groups(members: Sequence[GroupMember], cluster: Cluster) -> list[tuple[str, ...]]:
    """Return the topics that are assigned together: equal partition counts and subscribers. The fewest partitions come first."""
    groups: dict[tuple[int, tuple[str, ...]], list[str]] = {}
    for topic in sorted({topic for member in members for topic in member.topics}):
        readers = tuple(sorted(member.member_id for member in members if topic in member.topics))
        if count := cluster.partitions.get(topic, 0):
            groups.setdefault((count, readers), []).append(topic)
    return [tuple(groups[key]) for key in sorted(groups)]


def _deal(readers: Sequence[GroupMember], topics: Sequence[str], count: int) -> Mapping[str, set[int]]:
    """Assign the partition numbers of one group of topics: `CopartitionedAssignor.get_assignment`, without replicas."""
    least, most = count // len(readers), -(-count // len(readers))
    kept = _kept(readers, topics, count, least if count >= len(readers) else most)
    circle = cycle(sorted(kept.values(), key=len))
    for number in range(count):
        if not any(number in numbers for numbers in kept.values()):
            next(numbers for numbers in circle if len(numbers) < most).add(number)
    return kept


def _kept(readers: Sequence[GroupMember], topics: Sequence[str], count: int, room: int) -> dict[str, set[int]]:
    """Return the numbers that each reader keeps of its claims: the highest ones within its room. A later reader wins a number that two claim."""
    kept: dict[str, set[int]] = {}
    for reader in readers:
        claims = sorted({number for topic, number in reader.owned if topic in topics and number < count})
        kept[reader.member_id] = set(claims[max(0, len(claims) - room) :])
        for other in readers[: len(kept) - 1]:
            kept[other.member_id] -= kept[reader.member_id]
    return kept

"""Racks of members and replicas, for assignors that assign partitions near their readers (KIP-881)."""

from __future__ import annotations

from collections.abc import Sequence

from groupproof.clients.assignors.assignment import Cluster, GroupMember
from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["Racks"]


class Racks:
    """Racks matter if a member's rack has replicas and not every partition has replicas in all racks."""

    def __init__(self, members: Sequence[GroupMember], cluster: Cluster, *, always: bool = False) -> None:
        topics = {topic for member in members for topic in member.topics}
        self._of_partition = {
            (topic, number): cluster.racks_of(topic, number) for topic in topics for number in range(cluster.partitions.get(topic, 0))
        }
        self._of_member = {member.member_id: member.rack for member in members if member.rack is not None}
        self._topics = {member.member_id: frozenset(member.topics) for member in members}
        present = frozenset().union(*self._of_partition.values()) if self._of_partition else frozenset()
        is_wanted = bool(present & set(self._of_member.values()))
        self.matter = is_wanted and (always or any(racks != present for racks in self._of_partition.values()))

    def match(self, member: str, partition: TopicPartition) -> bool:
        """Return whether the partition has a replica in the member's rack. True if racks do not matter."""
        rack = self._of_member.get(member)
        return not self.matter or rack is None or rack in self._of_partition[partition]

    def may_keep(self, member: str, partition: TopicPartition) -> bool:
        """Return whether an owner may keep the partition: it is in its rack, or in no subscriber's rack."""
        return self.match(member, partition) or self._readers(partition) == 0

    def rarest_first(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Return the partitions ordered by how many members share a rack with them, fewest first."""
        if not self.matter:
            return partitions
        return sorted(partitions, key=self._readers)

    def _readers(self, partition: TopicPartition) -> int:
        return sum(rack in self._of_partition[partition] for member, rack in self._of_member.items() if partition[0] in self._topics[member])

"""The sticky assignment for members with different subscriptions: assign to the member with the fewest, then move while it helps.

Kafka's GeneralAssignmentBuilder in a smaller form. Topics with the fewest subscribers come first, because they leave the least
choice. A partition moves only from a member that has at least two more than another subscriber.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from groupproof.clients.assignors.assignment import Assignment, Cluster, GroupMember
from groupproof.clients.assignors.racks import Racks
from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["balance"]

_ROUNDS_MAX: Final = 1_000
"""A bound on the rounds of moving. Each round lowers the imbalance, so it is never reached."""


def balance(members: Sequence[GroupMember], cluster: Cluster, racks: Racks, owned: Mapping[str, list[TopicPartition]]) -> Assignment:
    """Return each member's partitions: first those it keeps of `owned`, then the new ones."""
    return _Balance(members, cluster, racks, owned).assign()


class _Balance:
    def __init__(self, members: Sequence[GroupMember], cluster: Cluster, racks: Racks, owned: Mapping[str, list[TopicPartition]]) -> None:
        self._racks = racks
        self._topics = {member.member_id: frozenset(member.topics) for member in members}
        self._readers = {
            topic: [key for key, topics in self._topics.items() if topic in topics]
            for topic in sorted({topic for topics in self._topics.values() for topic in topics})
        }
        by_choice = sorted(self._readers, key=lambda topic: (len(self._readers[topic]), topic))
        self._partitions = [(topic, number) for topic in by_choice for number in range(cluster.partitions.get(topic, 0))]
        self._assignment: Assignment = {
            member: [partition for partition in owned[member] if partition[0] in topics and racks.may_keep(member, partition)]
            for member, topics in self._topics.items()
        }
        self._movements = _Movements()
        self._owner = {partition: member for member, partitions in self._assignment.items() for partition in partitions}

    def assign(self) -> Assignment:
        left = [partition for partition in self._partitions if partition not in self._owner]
        self._give_to_poorest(left)
        self._move(left)
        self._move(self._partitions)
        return self._assignment

    def _give_to_poorest(self, left: list[TopicPartition]) -> None:
        """Assign within racks where possible, and the rest to the member with the fewest partitions."""
        for partition in self._racks.rarest_first(left) if self._racks.matter else []:
            self._give(partition, [reader for reader in self._readers[partition[0]] if self._racks.match(reader, partition)])
        for partition in left:
            if partition not in self._owner:
                self._give(partition, self._readers[partition[0]])

    def _give(self, partition: TopicPartition, candidates: Iterable[str]) -> None:
        member = min(candidates, key=self._wealth, default=None)
        if member is not None:
            self._assignment[member].append(partition)
            self._owner[partition] = member

    def _wealth(self, member: str) -> tuple[int, str]:
        return len(self._assignment[member]), member

    def _move(self, partitions: list[TopicPartition]) -> None:
        """Move partitions from members with more to members with fewer, until a round changes nothing."""
        for _ in range(_ROUNDS_MAX):
            moved = [partition for partition in partitions if self._owner.get(partition) is not None and self._moves(partition)]
            if not moved:
                return

    def _moves(self, partition: TopicPartition) -> bool:
        owner = self._owner[partition]
        readers = self._readers[partition[0]]
        near = [reader for reader in readers if self._racks.match(reader, partition)] if self._racks.matter else readers
        for candidates in (near, readers):
            poorest = min(candidates, key=self._wealth, default=owner)
            if len(self._assignment[owner]) > len(self._assignment[poorest]) + 1:
                self._hand_over(self._movements.instead_of(partition, owner, poorest), poorest)
                return True
        return False

    def _hand_over(self, partition: TopicPartition, to: str) -> None:
        owner = self._owner[partition]
        self._assignment[owner].remove(partition)
        self._assignment[to].append(partition)
        self._owner[partition] = to
        self._movements.note(partition, owner, to)


class _Movements:
    """The moves so far. No partition moves one way while another of its topic moves the other (AbstractStickyAssignor.PartitionMovements)."""

    def __init__(self) -> None:
        self._of: dict[TopicPartition, tuple[str, str]] = {}

    def instead_of(self, partition: TopicPartition, owner: str, to: str) -> TopicPartition:
        """Return the partition to move: one of the topic that moved the other way goes back first."""
        first, _ = self._of.get(partition, (owner, to))
        return next((key for key, pair in self._of.items() if key[0] == partition[0] and pair == (to, first)), partition)

    def note(self, partition: TopicPartition, owner: str, to: str) -> None:
        first, _ = self._of.pop(partition, (owner, to))
        if first != to:
            self._of[partition] = (first, to)

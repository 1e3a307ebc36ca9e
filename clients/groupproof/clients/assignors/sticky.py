"""The assignors sticky and cooperative-sticky: first balance, then move as few partitions as possible (ASSIGN-06, KIP-54, KIP-429).

Like Kafka's AbstractStickyAssignor, it has two cases: all members subscribe to the same topics (here), or not
(`sticky_general.py`). A claim to a partition counts only in its highest generation. Two equal claims cancel out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from groupproof.clients.assignors.assignment import Assignment, Cluster, GroupMember
from groupproof.clients.assignors.racks import Racks
from groupproof.clients.assignors.sticky_general import balance
from groupproof.protocol.java_hash import java_hash
from groupproof.protocol.java_maps import hash_order
from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["claims", "cooperative_sticky_assign", "in_hash_order", "sticky_assign"]


def sticky_assign(members: Sequence[GroupMember], cluster: Cluster) -> Assignment:
    """Return the assignment, which takes effect at once. Members are sorted by id."""
    return _assigned(members, cluster)


def cooperative_sticky_assign(members: Sequence[GroupMember], cluster: Cluster) -> Assignment:
    """Return the sticky assignment without the partitions that change owner. Their old owner must revoke them first (KIP-429)."""
    assignment = _assigned(members, cluster)
    owners = {partition: member.member_id for member in members for partition in _valid(member, cluster)}
    owners |= {partition: member for member, owned in claims(members, cluster).items() for partition in owned}
    return {member: [partition for partition in partitions if owners.get(partition, member) == member] for member, partitions in assignment.items()}


def claims(members: Sequence[GroupMember], cluster: Cluster) -> dict[str, list[TopicPartition]]:
    """Return the valid claims of each member. Claims to missing partitions, of an older generation, or made twice are dropped."""
    generations = {member.member_id: member.generation for member in members}
    claimants: dict[TopicPartition, list[str]] = {}
    for member in members:
        for partition in _valid(member, cluster):
            claimants.setdefault(partition, []).append(member.member_id)
    newest = {partition: max(generations[member] for member in who) for partition, who in claimants.items()}
    sure = {
        partition: first[0]
        for partition, who in claimants.items()
        if len(first := [member for member in who if generations[member] == newest[partition]]) == 1
    }
    return {member.member_id: [partition for partition in member.owned if sure.get(partition) == member.member_id] for member in members}


def _valid(member: GroupMember, cluster: Cluster) -> list[TopicPartition]:
    """Return the claims to existing partitions."""
    return [(topic, number) for topic, number in dict.fromkeys(member.owned) if number < cluster.partitions.get(topic, 0)]


def _assigned(listed: Sequence[GroupMember], cluster: Cluster) -> Assignment:
    members = sorted(listed, key=lambda group_member: group_member.member_id)
    topics = {frozenset(member.topics) for member in members}  # missing topics count too: Kafka compares the subscriptions
    racks = Racks(members, cluster)
    owned = claims(listed, cluster)
    if len(topics) == 1:
        existing = sorted(topic for topic in members[0].topics if cluster.partitions.get(topic, 0))
        return _Even(members, existing, cluster, racks).assign(owned)
    return balance(members, cluster, racks, owned)


def in_hash_order(names: Sequence[str]) -> list[str]:
    """Return the names in the order of a Java HashMap after inserting them one by one. Its buckets double at a load of three quarters."""
    return hash_order(names, java_hash)


def _by_number(partition: TopicPartition) -> tuple[int, str]:
    """Order kept partitions by number, then topic. So a member keeps the first of each topic (AbstractStickyAssignor.assignOwnedPartitions)."""
    return partition[1], partition[0]


class _Even:
    """The case of equal subscriptions: each member gets the quota. The remainder goes one by one to the first members with room."""

    def __init__(self, members: list[GroupMember], topics: list[str], cluster: Cluster, racks: Racks) -> None:
        self._partitions = [(topic, number) for topic in topics for number in range(cluster.partitions[topic])]
        self._racks = racks
        self._assignment: Assignment = {member.member_id: [] for member in members}
        self._quota, self._longer = divmod(len(self._partitions), len(members))
        self._below: list[str] = []  # members below the quota
        self._at: list[str] = []  # members at the quota; they may get one more

    def assign(self, owned: Mapping[str, list[TopicPartition]]) -> Assignment:
        wanted = set(self._partitions)
        # Any order is correct: the first member above the quota keeps one more. Kafka uses the order of its hash map.
        for member in in_hash_order(list(owned)):
            kept = [candidate for candidate in owned[member] if candidate in wanted and self._racks.may_keep(member, candidate)]
            self._keep(member, sorted(kept, key=_by_number))
        self._below.sort()
        self._at.sort()
        assigned = {partition for partitions in self._assignment.values() for partition in partitions}
        left = self._racks.rarest_first([partition for partition in self._partitions if partition not in assigned])
        self._deal(self._deal_by_rack(left))
        return self._assignment

    def _keep(self, member: str, owned: list[TopicPartition]) -> None:
        """Let a member keep its first partitions, up to the quota. The first members above the quota may keep one more."""
        if len(owned) < self._quota:
            self._assignment[member] = owned
            self._below.append(member)
        elif len(owned) > self._quota and self._longer > 0:
            self._assignment[member] = owned[: self._quota + 1]
            self._longer -= 1
        else:
            self._assignment[member] = owned[: self._quota]
            self._at.append(member)

    def _deal_by_rack(self, left: list[TopicPartition]) -> list[TopicPartition]:
        """Assign partitions to members with room in a matching rack. Return the rest."""
        if not self._racks.matter:
            return left
        rest: list[TopicPartition] = []
        turn = 0
        for partition in left:
            order = [*self._below[turn:], *self._below[:turn]]
            member = next((candidate for candidate in order if self._racks.match(candidate, partition)), None)
            if member is not None:
                place = self._below.index(member)
                self._give(member, partition)
                place += member in self._below
                turn = place % len(self._below) if self._below else 0
            elif (member := next((candidate for candidate in self._open() if self._racks.match(candidate, partition)), None)) is not None:
                self._give(member, partition)
            else:
                rest.append(partition)
        return rest

    def _deal(self, left: list[TopicPartition]) -> None:
        """Assign in turn to members below the quota, then one more each to those at the quota."""
        turns: list[str] = []
        for partition in left:
            turns = turns or list(self._below or self._open())
            self._give(turns.pop(0), partition)

    def _open(self) -> list[str]:
        return self._at if self._longer > 0 else []

    def _give(self, member: str, partition: TopicPartition) -> None:
        self._assignment[member].append(partition)
        count = len(self._assignment[member])
        if member in self._below and count >= self._quota:
            self._below.remove(member)
            self._at.append(member)
        elif count > self._quota:
            self._at.remove(member)
            self._longer -= 1

"""The leader's assignors by name: pure functions from subscriptions and the cluster to an assignment. Range and roundrobin are here.

Requirements ASSIGN-05 to ASSIGN-10; Kafka's RangeAssignor (co-partitioning and racks since 3.5, KIP-881) and RoundRobinAssignor. Members with a
group.instance.id come first, in its order, then the others by member id (2.4+, KAFKA-8225). So the restart of a static member moves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby, islice
from typing import Final

from groupproof.clients.assignors.assignment import Assignment, Assignor, Cluster, GroupMember
from groupproof.clients.assignors.sticky import cooperative_sticky_assign, sticky_assign
from groupproof.protocol.vocabulary import COOPERATIVE_STICKY

__all__ = ["ASSIGNORS", "in_order", "range_assign", "roundrobin_assign"]


def in_order(members: Sequence[GroupMember]) -> list[GroupMember]:
    """Return static members by instance id, then dynamic ones by member id."""
    return sorted(members, key=lambda member: (member.instance_id is None, member.instance_id or "", member.member_id))


def roundrobin_assign(members: Sequence[GroupMember], cluster: Cluster) -> Assignment:
    """Assign all partitions in turn, ordered by topic name and number. Members that do not subscribe to a topic are skipped."""
    ordered = in_order(members)
    assignment: Assignment = {member.member_id: [] for member in members}
    turn = 0
    for topic in sorted({topic for member in members for topic in member.topics}):
        for number in range(cluster.partitions.get(topic, 0)):
            while topic not in ordered[turn % len(ordered)].topics:
                turn += 1
            assignment[ordered[turn % len(ordered)].member_id].append((topic, number))
            turn += 1
    return assignment


def range_assign(members: Sequence[GroupMember], cluster: Cluster) -> Assignment:
    """Assign one range of each topic to each subscriber; the first ranges may be longer by one.

    If racks are known and differ among partitions, partitions go first to members in a rack with a replica. Subscribers of several topics of
    equal size get the same numbers of each (co-partitioning). Co-partitioning has priority over racks.
    """
    ordered = in_order(members)
    shares = [
        _Share(topic, cluster, [member for member in ordered if topic in member.topics])
        for topic in sorted({topic for member in members for topic in member.topics})
        if cluster.partitions.get(topic, 0) > 0
    ]
    assignment: Assignment = {member.member_id: [] for member in members}
    is_rack_aware = any(share.needs_racks for share in shares)
    if is_rack_aware:
        _by_rack(shares, assignment)
    for share in shares:
        _ranges(share, assignment, lambda _member, _number: True)
    if is_rack_aware:
        for owned in assignment.values():
            owned.sort()
    return assignment


class _Share:
    """The unassigned partitions of one topic, and the room of each subscriber."""

    def __init__(self, topic: str, cluster: Cluster, members: list[GroupMember]) -> None:
        count = cluster.partitions[topic]
        self.topic, self.members = topic, members
        self.numbers = dict.fromkeys(range(count))  # in order; assigned numbers are removed
        self.count = count
        self._racks = [cluster.racks_of(topic, number) for number in range(count)]
        self._quota, self._longer = divmod(count, len(members))
        self._counts = dict.fromkeys((member.member_id for member in members), 0)

    @property
    def subscribers(self) -> tuple[str, ...]:
        return tuple(member.member_id for member in self.members)

    @property
    def needs_racks(self) -> bool:
        """Racks matter if a member's rack has replicas and not every partition has replicas in all racks."""
        wanted = {member.rack for member in self.members if member.rack is not None}
        present = frozenset().union(*self._racks)
        return bool(wanted & present) and any(racks != present for racks in self._racks)

    def matches(self, member: GroupMember, number: int) -> bool:
        return member.rack is None or member.rack in self._racks[number]

    def room(self, member: GroupMember) -> int:
        return max(0, self._quota + (self._longer > 0) - self._counts[member.member_id])

    def give(self, member: GroupMember, numbers: Sequence[int], assignment: Assignment) -> None:
        assignment[member.member_id].extend((self.topic, number) for number in numbers)
        self._counts[member.member_id] += len(numbers)
        if self._counts[member.member_id] > self._quota:
            self._longer -= 1
        for number in numbers:
            self.numbers.pop(number, None)


def _by_rack(shares: list[_Share], assignment: Assignment) -> None:
    by_kind = sorted(shares, key=lambda share: (share.subscribers, share.count))
    for _, alike in groupby(by_kind, key=lambda share: (share.subscribers, share.count)):
        co_partitioned = list(alike)
        if len(co_partitioned) > 1:
            _co_partitions(co_partitioned, assignment)
        elif co_partitioned[0].needs_racks:
            _ranges(co_partitioned[0], assignment, co_partitioned[0].matches)


def _co_partitions(shares: list[_Share], assignment: Assignment) -> None:
    """Assign number n of all topics to the first member that has room and matching racks for each topic."""
    for number in range(shares[0].count):
        for member in shares[0].members:
            if all(share.matches(member, number) and share.room(member) for share in shares):
                for share in shares:
                    share.give(member, [number], assignment)
                break


def _ranges(share: _Share, assignment: Assignment, may_have: Callable[[GroupMember, int], bool]) -> None:
    for member in share.members:
        numbers = list(islice((number for number in share.numbers if may_have(member, number)), share.room(member)))
        if numbers:
            share.give(member, numbers, assignment)


ASSIGNORS: Final[dict[str, Assignor]] = {
    "range": range_assign,
    "roundrobin": roundrobin_assign,
    "sticky": sticky_assign,
    COOPERATIVE_STICKY: cooperative_sticky_assign,
}

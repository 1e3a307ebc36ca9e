"""uniform where all members subscribe to the same topics: each keeps its partitions up to its quota, and the rest is distributed.

UniformHomogeneousAssignmentBuilder of Kafka 4.0 to 4.4; requirements CGA-07 to CGA-12. Topics are in the order of a HashSet of their ids. A member
gives up partitions in the order of its stored assignment. Extra partitions and the rest go to members in the order of the map of members. None of it
is random, so a test vector of Kafka's is valid for its ids (CGA-12).
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import add, attrgetter, methodcaller
from typing import Final

from groupproof.coordinator.assignors.group_spec import GroupSpec, MemberId, Partitions, TargetAssignment, TopicId, TopicSpec
from groupproof.coordinator.assignors.stored_order import MutableAssignment, deep_copy, set_of, stored
from groupproof.protocol.java_maps import capacity_of_copy, hash_order, uuid_hash
from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["UNKNOWN", "HomogeneousBuilder", "assign_homogeneous"]

_ASSIGNED: Final = attrgetter("assigned")
_NEW_SET = 16
"""The capacity of `new HashSet<>()`."""
UNKNOWN: Final = -1
"""The number of a member's partitions where some members hold partitions of topics outside the subscription."""


def assign_homogeneous(spec: GroupSpec, topics: Mapping[TopicId, TopicSpec]) -> TargetAssignment:
    """Return the target of every member of a group whose members all subscribe to the topics of the first one."""
    return HomogeneousBuilder(spec, topics).build()


class HomogeneousBuilder:
    """The unassigned partitions, the members with room for them, and the assignments that differ from the last ones.

    `_held` are the members' numbers of partitions.
    """

    def __init__(self, spec: GroupSpec, topics: Mapping[TopicId, TopicSpec]) -> None:
        self._members = spec.members
        first = next(iter(spec.members.values())).subscribed_topic_ids
        subscribed = hash_order(first, uuid_hash, capacity_of_copy(len(first)))
        self._subscribed = dict.fromkeys(subscribed)
        self._unassigned: list[TopicPartition] = []
        shares = list(map(_ASSIGNED, spec.members.values()))
        held = [0] * len(shares)
        for topic in subscribed:
            assigned = list(map(methodcaller("get", topic, ()), shares))
            held = list(map(add, held, map(len, assigned)))
            free = set(range(topics[topic].partitions)).difference(*assigned)
            self._unassigned += [(topic, number) for number in sorted(free)]
        self._held = held if self._subscribed.keys() >= set().union(*shares) else [UNKNOWN] * len(shares)
        self._quota, self._extras = divmod(sum(topics[topic].partitions for topic in subscribed), len(spec.members))
        self._unfilled: list[tuple[MemberId, int]] = []
        self._changed: dict[MemberId, MutableAssignment] = {}

    def build(self) -> TargetAssignment:
        quota, last_ones = self._quota, len(self._members)
        for member, held in zip(self._members, self._held, strict=True):
            # Nearly all members keep their partitions: the quota, where an extra one goes to others, or the quota and an extra one.
            if held == quota + 1 and self._extras > 0:
                self._extras -= 1
            elif held != quota or (self._extras > 0 and last_ones <= self._extras):
                self._keep_up_to_quota(member, self._members[member].assigned, last_ones=last_ones)
            last_ones -= 1
        self._deal_unassigned()
        target: TargetAssignment = dict(zip(self._members, map(_ASSIGNED, self._members.values()), strict=True))
        for member, assignment in self._changed.items():
            target[member] = stored(assignment.items(), target[member])
        return target

    def _keep_up_to_quota(self, member: MemberId, assigned: Partitions, *, last_ones: int) -> None:
        """Remove the partitions beyond a member's quota. `last_ones` is the number of members from this one on (maybeRevokePartitions)."""
        takes_extra = self._extras > 0
        room = self._quota + takes_extra
        for topic, numbers in assigned.items():
            room = self._keep_topic(member, topic, numbers, room)
        # A member does not take an extra partition that it does not hold yet, unless all remaining members must take one.
        if takes_extra and room > 0 and last_ones > self._extras:
            room -= 1
            takes_extra = False
        if room > 0:
            self._unfilled.append((member, room))
        self._extras -= takes_extra

    def _keep_topic(self, member: MemberId, topic: TopicId, numbers: tuple[int, ...], room: int) -> int:
        """Return the room that is left after the partitions of a topic that the member keeps."""
        if topic not in self._subscribed:
            self._changeable(member).remove(topic)
            return room
        if len(numbers) <= room:
            return room - len(numbers)
        for number in numbers[room:]:
            self._revoke(member, topic, number)
        return 0

    def _revoke(self, member: MemberId, topic: TopicId, number: int) -> None:
        assignment = self._changeable(member)
        assignment[topic].remove(number)
        if not len(assignment[topic]):
            assignment.remove(topic)
        self._unassigned.append((topic, number))

    def _deal_unassigned(self) -> None:
        unassigned = iter(self._unassigned)
        for member, room in self._unfilled:
            assignment = self._changeable(member)
            for _, (topic, number) in zip(
                range(room), unassigned, strict=False
            ):  # the room first: zip then consumes no partition that it does not assign
                assignment.compute_if_absent(topic, lambda: set_of((), _NEW_SET)).put(number, None)
        assert next(unassigned, None) is None, "the quotas leave room for every partition"

    def _changeable(self, member: MemberId) -> MutableAssignment:
        if member not in self._changed:
            self._changed[member] = deep_copy(self._members[member].assigned)
        return self._changed[member]

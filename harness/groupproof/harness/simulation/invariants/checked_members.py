"""The members and the target of a consumer group at the last check. A member is checked again only if something that it depends on changed.

The coordinator never changes an assignment, pending partitions or a target in place: changed values are new objects. All members are compared
at once, because a group of a hundred members has an epoch for each join, and each member is checked after each of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import compress, repeat
from operator import attrgetter, eq, ge, is_not, ne, or_
from typing import TYPE_CHECKING, Any, Final

from groupproof.coordinator.machine.consumer.consumer_members import partitions_of
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerState

if TYPE_CHECKING:
    from groupproof.clients.member.consumer.epoch_core import TopicIdPartition
    from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup, Share
    from groupproof.coordinator.machine.consumer.consumer_members import Assigned, ConsumerMember
    from groupproof.coordinator.machine.topics_image import TopicImage

__all__ = ["CheckedMembers", "CheckedTarget"]

_COMPARED_FIELDS: Final = attrgetter("epoch", "progress", "assigned", "pending", "names")
"""The fields that the invariants of one member depend on, beside its share."""
_EPOCH: Final = attrgetter("epoch")
_NO_SHARE: Final[Share] = {}


class CheckedMembers:
    """The members at the last check. `was_stable`: the group was also Stable at these epochs at the previous check."""

    def __init__(self) -> None:
        self.was_stable = False
        self._is_stable = False
        self._group: ConsumerGroup | None = None
        self._epochs = (0, 0)
        self._topics: Mapping[str, TopicImage] = {}
        self._last_look: tuple[list[str], list[tuple[Any, ...]], list[Share | None]] = [], [], []
        self._owners: dict[TopicIdPartition, str] = {}
        self._owned: dict[str, tuple[Assigned, Assigned, set[TopicIdPartition]]] = {}

    def changed(self, group: ConsumerGroup) -> list[ConsumerMember]:
        """Begin a check. Return the changed members, or all members if the group or a topic changed.

        With a new target, members at or beyond its epoch are included. The invariants of members behind it depend only on their own epoch.
        """
        members, epochs = group.members, (group.generation, group.assignment_epoch)
        is_same, is_new_target = group is self._group and group.topics == self._topics, epochs[1] != self._epochs[1]
        self.was_stable = self._is_stable and is_same and epochs == self._epochs
        self._is_stable = group.state is ConsumerState.STABLE
        self._group, self._epochs, self._topics = group, epochs, group.topics
        differs = self._compared(group, is_same=is_same)
        if is_new_target:
            differs = map(or_, differs, map(ge, map(_EPOCH, members.values()), repeat(epochs[1])))
        changed = list(compress(members.values(), differs))
        self._let_go(self._owned.keys() - members.keys())
        self._let_go([member.member_id for member in changed if self._holds_other(member)])
        return changed

    def _compared(self, group: ConsumerGroup, *, is_same: bool) -> Iterator[bool]:
        """Return for each member whether it changed. In a changed group every member counts as changed."""
        before, members = self._last_look, group.members
        self._last_look = ids, field_values, shares = (
            list(members),
            list(map(_COMPARED_FIELDS, members.values())),
            list(map(group.target.get, members)),
        )
        if not is_same:
            return iter([True] * len(ids))
        if ids == before[0]:
            return map(or_, map(ne, field_values, before[1]), map(is_not, shares, before[2]))
        before_by_id = dict(zip(before[0], zip(*before[1:], strict=True), strict=True))
        return map(ne, zip(field_values, shares, strict=True), map(before_by_id.get, ids))

    def take(self, member: ConsumerMember) -> Iterator[tuple[TopicIdPartition, str]]:
        """Record a member's assigned and pending partitions. Yield each that another member has too, with that member's id."""
        owners, member_id = self._owners, member.member_id
        if member_id in self._owned:
            return
        owned = partitions_of(member.assigned)
        if member.pending:
            owned |= partitions_of(member.pending)
        self._owned[member_id] = member.assigned, member.pending, owned
        yield from _take(owners, owned, member_id)

    def _let_go(self, member_ids: Iterable[str]) -> None:
        for member_id in member_ids:
            _free(self._owners, self._owned.pop(member_id)[2], member_id)

    def _holds_other(self, member: ConsumerMember) -> bool:
        """Return whether a member's assigned or pending partitions differ from the recorded ones."""
        noted = self._owned.get(member.member_id)
        return noted is not None and not (noted[0] is member.assigned and noted[1] is member.pending)


class CheckedTarget:
    """The target owner of each partition, from the newest checked target."""

    def __init__(self) -> None:
        self._shares: dict[str, Share] = {}
        self._owners: dict[TopicIdPartition, str] = {}
        self._topics: Mapping[str, TopicImage] = {}
        self._wanted: frozenset[TopicIdPartition] = frozenset()

    def take(self, target: Mapping[str, Share]) -> Iterator[tuple[TopicIdPartition, str, str]]:
        """Check the changed shares. Yield each partition that is in two shares, with both members."""
        before, owners = self._shares, self._owners
        self._shares = shares = dict(target)
        changed = list(compress(shares, map(is_not, shares.values(), map(before.get, shares))))
        for member_id in (*(before.keys() - shares.keys()), *changed):
            _free(owners, _listed(before.get(member_id, _NO_SHARE)), member_id)
        for member_id in changed:
            for partition, other in _take(owners, _listed(shares[member_id]), member_id):
                yield partition, member_id, other

    def missing(self, topics: Mapping[str, TopicImage]) -> frozenset[TopicIdPartition]:
        """Return the partitions of the topics that nobody has."""
        if topics != self._topics:
            self._topics = topics
            self._wanted = frozenset((topic.topic_id, index) for topic in topics.values() for index in range(topic.partitions))
        return self._wanted.difference(self._owners)


def _take(owners: dict[TopicIdPartition, str], partitions: Collection[TopicIdPartition], member_id: str) -> Collection[tuple[TopicIdPartition, str]]:
    """Give a member the free partitions. Return the others with their owners."""
    if owners.keys().isdisjoint(partitions):  # the usual case: all are free
        owners.update(dict.fromkeys(partitions, member_id))
        return ()
    others = [(partition, owners.setdefault(partition, member_id)) for partition in partitions]
    return [(partition, other) for partition, other in others if other != member_id]


def _free(owners: dict[TopicIdPartition, str], partitions: Collection[TopicIdPartition], member_id: str) -> None:
    """Free the partitions that this member owns."""
    for partition in compress(partitions, map(eq, map(owners.get, partitions), repeat(member_id))):
        del owners[partition]


def _listed(share: Share) -> list[TopicIdPartition]:
    listed: list[TopicIdPartition] = []
    for topic_id, indexes in share.items():
        listed += zip(repeat(topic_id), indexes)
    return listed

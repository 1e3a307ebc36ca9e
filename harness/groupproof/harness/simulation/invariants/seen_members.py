"""The members and the target of a consumer group as they were when they were looked at last: what holds of one is looked at again where something that it rests on has changed.

The coordinator never changes what it has given a member in place: an assignment, what is pending, a target are other objects when they are others. Who has changed is told by
comparing all of them at once, as a group of a hundred members has an epoch for each that joins, and each of them is looked at behind each.
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

__all__ = ["SeenMembers", "SeenTarget"]

_STANDING: Final = attrgetter("epoch", "progress", "assigned", "pending", "names")
"""What the laws of one member rest on, beside its share."""
_EPOCH: Final = attrgetter("epoch")
_NO_SHARE: Final[Share] = {}


class SeenMembers:
    """`was_stable` tells whether the group was Stable at these epochs at the look before this one, too."""

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
        """Begin a look; return the members that are not as they were, all of them where the group or a topic is another.

        With another target those are looked at as well that have its epoch or are ahead of it: what holds of those behind it rests on no epoch but theirs.
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
        """Tell of each member whether it is another than before; of a group that is not the same all are."""
        before, members = self._last_look, group.members
        self._last_look = ids, standings, shares = list(members), list(map(_STANDING, members.values())), list(map(group.target.get, members))
        if not is_same:
            return iter([True] * len(ids))
        if ids == before[0]:
            return map(or_, map(ne, standings, before[1]), map(is_not, shares, before[2]))
        stood = dict(zip(before[0], zip(*before[1:], strict=True), strict=True))
        return map(ne, zip(standings, shares, strict=True), map(stood.get, ids))

    def take(self, member: ConsumerMember) -> Iterator[tuple[TopicIdPartition, str]]:
        """Note what a member has and is to give up; yield what another has, too, with that one's id."""
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
        """Tell whether what a member has or is to give up is another than what was noted of it."""
        noted = self._owned.get(member.member_id)
        return noted is not None and not (noted[0] is member.assigned and noted[1] is member.pending)


class SeenTarget:
    """Who is to have each partition, by the newest target that was looked at."""

    def __init__(self) -> None:
        self._shares: dict[str, Share] = {}
        self._owners: dict[TopicIdPartition, str] = {}
        self._topics: Mapping[str, TopicImage] = {}
        self._wanted: frozenset[TopicIdPartition] = frozenset()

    def take(self, target: Mapping[str, Share]) -> Iterator[tuple[TopicIdPartition, str, str]]:
        """Look at the shares that are others than before; yield what is for two members, with both."""
        before, owners = self._shares, self._owners
        self._shares = shares = dict(target)
        changed = list(compress(shares, map(is_not, shares.values(), map(before.get, shares))))
        for member_id in (*(before.keys() - shares.keys()), *changed):
            _free(owners, _listed(before.get(member_id, _NO_SHARE)), member_id)
        for member_id in changed:
            for partition, other in _take(owners, _listed(shares[member_id]), member_id):
                yield partition, member_id, other

    def missing(self, topics: Mapping[str, TopicImage]) -> frozenset[TopicIdPartition]:
        """Return the partitions of the topics that are for nobody."""
        if topics != self._topics:
            self._topics = topics
            self._wanted = frozenset((topic.topic_id, index) for topic in topics.values() for index in range(topic.partitions))
        return self._wanted.difference(self._owners)


def _take(owners: dict[TopicIdPartition, str], partitions: Collection[TopicIdPartition], member_id: str) -> Collection[tuple[TopicIdPartition, str]]:
    """Let a member have what nobody has of them; return the others, with those who have them."""
    if owners.keys().isdisjoint(partitions):  # as nearly always: all at once
        owners.update(dict.fromkeys(partitions, member_id))
        return ()
    others = [(partition, owners.setdefault(partition, member_id)) for partition in partitions]
    return [(partition, other) for partition, other in others if other != member_id]


def _free(owners: dict[TopicIdPartition, str], partitions: Collection[TopicIdPartition], member_id: str) -> None:
    """Let nobody have what this member has of them."""
    for partition in compress(partitions, map(eq, map(owners.get, partitions), repeat(member_id))):
        del owners[partition]


def _listed(share: Share) -> list[TopicIdPartition]:
    listed: list[TopicIdPartition] = []
    for topic_id, indexes in share.items():
        listed += zip(repeat(topic_id), indexes)
    return listed

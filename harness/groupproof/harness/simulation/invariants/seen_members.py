"""The members of a consumer group as they were when it was looked at last: what holds of a member is looked at again where something that it rests on has changed.

The coordinator never changes what it has given a member in place: an assignment, what is pending, a target are other objects when they are others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from groupproof.coordinator.machine.consumer.consumer_members import partitions_of
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerState

if TYPE_CHECKING:
    from groupproof.clients.member.consumer.epoch_core import TopicIdPartition
    from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
    from groupproof.coordinator.machine.consumer.consumer_members import ConsumerMember

__all__ = ["SeenMembers"]


class SeenMembers:
    """`was_stable` tells whether the group was Stable at these epochs at the look before this one, too."""

    def __init__(self) -> None:
        self.was_stable = False
        self._is_stable = False
        self._group: ConsumerGroup | None = None
        self._whole: tuple[Any, ...] = ()
        self._members: dict[str, tuple[Any, ...]] = {}
        self._owners: dict[TopicIdPartition, str] = {}
        self._owned: dict[str, set[TopicIdPartition]] = {}

    def changed(self, group: ConsumerGroup) -> list[ConsumerMember]:
        """Begin a look; return the members that are not as they were, all of them where the group, an epoch or a topic is another."""
        whole = (group.generation, group.assignment_epoch, group.topics)
        if group is not self._group or whole != self._whole:
            self._members.clear()
            self._is_stable = False
        self._group, self._whole = group, whole
        self.was_stable, self._is_stable = self._is_stable, group.state is ConsumerState.STABLE
        members, targets, changed = self._members, group.target, []
        for member_id, member in group.members.items():
            now = (member.epoch, member.progress, member.assigned, member.pending, member.names, targets.get(member_id))
            if members.get(member_id) != now:
                members[member_id] = now
                changed.append(member)
        for member_id in [name for name in self._owned if name not in group.members]:
            self._let_go(member_id)
            members.pop(member_id, None)
        for member in changed:
            self._let_go(member.member_id)
        return changed

    def take(self, member: ConsumerMember) -> Iterator[tuple[TopicIdPartition, str]]:
        """Note what a member has and is to give up; yield what another has, too, with that one's id."""
        owners, member_id = self._owners, member.member_id
        owned = self._owned[member_id] = partitions_of(member.assigned) | partitions_of(member.pending)
        for partition in owned:
            other = owners.setdefault(partition, member_id)
            if other != member_id:
                yield partition, other

    def _let_go(self, member_id: str) -> None:
        for partition in self._owned.pop(member_id, ()):
            if self._owners.get(partition) == member_id:
                del self._owners[partition]

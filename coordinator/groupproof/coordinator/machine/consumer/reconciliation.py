"""A member's next step towards its target: revoke, acknowledge, then get the free partitions (Kafka's `CurrentAssignmentBuilder`). Pure.

KIP-848: a partition goes to its new owner only after the old one gave it up. A member's epoch advances only when it has nothing left to revoke.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Set
from typing import TYPE_CHECKING, NamedTuple

from groupproof.coordinator.machine.consumer.consumer_members import MemberProgress

if TYPE_CHECKING:
    from groupproof.coordinator.machine.consumer.consumer_members import Assigned, ConsumerMember

__all__ = ["Reconciler", "Step"]

STABLE = MemberProgress.STABLE
UNREVOKED = MemberProgress.UNREVOKED_PARTITIONS
UNRELEASED = MemberProgress.UNRELEASED_PARTITIONS
UNKNOWN = MemberProgress.UNKNOWN


class Step(NamedTuple):
    """The member's state after the step."""

    progress: MemberProgress
    epoch: int
    assigned: Assigned
    pending: Assigned


class Reconciler(NamedTuple):
    """The inputs of a step besides the member.

    `owned` are the partitions that the member reports, by topic id; None where it reports nothing. `is_owned` returns whether a partition has an
    owner. `subscribed` are the ids of the member's topics, None in releases that ignore them (before 4.2); `enforces` says that the subscription has
    just changed. Releases differ in two points. `keeps_epoch`: the acknowledgement of an outdated revocation keeps the epoch (since 4.2).
    `frees_own`: a member can get a partition that it has just given up itself (not in 4.1).
    """

    target: Mapping[str, Collection[int]]
    target_epoch: int
    owned: Mapping[str, Set[int]] | None
    is_owned: Callable[[str, int], bool]
    subscribed: Set[str] | None = None
    enforces: bool = False
    keeps_epoch: bool = True
    frees_own: bool = True

    def step(self, member: ConsumerMember) -> Step | None:
        """Return the next step, None where the member does not change."""
        if member.progress is STABLE:
            if member.epoch != self.target_epoch:
                return self._next(member, member.epoch)
            return self._shrunk(member) if self.enforces else None
        if member.progress is UNRELEASED:
            return self._next(member, member.epoch)
        if member.progress is UNKNOWN:  # it has given up everything: a member that has not is fenced earlier (CGL-16)
            return self._next(member, self.target_epoch)
        if self._owns_any(member.pending):
            return self._shrunk(member) if self.enforces else None
        # Up to 4.1 the acknowledgement increments the member's epoch by one, regardless of the next target's epoch (CGR-17).
        return self._next(member, member.epoch if self.keeps_epoch else member.epoch + 1)

    def _owns_any(self, partitions: Assigned) -> bool:
        """Return whether the member still reports one of the partitions. A member that reports nothing may own them all (CGR-04)."""
        if self.owned is None:
            return True
        return any(not self.owned.get(topic_id, frozenset()).isdisjoint(indexes) for topic_id, indexes in partitions.items())

    def _shrunk(self, member: ConsumerMember) -> Step | None:
        """Revoke the topics that the member has just unsubscribed from, before a target without them exists (CGR-23)."""
        if self.subscribed is None or member.assigned.keys() <= self.subscribed:
            return None
        assigned = {topic_id: indexes for topic_id, indexes in member.assigned.items() if topic_id in self.subscribed}
        pending = _merged(member.pending, {topic_id: indexes for topic_id, indexes in member.assigned.items() if topic_id not in self.subscribed})
        if self._owns_any(pending):
            return Step(UNREVOKED, member.epoch, assigned, pending)
        return Step(member.progress, member.epoch, assigned, member.pending)

    def _next(self, member: ConsumerMember, epoch: int) -> Step:
        assigned: dict[str, Mapping[int, int]] = {}
        pending: dict[str, Mapping[int, int]] = {}
        gained: dict[str, list[int]] = {}
        lacks_some = False
        for topic_id in {**self.target, **member.assigned}:
            target = self._target_of(topic_id)
            own = member.assigned.get(topic_id, {})
            if kept := {index: since for index, since in own.items() if index in target}:
                assigned[topic_id] = kept
            if lost := {index: since for index, since in own.items() if index not in target}:
                pending[topic_id] = lost
            awaited = sorted(target.difference(own))
            free = [index for index in awaited if self._is_free(member, topic_id, index)]
            lacks_some = lacks_some or len(free) < len(awaited)
            if free:
                gained[topic_id] = free
        if pending and self._owns_any(pending):
            return Step(UNREVOKED, epoch, assigned, pending)
        for topic_id, indexes in gained.items():
            assigned[topic_id] = {**assigned.get(topic_id, {}), **dict.fromkeys(indexes, self.target_epoch)}
        return Step(UNRELEASED if lacks_some else STABLE, self.target_epoch, assigned, {})

    def _target_of(self, topic_id: str) -> frozenset[int]:
        """Return the member's share of a topic: nothing where it no longer subscribes to the topic (CGR-25)."""
        if self.subscribed is not None and topic_id not in self.subscribed:
            return frozenset()
        return frozenset(self.target.get(topic_id, ()))

    def _is_free(self, member: ConsumerMember, topic_id: str, index: int) -> bool:
        if not self.is_owned(topic_id, index):
            return True
        return self.frees_own and index in member.pending.get(topic_id, {})


def _merged(one: Assigned, other: Assigned) -> Assigned:
    return {topic_id: {**one.get(topic_id, {}), **other.get(topic_id, {})} for topic_id in {**one, **other}}

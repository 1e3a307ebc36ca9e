"""Ownership from the members' view: no partition has two owners in one generation, and none survives an eager join (ASSIGN-09, CLIENT-62).

A member that the group has dropped cannot know that it lost its partitions: only members of one generation are compared.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from groupproof.clients.member.member import Member
from groupproof.clients.outputs import Callback, CallbackKind
from groupproof.harness.simulation.settings import InvariantBroken
from groupproof.protocol.vocabulary import COOPERATIVE_STICKY, TopicPartition

if TYPE_CHECKING:
    from groupproof.harness.simulation.invariants.generations import Generation

__all__ = ["Ownership"]


class Ownership:
    """The owners according to the callbacks, and the generation of each process's last assignment.

    A generation that was joined and never synced does not count: it was never stored, and the next tenure may use its number again.
    """

    def __init__(self) -> None:
        self._holders: dict[TopicPartition, dict[str, None]] = {}
        self._held: dict[str, set[TopicPartition]] = {}
        self._synced: dict[str, int] = {}

    def synced(self, name: str, generation: int) -> None:
        """Record that a process got its assignment."""
        self._synced[name] = generation

    def called(self, name: str, callback: Callback) -> None:
        """Apply a callback at its start (assigned) or its end (revoked, lost)."""
        for partition in callback.partitions:
            if callback.kind is CallbackKind.ASSIGNED:
                self._take(name, partition, callback.generation)
            else:
                self._give(name, partition)

    def _take(self, name: str, partition: TopicPartition, generation: int) -> None:
        holders = self._holders.setdefault(partition, {})
        for other in holders:
            if other != name and self._synced.get(other) == generation:
                raise InvariantBroken(
                    "ASSIGN-09", f"{name} was given {_partition_text(partition)} in generation {generation}, in which {other} owns it"
                )
        holders[name] = None
        self._held.setdefault(name, set()).add(partition)

    def _give(self, name: str, partition: TopicPartition) -> None:
        self._holders.get(partition, {}).pop(name, None)
        self._held.get(name, set()).discard(partition)

    def gone(self, name: str) -> None:
        """Record that a process ended and owns nothing."""
        self._synced.pop(name, None)
        for partition in self._held.pop(name, set()):
            self._holders[partition].pop(name, None)

    def joins(self, name: str, member: Member) -> None:
        """Check a member that sends JoinGroup: an eager one must have revoked everything.

        Java's client is eager if its list has an eager assignor (ConsumerCoordinator), franz-go if its group agreed on one (handleJoinResp).
        """
        may_keep = all(assignor == COOPERATIVE_STICKY for assignor in member.settings.assignors)
        if member.policy.cooperative_where == "agreed":
            may_keep = member.protocol == COOPERATIVE_STICKY
        if member.owned and not may_keep:
            raise InvariantBroken("CLIENT-62", f"{name} joins with {len(member.owned)} partitions still in hand")

    def assigned(self, generation: Generation) -> None:
        """Check a leader's assignment: no partition twice."""
        counts = Counter(generation.assigned)
        twice = [partition for partition, times in counts.items() if times > 1]
        if twice:
            raise InvariantBroken(
                "ASSIGN-09", f"the leader of generation {generation.number} assigned {_partition_text(twice[0])} to {counts[twice[0]]} members"
            )


def _partition_text(partition: TopicPartition) -> str:
    return f"{partition[0]}-{partition[1]}"

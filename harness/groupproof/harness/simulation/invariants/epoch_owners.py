"""Ownership, as the members of a consumer group see it: no partition in two hands of members that the coordinator has (CGI-10).

It is `NoDoubleClientAssignment` of the public TLA+ model of KIP-848. A member that was removed cannot know that it lost its partitions: it is not compared.
Nor is a partition that a member was given and did not name in a report since. The report can be the late acknowledgement of an assignment before. Kafka takes it for
one that the member does not have (`CurrentAssignmentBuilder.ownsRevokedPartitions`), and gives the partition on while the member takes it. In the model no report is late.
Members of the classic protocol are not compared either: decision 30 says where Kafka's own rules give two of them one partition for a while.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from groupproof.harness.simulation.invariants.one_owner import Ownership
from groupproof.harness.simulation.settings import InvariantBroken
from groupproof.protocol.vocabulary import TopicPartition

if TYPE_CHECKING:
    from groupproof.clients.member.member import Member
    from groupproof.harness.simulation.invariants.epoch_member_invariants import EpochMemberInvariants

__all__ = ["EpochOwners"]


class EpochOwners(Ownership):
    """Who holds what, by the callbacks. `live` returns the ids of the members that take part.

    `views` are what is followed of each process that speaks the protocol, `forgiven` counts the partitions with two owners that a late report explains.
    """

    def __init__(self, live: Callable[[], Collection[str]]) -> None:
        super().__init__()
        self._live = live
        self.views: dict[str, EpochMemberInvariants] = {}
        self.forgiven = 0

    def joins(self, name: str, member: Member) -> None:
        """Leave a classic member alone: what it has to give back its own dialect's simulation looks at."""

    def _take(self, name: str, partition: TopicPartition, generation: int) -> None:
        holders = self._holders.setdefault(partition, {})
        for other in holders:
            if other != name:
                self._compare(name, other, partition)
        holders[name] = None
        self._held.setdefault(name, set()).add(partition)

    def _compare(self, name: str, other: str, partition: TopicPartition) -> None:
        views = [self.views[owner] for owner in (name, other) if owner in self.views]
        live = self._live()
        if len(views) < 2 or any(not view.epoch or view.member_id not in live for view in views):
            return
        if any(partition in view.unsaid for view in views):
            self.forgiven += 1
            return
        raise InvariantBroken("CGI-10", f"NoDoubleClientAssignment: {name} takes {partition[0]}-{partition[1]}, which {other} has still")

"""Ownership from the members' view in a consumer group: no partition has two owners among the coordinator's members (CGI-10).

It is `NoDoubleClientAssignment` of the public TLA+ model of KIP-848. A removed member cannot know that it lost its partitions, so it is not compared.
A partition that was assigned to a member and is missing in its later report is not compared either. That report can be the late acknowledgement
of an earlier assignment. Kafka then treats the partition as not owned (`CurrentAssignmentBuilder.ownsRevokedPartitions`) and assigns it to another
member, while the first one accepts it. In the model no report is late. Members of the classic protocol are not compared: decision 30
describes where Kafka's own rules assign one partition to two of them for a while.
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
    """The owners according to the callbacks. `live` returns the ids of the members that take part.

    `views` are the invariants of each process that speaks the protocol. `forgiven` counts partitions with two owners that a late report explains.
    """

    def __init__(self, live: Callable[[], Collection[str]]) -> None:
        super().__init__()
        self._live = live
        self.views: dict[str, EpochMemberInvariants] = {}
        self.forgiven = 0

    def joins(self, name: str, member: Member) -> None:
        """Skip a classic member: the simulation of its own dialect checks what it must revoke."""

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

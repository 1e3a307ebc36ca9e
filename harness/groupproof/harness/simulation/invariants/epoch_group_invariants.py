"""All invariants of a consumer group, checked at each event that changes it: the public TLA+ model of KIP-848 and the catalogue.

The model is Vanlightly/kafka-tlaplus, consumer_group_protocol_kip_848_v2; its invariants keep their names. `EventuallyConverges` is the settlement
of the simulation, `NoDoubleClientAssignment` is in `epoch_owners`, `ClientSideMemberEpochIsMonotonic` in `epoch_member_invariants`. The rest is
here. A group with classic members only is not checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from itertools import repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from groupproof.clients.member.consumer.epoch_core import TopicIdPartition
from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup, Share
from groupproof.coordinator.machine.consumer.consumer_members import AWAY, LEFT, Assigned, ConsumerMember, MemberProgress, partitions_of
from groupproof.harness.simulation.invariants.checked_members import CheckedMembers, CheckedTarget
from groupproof.harness.simulation.invariants.epoch_owners import EpochOwners
from groupproof.harness.simulation.invariants.simulated_invariants import SimulatedInvariants
from groupproof.harness.simulation.settings import GROUP, InvariantBroken
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerState
from groupproof.protocol.wire.consumer_messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from groupproof.protocol.wire.messages import JoinGroupResponse

if TYPE_CHECKING:
    from groupproof.coordinator.machine.coordinator import Coordinator, Reply, Transition
    from groupproof.harness.simulation.pending_request import PendingRequest

__all__ = ["EpochGroupInvariants"]

_ENDS_WITH_THE_TARGET: Final = (4, 2)
"""Up to 4.1 an acknowledgement of an outdated assignment advances a member by one epoch, which may be that of the next target (CGI-09)."""


class _MemberPartitions:
    """The partitions of one member id. `held` stay held until the member reports otherwise; `share` is the newest assignment."""

    __slots__ = ("epoch", "held", "share")

    def __init__(self) -> None:
        self.epoch = 0
        self.held: set[TopicIdPartition] = set()
        self.share: set[TopicIdPartition] = set()


_HELD: Final = attrgetter("held")


class EpochGroupInvariants(SimulatedInvariants):
    """The invariants of a consumer group, across all its coordinators. Raise `InvariantBroken` at the event that breaks one."""

    def __init__(self, release: tuple[int, ...]) -> None:
        self.ownership = EpochOwners(self._present)
        self.machine: Coordinator
        self._ends_with_the_target = release >= _ENDS_WITH_THE_TARGET
        self._members: dict[str, _MemberPartitions] = {}
        self._refused_leaves: set[str] = set()
        self._epoch = 0
        self._target_epoch = -1
        self._is_moved = False
        self._heard_ms: dict[str, int] = {}  # unused here: the machine says when a session ends
        self._checked_members, self._checked_target = CheckedMembers(), CheckedTarget()

    # Events

    def led_by(self, machine: Coordinator) -> None:
        self.machine = machine
        self._refused_leaves.clear()  # a loaded member has a session

    def moved(self, move: Transition) -> None:
        self._is_moved = True

    def answered(self, reply: Reply, pending: PendingRequest | None) -> None:
        if pending is None:
            raise InvariantBroken("INV-10", "a request is answered twice")
        message: Any = reply.message
        if type(message) is ConsumerGroupHeartbeatResponse:
            self._beaten(pending.request, message)
        elif type(message) is JoinGroupResponse:
            self._is_moved = True

    def hearing(self, request: Any) -> dict[str, int] | None:
        """Return where to record a heartbeat that repeats what is known. An answer without news then changes nothing."""
        if type(request) is not ConsumerGroupHeartbeatRequest or self._is_moved or request.member_id in self._refused_leaves:
            return None
        member = self._members.get(request.member_id)
        return None if member is None or member.epoch != request.member_epoch else self._heard_ms

    def repeats(self, request: Any, answer: Any) -> None:
        self._beaten(request, answer)
        self.settled(None)

    def settled(self, pending: PendingRequest | None) -> None:
        if self._is_moved:
            self._is_moved = False
            group = self.group()
            if group is None:
                self._epoch = 0
            else:
                self._look_at(group)

    def _present(self) -> set[str]:
        """Return the ids of the members that take part. A static member that left temporarily (-2) is excluded: its application may not know yet."""
        group = self.group()
        here = self.machine.member_ids(GROUP)
        return set(here) if group is None else {member_id for member_id in here if not group.members[member_id].is_away}

    def group(self) -> ConsumerGroup | None:
        """Return the group, or None if it is not of this dialect."""
        group = self.machine.group(GROUP)
        return group if isinstance(group, ConsumerGroup) else None

    def ghosts(self) -> Set[str]:
        """Return the ids of members whose leave was not written. They are still members (CGL-15), and no timer may remove them.

        Kafka cancels the session with the leave, and a refused write does not restore the timer (`GroupMetadataManager.consumerGroupFenceMember`,
        `CoordinatorRuntime`). Such a member stays until it heartbeats again or its group is loaded again.
        """
        return self._refused_leaves.intersection(self.machine.member_ids(GROUP))

    # Heartbeats

    def _beaten(self, asked: Any, answer: Any) -> None:
        if answer.error_code:
            if asked.member_epoch == LEFT:
                self._refused_leaves.add(asked.member_id)
            return
        self._refused_leaves.discard(asked.member_id)
        if asked.member_epoch < 0:
            self._leaves(asked.member_id, asked.member_epoch)
            return
        member_id = answer.member_id or asked.member_id
        member = self._members.get(member_id)
        if member is None:
            member = self._members[member_id] = _MemberPartitions()
        if answer.member_epoch == member.epoch == asked.member_epoch and answer.assignment is None and asked.topic_partitions is None:
            return  # the usual case: neither side carried anything
        if asked.member_epoch == 0:
            member.epoch, member.held, member.share = 0, set(), set()
        if answer.member_epoch < member.epoch:
            raise InvariantBroken("CGI-03", f"GcSideMemberEpochIsMonotonic: {member_id} goes from epoch {member.epoch} to {answer.member_epoch}")
        self._is_moved |= answer.member_epoch != member.epoch or answer.assignment is not None
        member.epoch = answer.member_epoch
        if answer.assignment is not None:
            self._hand_over(member_id, member, _listed(answer.assignment.topic_partitions))
        if asked.topic_partitions is not None:  # a partition that is neither reported nor assigned is free (CGI-10)
            member.held &= _listed(asked.topic_partitions) | member.share

    def _leaves(self, member_id: str, epoch: int) -> None:
        self._is_moved = True
        if epoch == LEFT:
            self._members.pop(member_id, None)
        elif epoch == AWAY and member_id in self._members:
            self._members[member_id].held = set(self._members[member_id].share)

    def _hand_over(self, member_id: str, member: _MemberPartitions, share: set[TopicIdPartition]) -> None:
        """Check that assigned partitions were released: a partition is held until a report lacks it, or its member is removed."""
        gained = share - member.held
        if gained:
            members = self._members
            for other in members.keys() - set(self.machine.member_ids(GROUP)) - {member_id}:
                del members[other]
            if not all(map(gained.isdisjoint, map(_HELD, members.values()))):  # its own partitions are excluded
                other, both = next((other, both) for other, place in members.items() if (both := place.held & gained))
                raise InvariantBroken("CGI-10", f"{member_id} is given {_partitions_text(both)}, which {other} has not released")
        member.share = share
        member.held |= share

    # The group

    def _look_at(self, group: ConsumerGroup) -> None:
        for requirement, name, sentence in self._broken(group):
            raise InvariantBroken(requirement, f"{name}: {sentence}")
        self._epoch = group.generation if group.members else 0

    def _broken(self, group: ConsumerGroup) -> Iterator[tuple[str, str, str]]:
        if group.generation < self._epoch:
            yield "CGI-04", "the group epoch is monotonic", f"it goes from {self._epoch} to {group.generation}"
        if group.assignment_epoch > group.generation:
            yield "CGI-05", "the target is of no future epoch", f"{group.assignment_epoch} of {group.generation}"
        if self._target_epoch != group.assignment_epoch == group.generation:  # a leaving member's share is gone until the next target
            self._target_epoch = group.assignment_epoch
            yield from self._illegal_target(group)
        changed = self._checked_members.changed(group)
        yield from self._invalid_members(group, changed)
        if group.state is ConsumerState.STABLE:
            yield from self._unstable(group, changed if self._checked_members.was_stable else group.members.values())

    def _illegal_target(self, group: ConsumerGroup) -> Iterator[tuple[str, str, str]]:
        last_target = self._checked_target
        for (topic_id, index), member_id, other in last_target.take(group.target):
            yield "CGI-11", "LegalTargetAssignment", f"{index} of {topic_id} is for {member_id} and for {other}"
        if (
            group.members and group.assigned_ms is not None and (missing := last_target.missing(group.topics))
        ):  # the share of a classic group may be incomplete
            yield "CGI-11", "LegalTargetAssignment", f"nobody is to have {_partitions_text(missing)}"

    def _invalid_members(self, group: ConsumerGroup, members: Iterable[ConsumerMember]) -> Iterator[tuple[str, str, str]]:
        for member in members:
            if member.epoch > group.assignment_epoch:
                yield "CGI-06", "no member is ahead of the target", f"{member.member_id} is at {member.epoch}, the target at {group.assignment_epoch}"
            if _is_since_no_epoch(member.assigned) or _is_since_no_epoch(member.pending):
                yield "CGI-02", "ValidPartitionEpoch", f"{member.member_id} has a partition since no epoch"
            for partition, other in self._checked_members.take(member):
                yield "CGI-02", "one owner of a partition at an epoch", f"{member.member_id} and {other} have {_partitions_text({partition})}"
            if member.epoch == group.assignment_epoch and self._ends_with_the_target and not self._is_within(group, member):
                yield "CGI-08", "ValidMemberEpoch", f"{member.member_id} has reached epoch {member.epoch} with partitions that are another's"

    @staticmethod
    def _is_within(group: ConsumerGroup, member: ConsumerMember) -> bool:
        """Return whether a member has at most its share. Partitions of a topic that it dropped are revoked even before a new target (CGR-23)."""
        share = group.target.get(member.member_id, {})
        if not member.pending and _is_share(member.assigned, share):
            return True
        subscribed = {group.topics[name].topic_id for name in member.names if name in group.topics}
        is_more = any(not indexes.keys() <= set(share.get(topic_id, ())) for topic_id, indexes in member.assigned.items())
        return not is_more and subscribed.isdisjoint(member.pending)

    @staticmethod
    def _unstable(group: ConsumerGroup, members: Iterable[ConsumerMember]) -> Iterator[tuple[str, str, str]]:
        for member in members:
            is_stable = member.progress is MemberProgress.STABLE and member.epoch == group.assignment_epoch == group.generation
            share = group.target.get(member.member_id, {})
            if (
                not is_stable
                or member.pending
                or not (_is_share(member.assigned, share) or partitions_of(member.assigned) == _partitions_of_share(share))
            ):
                yield (
                    "CGI-12",
                    "ValidStableGroupState",
                    f"{member.member_id} is at epoch {member.epoch} of {group.generation}, {member.progress.value}",
                )


def _is_since_no_epoch(assigned: Assigned) -> bool:
    """Return whether a partition has no epoch of its assignment."""
    for indexes in assigned.values():  # noqa: SIM110  # `any` costs more than the one or two that it looks at
        if min(indexes.values(), default=1) <= 0:
            return True
    return False


def _is_share(assigned: Assigned, share: Share) -> bool:
    """Return whether `assigned` equals `share`, topic by topic. A topic without partitions makes them differ."""
    return assigned.keys() == share.keys() and all(assigned[topic_id].keys() == set(indexes) for topic_id, indexes in share.items())


def _partitions_of_share(share: Share) -> set[TopicIdPartition]:
    return {(topic_id, index) for topic_id, indexes in share.items() for index in indexes}


def _listed(topics: Any) -> set[TopicIdPartition]:
    found: set[TopicIdPartition] = set()
    for topic in topics:
        found.update(zip(repeat(topic.topic_id), topic.partitions))
    return found


def _partitions_text(partitions: Set[TopicIdPartition]) -> str:
    topic_id, index = min(partitions)
    return f"{index} of {topic_id}" + (f" and {len(partitions) - 1} more" if len(partitions) > 1 else "")

"""All invariants of a classic group, checked at each event. This module passes the events of brokers and members to the checkers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from groupproof.coordinator.machine.coordinator import Coordinator, Reply, Transition
from groupproof.harness.simulation.heap import Heap
from groupproof.harness.simulation.invariants.committed_offsets import Offsets
from groupproof.harness.simulation.invariants.generations import Generations
from groupproof.harness.simulation.invariants.one_answer import Answering
from groupproof.harness.simulation.invariants.one_owner import Ownership
from groupproof.harness.simulation.invariants.rebalance_deadlines import Deadlines, Timeouts
from groupproof.harness.simulation.invariants.simulated_invariants import SimulatedInvariants
from groupproof.protocol.vocabulary import GroupState
from groupproof.protocol.wire.messages import OffsetCommitResponse, OffsetFetchResponse, SyncGroupRequest

if TYPE_CHECKING:
    from groupproof.harness.simulation.pending_request import PendingRequest

__all__ = ["Invariants"]

_ABOUT_OFFSETS: Final = frozenset({OffsetCommitResponse, OffsetFetchResponse})


class Invariants(SimulatedInvariants):
    """The invariants of a classic group. Raise `InvariantBroken` at the event that breaks one."""

    def __init__(
        self, heap: Heap, timeouts: Timeouts, *, retention_ms: int, answers_the_removed: bool, answers_the_unloaded: bool, takes_late: bool
    ) -> None:
        self.generations = Generations(takes_late=takes_late)
        self.answering = Answering(answers_the_removed=answers_the_removed, answers_the_unloaded=answers_the_unloaded)
        self.deadlines = Deadlines(timeouts, heap, self.answering, self.generations)
        self.offsets = Offsets(heap, self.generations, retention_ms)
        self.ownership = Ownership()

    def led_by(self, machine: Coordinator) -> None:
        self.generations.led_by(machine)
        self.answering.led_in(self.generations.state)
        self.deadlines.led_by(machine, self.generations.state)

    def unloaded(self, *, drops: bool) -> None:
        self.generations.unloaded()
        self.answering.unloaded(drops=drops)
        self.deadlines.unloaded()

    def processing(self, token: int, pending: PendingRequest) -> None:
        self.answering.processing(token)
        self.generations.asked_in = self.generations.state
        if type(pending.request) is SyncGroupRequest:
            self.generations.syncs(pending.request)

    def answered(self, reply: Reply, pending: PendingRequest | None) -> None:
        was_parked = self.answering.answered(reply, pending)
        assert pending is not None, "an answer without a request is a violation already"
        self.generations.answered(reply.message, pending)
        self.deadlines.answered(reply.message, pending, was_parked=was_parked)
        if type(reply.message) in _ABOUT_OFFSETS:
            self.offsets.answered(reply.message, pending)

    def hearing(self, request: Any) -> dict[str, int] | None:
        current, deadlines = self.generations.current, self.deadlines
        is_well = request.generation_id == current.number and request.member_id in current.members and not deadlines.has_moved
        return deadlines.heard_ms if is_well else None

    def moved(self, move: Transition) -> None:
        self.generations.moved(move)
        self.answering.moved(move)
        self.deadlines.moved(move)
        self.offsets.moved(move)
        if move.after is GroupState.STABLE:
            self.ownership.assigned(self.generations.current)

    def settled(self, pending: PendingRequest | None) -> None:
        self.answering.settled(pending, self.deadlines.member_ids)
        self.deadlines.settled(None if pending is None else pending.request)

    def stands_still(self) -> None:
        self.deadlines.stands_still()

    def goes_on(self) -> None:
        self.deadlines.goes_on()

"""The interface of a dialect's invariants: they get every event of a simulation, and raise `InvariantBroken` at the one that breaks them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groupproof.coordinator.machine.coordinator import Coordinator, Reply, Transition
    from groupproof.harness.simulation.pending_request import PendingRequest
    from groupproof.protocol.wire.messages import GroupRequest, GroupResponse

__all__ = ["SimulatedInvariants"]


class SimulatedInvariants:
    """Accepts every event. A dialect overrides the methods that it checks."""

    def led_by(self, machine: Coordinator) -> None:
        """Begin a tenure: the group is loaded, and this machine is its coordinator."""

    def unloaded(self, *, drops: bool) -> None:
        """End the tenure. Unless it `drops` them, all parked requests have been answered."""

    def processing(self, token: int, pending: PendingRequest) -> None:
        """Check a request before the machine processes it."""

    def answered(self, reply: Reply, pending: PendingRequest | None) -> None:
        """Check an answer. None: the request was answered before."""

    def hearing(self, request: GroupRequest) -> dict[str, int] | None:
        """Return the record of times at which members were heard of, if a repeated answer breaks no invariant and needs no check.

        Otherwise return None.
        """
        return None

    def repeats(self, request: GroupRequest, answer: GroupResponse) -> None:
        """Check an answer that repeats the last one, when a connection first carries it. Later repeats are the same object."""

    def moved(self, move: Transition) -> None:
        """Check a transition of the group."""

    def settled(self, pending: PendingRequest | None) -> None:
        """Check the state after a request, or (None) after a timer."""

    def stands_still(self) -> None:
        """Record that the group's broker is stopped from now on."""

    def goes_on(self) -> None:
        """Record that the broker continues, or is gone permanently."""

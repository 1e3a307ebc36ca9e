"""What a simulation holds a group to, whatever dialect it speaks: the laws of a dialect hear of every event, and raise `InvariantBroken` at the one that breaks them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groupproof.coordinator.machine.coordinator import Coordinator, Reply, Transition
    from groupproof.harness.simulation.pending_request import PendingRequest
    from groupproof.protocol.wire.messages import GroupRequest, GroupResponse

__all__ = ["SimulatedInvariants"]


class SimulatedInvariants:
    """Hears everything, and objects to nothing; a dialect's has what it looks at."""

    def led_by(self, machine: Coordinator) -> None:
        """Begin a tenure: the group is loaded, and its coordinator is this machine."""

    def unloaded(self, *, drops: bool) -> None:
        """End the tenure; unless it `drops` them, all parked requests have their answers by now."""

    def taken_up(self, token: int, pending: PendingRequest) -> None:
        """Look at a request before the machine does."""

    def answered(self, reply: Reply, pending: PendingRequest | None) -> None:
        """Look at an answer; None: to a request that has one already."""

    def hearing(self, request: GroupRequest) -> dict[str, int] | None:
        """Return where to note when the member of a request was heard of, if an answer as the one before breaks no law and leaves nothing to look at; else None."""
        return None

    def repeats(self, request: GroupRequest, answer: GroupResponse) -> None:
        """Look at an answer as the one before, when it comes over a connection for the first time; the next will be the same object."""

    def moved(self, move: Transition) -> None:
        """Look at a transition of the group."""

    def settled(self, pending: PendingRequest | None) -> None:
        """Look at what is left after a request, or (None) after a timer."""

    def stands_still(self) -> None:
        """Take note that the group's broker does nothing from now on."""

    def goes_on(self) -> None:
        """Take note that it goes on, or is gone for good."""

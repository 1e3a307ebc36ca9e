"""The pair of Managers in virtual time: two coordinator machines, of which one is active (MGR-33, TIMER-28). Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from groupproof.coordinator.machine.coordinator import Coordinator, Reply, Settings, Transition
from groupproof.coordinator.machine.machine_outputs import Arrival, GroupView, Output
from groupproof.coordinator.machine.storage import StoredGroups
from groupproof.coordinator.machine.variant import REFERENCE, Variant
from groupproof.harness.simulation.heap import Heap
from groupproof.harness.simulation.random_streams import Streams
from groupproof.protocol.rules.datalink.datalink_dialect import ManagerKind
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.messages import Coordinator as Told
from groupproof.protocol.wire.messages import FindCoordinatorRequest, FindCoordinatorResponse, GroupRequest, GroupResponse

__all__ = ["VERSION", "ManagerPair"]

VERSION: Final = 1
"""The version of JoinGroup that workers speak; of every other API it is 0, which no rule here asks."""
_NODES: Final = (0, 1)
Deliver = Callable[[GroupResponse | None], None]
"""Takes the answer, or None when the connection ended without it."""


class ManagerPair:
    """Two nodes of one profile; `switch` hands over from the active one to the other, which starts without groups."""

    def __init__(self, heap: Heap, streams: Streams, *, profile: str, variant: Variant = REFERENCE) -> None:
        self._heap = heap
        self._machines = [
            Coordinator(
                profile=profile, settings=Settings.of({}, profile), random=streams.named("member ids", node), node_id=node,
                partitions=[0] if node == 0 else [], variant=variant,
            )
            for node in _NODES
        ]  # fmt: skip
        self.active: int | None = 0
        self.transitions: list[tuple[int, Transition]] = []
        self._waiting: dict[object, Deliver] = {}
        self._down: set[int] = set()
        self._wakes_ms: list[int | None] = [None, None]

    def arrive(self, node: int, message: GroupRequest, arrival: Arrival, deliver: Deliver) -> None:
        """Take a request up at a node; `deliver` gets the answer, now or later."""
        if node in self._down:
            deliver(None)
        elif isinstance(message, FindCoordinatorRequest):
            deliver(FindCoordinatorResponse(coordinators=(self._group_of(message.coordinator_keys[0]),)))
        else:
            self._waiting[arrival.token] = deliver
            self._put_out(self._machines[node].handle(message, arrival, self._heap.now_ms))
            self._schedule_next_timer(node)

    def switch(self, without_ms: int = 0, *, ends: bool = True) -> None:
        """Make the other Manager active after `without_ms`, in which none is; the one that was so `ends`, or stays as the standby.

        One that ends breaks its connections. One that stays leaves what it has parked without an answer, as clearGroupMetaInfo does.
        """
        assert self.active is not None, "a switch begins with an active Manager"
        before, self.active = self.active, None
        self._put_out(self._machines[before].unload(0, self._heap.now_ms))
        waiting, self._waiting = list(self._waiting.values()), {}
        if ends:
            self._down = {before}
            for deliver in waiting:
                deliver(None)
        self._heap.after(without_ms, self._activate, 1 - before)

    def restore(self) -> None:
        """Let a Manager that ended be back, as the standby."""
        self._down = set()

    def force(self, group: str) -> None:
        """Do what an operator asks for (TR-128); without an active Manager there is nobody to ask."""
        if self.active is not None:
            self._put_out(self._machines[self.active].operate(ManagerKind.FORCED, group, self._heap.now_ms))
            self._schedule_next_timer(self.active)

    def view(self, group: str) -> GroupView | None:
        return None if self.active is None else self._machines[self.active].view(group)

    def generations(self) -> int:
        """Return how many generations there were, of all groups and both Managers."""
        return sum(moved.after.value == "CompletingRebalance" for _, moved in self.transitions)

    def _activate(self, node: int) -> None:
        self.active = node
        self._down.discard(node)
        self._put_out(self._machines[node].load(0, StoredGroups(), self._heap.now_ms))

    def _group_of(self, group: str) -> Told:
        if self.active is None:
            return Told(key=group, error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return Told(key=group, node_id=self.active, host=f"manager-{self.active}", port=8899)

    def _put_out(self, outputs: Sequence[Output]) -> None:
        for output in outputs:
            if isinstance(output, Reply):
                deliver = self._waiting.pop(output.token, None)
                if deliver is not None:
                    deliver(output.message)
            elif isinstance(output, Transition):
                self.transitions.append((self._heap.now_ms, output))

    def _schedule_next_timer(self, node: int) -> None:
        due_ms = self._machines[node].next_deadline_ms()
        known_ms = self._wakes_ms[node]
        if due_ms is not None and (known_ms is None or due_ms < known_ms):
            self._wakes_ms[node] = due_ms
            self._heap.at(max(due_ms, self._heap.now_ms), self._wake, node, due_ms)

    def _wake(self, node: int, due_ms: int) -> None:
        if self._wakes_ms[node] == due_ms:
            self._wakes_ms[node] = None
            self._put_out(self._machines[node].advance(self._heap.now_ms))
            self._schedule_next_timer(node)

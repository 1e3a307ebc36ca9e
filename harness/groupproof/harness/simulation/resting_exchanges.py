"""A fast path for heartbeats of resting members: they are sent, processed and answered as on the normal path, without steps that cannot apply.

Each of its three events checks the conditions and falls back to the normal path if one fails. The heap, the random draws, the digest
and the invariants are the same on both paths.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from groupproof.clients.member.resting_beats import LANE

if TYPE_CHECKING:
    from groupproof.harness.simulation.client_process import Process
    from groupproof.harness.simulation.heap import Heap
    from groupproof.harness.simulation.simulated_brokers import Brokers
    from groupproof.harness.simulation.simulated_network import Connection, Network

__all__ = ["RestingExchanges", "RestingMember"]


class RestingMember(Protocol):
    """A member that may rest. Its heartbeat is then `message`, to the broker `node_id`."""

    message: Any
    node_id: int

    def until_ms(self, now_ms: int) -> int: ...

    def beat(self, now_ms: int) -> int: ...

    def answered(self, request_id: int, answer: Any, now_ms: int) -> bool: ...


class RestingExchanges:
    """Carries heartbeats through the network to brokers and back, if there is no observer."""

    def __init__(self, heap: Heap, network: Network, brokers: Brokers) -> None:
        self._heap, self._network, self._brokers = heap, network, brokers
        self._draw, self._latency_ms = network.draw, network.latency_ms

    def send(self, process: Process, resting: RestingMember, now_ms: int) -> bool:
        """Send the heartbeat of a resting member. Return False without a change if it needs the normal path."""
        network = self._network
        connection = network.open[process.name].get((resting.node_id, LANE))
        if connection is None or connection.is_reset:
            return False
        path = connection.path
        if path.slow_ms or path.silent_out or path.is_unordered:
            return False
        request_id = resting.beat(now_ms)
        connection.waiting[request_id] = None
        at_ms = now_ms + 1 + int(self._draw() * self._latency_ms)
        if at_ms < connection.out_ms:
            at_ms = connection.out_ms
        else:
            connection.out_ms = at_ms
        self._heap.put(at_ms, self._arrived, (process, resting, connection, request_id, resting.message))
        return True

    def _arrived(self, process: Process, resting: RestingMember, connection: Connection, request_id: int, request: Any) -> None:
        if connection.is_reset:
            return
        path, heap = connection.path, self._heap
        now_ms = heap.now_ms
        if (
            connection.in_process is not None or not connection.is_open or path.slow_ms or path.silent_back or path.is_unordered or path.repeats
            or (answer := self._brokers.repeat(connection, request, request.member_id, now_ms)) is None
        ):  # fmt: skip
            self._brokers.arrive(connection, request_id, request)
            return
        at_ms = now_ms + 1 + int(self._draw() * self._latency_ms)
        if at_ms < connection.back_ms:
            at_ms = connection.back_ms
        else:
            connection.back_ms = at_ms
        heap.put(at_ms, self._came_back, (process, resting, connection, request_id, answer))

    def _came_back(self, process: Process, resting: RestingMember, connection: Connection, request_id: int, answer: Any) -> None:
        if connection.is_open and not process.is_frozen and resting.answered(request_id, answer, self._heap.now_ms):
            del connection.waiting[request_id]
        else:
            self._network.come_back(connection, request_id, answer)

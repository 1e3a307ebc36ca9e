"""A consumer's process as the world sees it, and the heap on which things happen to it."""

from __future__ import annotations

from heapq import heappop

from groupproof.clients.relatives.zookeeper.consumer_machine import ConsumerMachine
from groupproof.coordinator.relatives.zookeeper.tree import WatchFired
from groupproof.harness.simulation.heap import Heap
from groupproof.protocol.relatives.zookeeper_messages import Operation

__all__ = ["Member", "Microseconds"]


class Microseconds(Heap):
    """Its times are in microseconds here."""

    def step(self) -> bool:
        """Let the next thing happen; tell whether there was one."""
        if not self._heap:
            return False
        self.now_ms, _, act, arguments = heappop(self._heap)
        act(*arguments)
        return True

    @property
    def next_us(self) -> int | None:
        return self._heap[0][0] if self._heap else None


class Member:
    """One consumer process and its connection.

    `line` counts connections: what was sent on an old one is lost. `has_heard`: the client knows that its session is over;
    `missed` are events that were under way when the connection was lost.
    """

    __slots__ = (
        "asked",
        "has_heard",
        "is_busy",
        "is_cut",
        "is_dead",
        "is_up",
        "line",
        "machine",
        "missed",
        "name",
        "server",
        "session_id",
        "tick_us",
        "way_us",
    )

    def __init__(self, name: str, machine: ConsumerMachine, *, server: int, way_us: int) -> None:
        self.name = name
        self.machine = machine
        self.server = server
        self.way_us = way_us
        self.session_id = 0
        self.line = 0
        self.asked: dict[int, Operation] = {}
        self.tick_us: int | None = None
        self.missed: list[WatchFired] = []
        self.is_busy = self.is_cut = self.is_dead = self.is_up = self.has_heard = False

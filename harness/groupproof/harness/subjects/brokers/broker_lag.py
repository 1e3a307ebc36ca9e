"""Measures the lag of a cluster under test, by Heartbeats of an unknown member on connections of the kit's own.

If they are answered late, all answers and timers of the broker are late; the running cases get that into their traces.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import trio

from groupproof.harness.subjects.brokers.cluster_map import BrokerAddress, ClusterMap, beat_of_nobody
from groupproof.harness.subjects.networks.request_connection import GONE, NoCommonVersion

__all__ = ["SLOW_MS", "LagReporter"]

PERIOD_S: Final = 0.1
LOOK_S: Final = 0.25
SLOW_MS: Final = 100.0
"""From this delay on, an answer counts as late."""

AGAIN_S: Final = 1.0

OnSlow = Callable[[float], None]


class LagReporter:
    """Reports each late answer to its listeners, in milliseconds of lateness; an outstanding answer repeatedly, with its lateness so far."""

    def __init__(self, where: ClusterMap, group: str) -> None:
        self.worst_ms = 0.0
        self._where = where
        self._group = group
        self._listeners: list[OnSlow] = []
        self._asked_at: dict[int, float] = {}

    def listen(self, listener: OnSlow) -> Callable[[], None]:
        """Call `listener` with each lateness; return the function that ends it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def run(self) -> None:
        """Send Heartbeats to every broker until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._look)
            for node in self._where.nodes:
                nursery.start_soon(self._feel, node)

    async def _look(self) -> None:
        while True:
            await trio.sleep(LOOK_S)
            for asked_at in tuple(self._asked_at.values()):
                self._tell(trio.current_time() - asked_at)

    async def _feel(self, node: BrokerAddress) -> None:
        """Send Heartbeats to one broker. One that is gone is tried again later: a case may have stopped it."""
        while True:
            try:
                await self._beats(node)
            except (*GONE, NoCommonVersion):
                self._asked_at.pop(node.node_id, None)
                await trio.sleep(AGAIN_S)

    async def _beats(self, node: BrokerAddress) -> None:
        stream = await self._where.cluster.connect(node.host, node.port)
        try:
            asker = self._where.asker(stream)
            while True:
                await trio.sleep(PERIOD_S)
                await asker.until_free()
                began = self._asked_at[node.node_id] = trio.current_time()
                await beat_of_nobody(asker, self._group)
                self._asked_at.pop(node.node_id, None)
                self._tell(trio.current_time() - began)
        finally:
            await trio.aclose_forcefully(stream)

    def _tell(self, late_s: float) -> None:
        late_ms = late_s * 1000
        if late_ms >= SLOW_MS:
            self.worst_ms = max(self.worst_ms, late_ms)
            for listener in tuple(self._listeners):
                listener(late_ms)

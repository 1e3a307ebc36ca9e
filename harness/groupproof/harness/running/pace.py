"""Finds during the run how many cases the host can run at once without being late.

A member costs a Java client next to nothing and a client in pure Python a few per cent of a core, so no fixed number fits. The pace starts
with a few and adds one for each quiet moment. When the canary is late, it holds back a third, before a verdict suffers.
"""

from __future__ import annotations

import math
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

from groupproof.harness.running.canary import Canary

__all__ = ["LATE_MS", "Pace"]

LATE_MS = 50.0
"""A lag that reduces the cases at once. A lag of `judging.LAG_MS_MAX` would cost verdicts."""

BREATH_S = 0.05
"""How often one more may start, and how long the canary must have been quiet before."""

CALM_S = 0.5
"""The minimum time between two reductions: lags come in bursts that have one cause."""

SHARE_KEPT = 2 / 3


def _fewest() -> int:
    return 2 * (os.cpu_count() or 1)


class Pace:
    """Allows up to `jobs` runs at once; from the start if there is no canary (virtual time) or it `is_eager`."""

    def __init__(self, jobs: int, canary: Canary | None = None, *, is_eager: bool = False) -> None:
        self._jobs = jobs
        self._canary = canary
        self._fewest = min(jobs, _fewest())
        self.allowed = jobs if canary is None or is_eager else self._fewest
        self.running = 0
        self._stepped_back_at = -math.inf
        self._waiting = trio.lowlevel.ParkingLot()

    async def run(self) -> None:
        """Follow the canary until cancelled."""
        if self._canary is None:
            return
        stop = self._canary.listen(self._lagged)
        try:
            while True:
                await trio.sleep(BREATH_S)
                self._breathe(self._canary)
        finally:
            stop()

    def _breathe(self, canary: Canary) -> None:
        quiet_s = trio.current_time() - canary.last_at
        if quiet_s >= BREATH_S and self.allowed < self._jobs and self.running >= self.allowed:
            self.allowed += 1
            self._waiting.unpark()

    def _lagged(self, source: str, lag_ms: float) -> None:
        now = trio.current_time()
        if lag_ms >= LATE_MS and now - self._stepped_back_at >= CALM_S:
            self._stepped_back_at = now
            self.allowed = max(self._fewest, int(min(self.allowed, self.running) * SHARE_KEPT))

    async def enter(self) -> None:
        """Wait until one more run is allowed. Each `enter` needs a `leave`."""
        while self.running >= self.allowed:
            await self._waiting.park()
        self.running += 1

    def leave(self) -> None:
        self.running -= 1
        self._waiting.unpark()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        await self.enter()
        try:
            yield
        finally:
            self.leave()

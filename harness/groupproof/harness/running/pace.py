"""How many cases run at once: as many as the machine bears without being late, found while it runs.

A member costs a Java client next to nothing and a client in pure Python a few per cent of a core, so no fixed number fits. From a few on,
one more is let in for each quiet moment, and a third of them is held back when the canary was late, before any verdict suffers by it.
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
"""A lag that calls for fewer cases at once; at `judging.LAG_MS_MAX` it would cost verdicts."""

BREATH_S = 0.1
"""How often one more may come in, and how long the canary must have been quiet for it."""

CALM_S = 0.5
"""How long after a step back the next is taken: lags come in flocks and have one cause."""

SHARE_KEPT = 2 / 3


def _fewest() -> int:
    return 2 * (os.cpu_count() or 1)


class Pace:
    """Lets up to `jobs` runs in; without a canary (virtual time), or where it `is_eager`, that many from the start."""

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
        """Wait until one more may run; whoever enters must leave."""
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

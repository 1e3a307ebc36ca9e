"""`--hold`: a case waits for a person with a debugger, while the kit's time stands still.

Time stops when a shim has started and before its client is made. Enter resumes it, and Enter again stops it. While it is stopped, no session
ends at the coordinator and no wait of the plan runs out. The kit cannot stop the client's own clock.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable

import trio

from groupproof.harness.model.case import Case
from groupproof.harness.running.plans.member_control import Actor

__all__ = ["Hold", "StoppableClock"]

_CHUNK = 4096


class StoppableClock(trio.abc.Clock):
    """The host's monotonic time minus the time for which it was stopped, in seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._behind = 0.0
        self._stopped_at: float | None = None

    @property
    def is_stopped(self) -> bool:
        return self._stopped_at is not None

    def stop(self) -> None:
        if self._stopped_at is None:
            self._stopped_at = self._now()

    def resume(self) -> None:
        if self._stopped_at is not None:
            self._behind += self._now() - self._stopped_at
            self._stopped_at = None

    def start_clock(self) -> None:
        """Do nothing: the host's clock already runs."""

    def current_time(self) -> float:
        return (self._now() if self._stopped_at is None else self._stopped_at) - self._behind

    def deadline_to_sleep_time(self, deadline: float) -> float:
        left = deadline - self.current_time()
        return math.inf if left > 0 and self.is_stopped else left


class Hold:
    """Stops `clock` when a process under test starts, and then reads the keyboard, the file descriptor `keys`."""

    def __init__(self, say: Callable[[str], None], keys: int = 0) -> None:
        self.clock = StoppableClock()
        self._say = say
        self._keys = keys
        self._is_armed = False
        self._is_deaf = False
        self._going = trio.Event()

    async def on_started(self, case: Case, actor: Actor) -> None:
        """Print how to find the shim of `actor`, and wait for Enter. Members in this process need no debugger of their own."""
        handle = actor.handle
        if handle is None or handle.pid is None:
            return
        self._say(f"{case.id}: {actor.name} is process {handle.pid}: {handle.line}")
        if self._is_deaf:
            return
        self._is_armed = True
        self.stop()
        while self.clock.is_stopped:
            await self._going.wait()

    def stop(self) -> None:
        self.clock.stop()
        self._going = trio.Event()
        self._say("time is stopped; press Enter to let it run, and Enter again to stop it")

    def resume(self) -> None:
        self.clock.resume()
        self._going.set()
        self._say("time runs")

    async def mind_keyboard(self) -> None:
        """Stop or resume time at each Enter after the first start. Where nobody can press a key, resume it for good."""
        try:
            while read := await self._read():
                for _ in range(read.count(b"\n") if self._is_armed else 0):
                    (self.resume if self.clock.is_stopped else self.stop)()
        except OSError:  # a file or /dev/null, which can't be waited for
            pass
        self._is_deaf = True
        if self.clock.is_stopped:
            self.resume()

    async def _read(self) -> bytes:
        await trio.lowlevel.wait_readable(self._keys)
        return os.read(self._keys, _CHUNK)

"""Two canaries, in this process's loop and in a child process. While they are late, no lateness counts against the subject.

The child only sleeps and prints each late wake-up. It exits when its parent does.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from contextlib import suppress
from subprocess import DEVNULL, PIPE

import trio

from groupproof.harness.judging.lag import LAG_MS_MAX
from groupproof.harness.subjects.shims.shim_process import lines_of
from groupproof.protocol.trace import Recorder

__all__ = ["Canary", "watch_lags"]

PERIOD_S = 0.025
# Lags below the limit are reported too, so that code that starts processes can wait before the limit is reached.
REPORTED_MS = 30.0

_CHILD = """
import os, sys, time
parent, period, told = os.getppid(), float(sys.argv[1]), float(sys.argv[2])
while os.getppid() == parent:
    slept = time.monotonic()
    time.sleep(period)
    lag = (time.monotonic() - slept - period) * 1000
    if lag >= told:
        print(round(lag, 1), flush=True)
"""

OnLag = Callable[[str, float], None]


class Canary:
    """Reports each lag of at least `REPORTED_MS` to its listeners, with the source: loop or child.

    `worst_ms` is the longest lag so far; `last_at` is the time of the newest report on trio's clock, in seconds.
    """

    def __init__(self) -> None:
        self.worst_ms = 0.0
        self.last_at = -math.inf
        self._listeners: list[OnLag] = []

    def listen(self, listener: OnLag) -> Callable[[], None]:
        """Call `listener` with each lag; return the function that removes it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def tell(self, source: str, lag_ms: float) -> None:
        self.worst_ms = max(self.worst_ms, lag_ms)
        self.last_at = trio.current_time()
        for listener in tuple(self._listeners):
            listener(source, lag_ms)

    async def run(self) -> None:
        """Watch until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch_loop)
            nursery.start_soon(self._watch_child)

    async def _watch_loop(self) -> None:
        while True:
            slept = trio.current_time()
            await trio.sleep(PERIOD_S)
            lag_ms = (trio.current_time() - slept - PERIOD_S) * 1000
            if lag_ms >= REPORTED_MS:
                self.tell("loop", lag_ms)

    async def _watch_child(self) -> None:
        argv = [sys.executable, "-I", "-S", "-c", _CHILD, str(PERIOD_S), str(REPORTED_MS)]
        child = await trio.lowlevel.open_process(argv, stdout=PIPE, stderr=DEVNULL, stdin=DEVNULL)
        assert child.stdout is not None
        try:
            async for line in lines_of(child.stdout):
                self.tell("child", float(line))
        finally:
            with suppress(ProcessLookupError):
                child.kill()
            with trio.CancelScope(shield=True):
                await child.wait()
                await child.stdout.aclose()


def watch_lags(canary: Canary | None, recorder: Recorder) -> Callable[[], None]:
    """Record the canary's lags of at least `LAG_MS_MAX`; return the function that stops it."""
    if canary is None:
        return lambda: None

    def record(source: str, lag_ms: float) -> None:
        if lag_ms >= LAG_MS_MAX:
            recorder.record("event", who="kit", body={"name": "lag", "source": source, "lag_ms": round(lag_ms, 1)})

    return canary.listen(record)

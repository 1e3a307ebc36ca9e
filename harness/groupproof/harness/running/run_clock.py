"""The clock of a recorded run: nanoseconds since its start, in trio's time, which may be virtual."""

from __future__ import annotations

from collections.abc import Callable

import trio

__all__ = ["clock_from_now"]


def clock_from_now() -> Callable[[], int]:
    now = trio.lowlevel.current_clock().current_time
    began = now()
    return lambda: round((now() - began) * 1e9)

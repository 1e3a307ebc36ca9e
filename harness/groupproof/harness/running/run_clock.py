"""The clock of a recorded run: nanoseconds from its start, virtual where trio's clock is."""

from __future__ import annotations

from collections.abc import Callable

import trio

__all__ = ["clock_from_now"]


def clock_from_now() -> Callable[[], int]:
    began = trio.current_time()
    return lambda: round((trio.current_time() - began) * 1e9)

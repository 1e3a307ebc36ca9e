"""Keeps the garbage collector's pauses short while a run lasts.

All traces stay in memory until the report is written. A full collection looks through every one of them while the loop stands still, for
a fifth of a second on two cores: long enough to make answers late and verdicts INCONCLUSIVE. So what is there to stay is set aside.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["LONG_LIVED", "rare_pauses", "set_aside", "short_pauses"]

LONG_LIVED: Final = (20_000, 20, 50)
"""Objects before each round of the collector where most of them stay for as long as the program runs, as those of a thousand members do. With Python's own
numbers it takes half of the processor time, of who hosts the members and of who serves them, and nearly all that it looks at is still in use."""


@contextmanager
def short_pauses() -> Iterator[None]:
    """Set aside what is loaded so far; at the end the collector is as it was."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def rare_pauses(*threshold: int) -> Iterator[None]:
    """Collect as seldom as `gc.set_threshold` asks here; at the end the collector is as it was."""
    before = gc.get_threshold()
    gc.set_threshold(*threshold)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def set_aside() -> None:
    """Let no collection look through what is alive now. Costs nothing: the collector moves it all at once."""
    gc.freeze()

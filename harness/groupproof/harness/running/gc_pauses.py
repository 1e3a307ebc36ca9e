"""Keeps the garbage collector's pauses short during a run.

All traces stay in memory until the report is written. A full collection walks all of them while the loop stands still, for
a fifth of a second on two cores. That makes answers late and verdicts INCONCLUSIVE. So long-lived objects are frozen.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["LONG_LIVED", "rare_pauses", "set_aside", "short_pauses"]

LONG_LIVED: Final = (20_000, 20, 50)
"""The collector's thresholds where most objects live as long as the program, such as those of a thousand members. With Python's defaults
it takes half of the processor time, on the members' side and the servers' side, and nearly all objects that it walks are still in use."""


@contextmanager
def short_pauses() -> Iterator[None]:
    """Freeze the objects loaded so far; restore the collector at the end."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def rare_pauses(*threshold: int) -> Iterator[None]:
    """Set the collector's thresholds (`gc.set_threshold`); restore them at the end."""
    before = gc.get_threshold()
    gc.set_threshold(*threshold)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def set_aside() -> None:
    """Exclude all live objects from collections. This costs nothing: the collector moves them all at once."""
    gc.freeze()

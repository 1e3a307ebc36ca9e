"""Shrinks a failing input (delta debugging): tries smaller inputs, many side by side, while the same failure shows. Pure but for `attempt`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeVar

__all__ = ["Attempt", "shrink"]

T = TypeVar("T")
Attempt = Callable[[Sequence[T]], Awaitable[Sequence[bool]]]
"""Returns for each input whether it still shows the failure."""


def _nothing(_: Any, __: Any) -> tuple[()]:
    return ()


async def shrink(
    failing: T,
    tiers: Sequence[Callable[[T], Iterable[T]]],
    attempt: Attempt[T],
    size_of: Callable[[T], tuple[int, ...]],
    *,
    together: Callable[[T, Sequence[T]], Iterable[T]] = _nothing,
    keep: Callable[[T], None] = lambda _: None,
) -> T:
    """Return the smallest input found that still shows the failure; `keep` gets each one on the way.

    A tier yields smaller inputs. One that shows the failure is shrunk further in the same tier; when none does, the next tier begins. `together`
    combines inputs that showed it one by one: a round takes as long as its slowest attempt, so one round should remove as much as possible.
    """
    rest = list(tiers)
    while rest:
        found = sorted(await _proven(rest[0](failing), attempt), key=size_of)
        if not found:
            del rest[0]
            continue
        combined = await _proven((attempt for attempt in together(failing, found) if size_of(attempt) < size_of(found[0])), attempt)
        failing = min([*combined, found[0]], key=size_of)
        keep(failing)
    return failing


async def _proven(candidates: Iterable[T], attempt: Attempt[T]) -> list[T]:
    tried = list(candidates)
    shows = await attempt(tried) if tried else ()
    return [attempt for attempt, does in zip(tried, shows, strict=True) if does]

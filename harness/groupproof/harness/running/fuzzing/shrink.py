"""A failing input made small (delta debugging): ever smaller inputs are tried, many side by side, for as long as the same failure shows. Pure but for `attempt`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeVar

__all__ = ["Attempt", "shrink"]

T = TypeVar("T")
Attempt = Callable[[Sequence[T]], Awaitable[Sequence[bool]]]
"""Tells of each input whether it still shows the failure."""


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
    """Return the smallest input that was found to show the failure still; `keep` takes each one on the way.

    A tier yields smaller inputs; one that shows the failure is carried on with in the same tier, and the next begins when none does. `together` combines
    what showed it one by one: a round takes as long as its slowest attempt, so that what can be left out at once should be.
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

"""Rebalances that took long or ended without an assignment, as far as the offsets topic shows them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from groupproof.harness.judging.topic_history.logged_groups import CLASSIC, Commit, LoggedGroup, LoggedRebalance

__all__ = ["HALT_MS", "PAUSES", "begun", "halted", "halts_of", "unassigned"]

HALT_MS: Final = 60_000
"""A rebalance halted a partition that was not committed for this time (ms) until its end,"""

PAUSES: Final = 3
"""if that is this many times the pause between its last commits. With few records, commits are rare."""


def halted(group: LoggedGroup, at_ms: int) -> tuple[int, int]:
    """Return how many partitions were halted until a generation was stored at `at_ms`, and the longest time (ms). Partitions without earlier
    commits do not count."""
    silent = [at_ms - commit.at_ms for partition in group.owned if (commit := group.commits.get(partition)) is not None and _is_long(commit, at_ms)]
    return len(silent), max(silent, default=0)


def _is_long(commit: Commit, at_ms: int) -> bool:
    return at_ms - commit.at_ms >= max(HALT_MS, PAUSES * commit.pause_ms) and commit.pause_ms > 0


def begun(recent: Sequence[LoggedRebalance], since_ms: int) -> int:
    """Return how many rebalances began since then, including those without an assignment."""
    return sum(1 + rebalance.unassigned for rebalance in recent if rebalance.at_ms >= since_ms)


def unassigned(recent: Sequence[LoggedRebalance]) -> int:
    """Return how many generations got no assignment: their number was skipped, and no record was removed from the log at that place."""
    return sum(rebalance.unassigned for rebalance in recent)


def halts_of(group: LoggedGroup, recent: Sequence[LoggedRebalance], now_ms: int) -> Iterator[str]:
    """Yield what halts the group, or halted it for long, a clause each."""
    for rebalance in recent:
        partitions, halted_ms = rebalance.halted
        if partitions:
            yield f"{partitions} partitions stood still for {halted_ms // 1_000} s until generation {rebalance.generation}"
    yield from _unsettled(recent, now_ms)
    since_ms = group.rebalancing_since_ms
    if since_ms is not None and now_ms - since_ms >= HALT_MS:
        yield f"rebalances since {(now_ms - since_ms) // 1_000} s, as its coordinator says, and comes to no generation"


def _unsettled(recent: Sequence[LoggedRebalance], now_ms: int) -> Iterator[str]:
    """Yield how long members of the newer protocols took to reach their targets. An epoch that the next one overtakes counts with that one."""
    first: LoggedRebalance | None = None
    for rebalance in (*recent, None):
        if rebalance is not None and rebalance.protocol == CLASSIC:
            continue
        if first is None:
            first = rebalance
        if first is None or (rebalance is not None and rebalance.settled_ms is None):
            continue
        last = rebalance or recent[-1]
        lasted_ms = (last.settled_ms or now_ms) - first.at_ms
        if lasted_ms >= HALT_MS:
            waits = f": {last.holder} held what it was to give up" if last.holder else ""
            epochs = f"epoch {first.generation}" if first is last else f"epochs {first.generation} to {last.generation}"
            yield f"{epochs} took {lasted_ms // 1_000} s{waits}"
        first = None

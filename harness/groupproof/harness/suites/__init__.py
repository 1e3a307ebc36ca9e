"""The client cases, by area."""

from __future__ import annotations

from typing import Final

from groupproof.harness.case import Case
from groupproof.harness.suites import (
    assignor,
    commit,
    commit_course,
    commit_repeats,
    cooperative,
    fetch,
    find,
    heartbeat,
    join,
    leading,
    leave,
    link,
    move,
    poll,
    rebalance,
    static,
    sync,
    waiting,
)

__all__ = ["CASES"]

CASES: Final[tuple[Case, ...]] = (
    *find.CASES,
    *join.CASES,
    *sync.CASES,
    *heartbeat.CASES,
    *poll.CASES,
    *commit.CASES,
    *commit_course.CASES,
    *commit_repeats.CASES,
    *fetch.CASES,
    *leave.CASES,
    *static.CASES,
    *cooperative.CASES,
    *rebalance.CASES,
    *assignor.CASES,
    *leading.CASES,
    *move.CASES,
    *link.CASES,
    *waiting.CASES,
)
"""Every client case, in the order in which reports list them."""

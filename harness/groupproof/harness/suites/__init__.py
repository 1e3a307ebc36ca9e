"""The client cases, by area."""

from __future__ import annotations

from typing import Final

from groupproof.harness.case import Case
from groupproof.harness.suites import (
    assignor,
    commit,
    commit_course,
    cooperative,
    fetch,
    find,
    heartbeat,
    join,
    leave,
    link,
    move,
    poll,
    rebalance,
    static,
    sync,
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
    *fetch.CASES,
    *leave.CASES,
    *static.CASES,
    *cooperative.CASES,
    *rebalance.CASES,
    *assignor.CASES,
    *move.CASES,
    *link.CASES,
)
"""Every client case, in the order in which reports list them."""

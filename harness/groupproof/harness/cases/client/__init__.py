"""The client cases, by area."""

from __future__ import annotations

from typing import Final

from groupproof.harness.cases.client import (
    assignor,
    commit,
    commit_moments,
    commit_repeats,
    cooperative,
    fetch,
    find,
    heartbeat,
    join,
    leader,
    leave,
    link,
    move,
    poll,
    rebalance,
    slow_answers,
    static,
    sync,
)
from groupproof.harness.model.case import Case

__all__ = ["CASES"]

CASES: Final[tuple[Case, ...]] = (
    *find.CASES,
    *join.CASES,
    *sync.CASES,
    *heartbeat.CASES,
    *poll.CASES,
    *commit.CASES,
    *commit_moments.CASES,
    *commit_repeats.CASES,
    *fetch.CASES,
    *leave.CASES,
    *static.CASES,
    *cooperative.CASES,
    *rebalance.CASES,
    *assignor.CASES,
    *leader.CASES,
    *move.CASES,
    *link.CASES,
    *slow_answers.CASES,
)
"""Every client case, in the order in which reports list them."""

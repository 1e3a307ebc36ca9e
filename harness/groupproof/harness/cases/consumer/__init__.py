"""The cases of the consumer dialect (KIP-848), for clients that speak it."""

from __future__ import annotations

from typing import Final

from groupproof.harness.cases.consumer import commit, heartbeat, join, leave, migration, move, poll, rebalance, regex, subscription
from groupproof.harness.model.case import Case

__all__ = ["CONSUMER_CASES"]

CONSUMER_CASES: Final[tuple[Case, ...]] = (
    *join.CASES, *heartbeat.CASES, *poll.CASES, *rebalance.CASES, *subscription.CASES, *commit.CASES, *leave.CASES, *regex.CASES, *move.CASES, *migration.CASES,
)  # fmt: skip
"""Every case of the dialect, in the order in which reports list them."""

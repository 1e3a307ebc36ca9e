"""All queries, in the order of the page. The code that runs, writes and draws them uses this list."""

from __future__ import annotations

from typing import Final

from groupproof.chaos.spark.analysis.commit_queries import COMMITS, REQUESTS, ZOMBIES
from groupproof.chaos.spark.analysis.member_queries import EXPIRIES, HEARTBEATS, JOINERS
from groupproof.chaos.spark.analysis.owner_queries import NO_OWNER, TWO_OWNERS
from groupproof.chaos.spark.analysis.query import Query
from groupproof.chaos.spark.analysis.rebalance_queries import GENERATION_GAPS, REBALANCES, STORMS
from groupproof.chaos.spark.analysis.stream_queries import STREAM

__all__ = ["QUERIES"]

QUERIES: Final[tuple[Query, ...]] = (
    REBALANCES, STORMS, NO_OWNER, TWO_OWNERS, ZOMBIES, GENERATION_GAPS, EXPIRIES, JOINERS, COMMITS, HEARTBEATS, REQUESTS, STREAM,
)  # fmt: skip

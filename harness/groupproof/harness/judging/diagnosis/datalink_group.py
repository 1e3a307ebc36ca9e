"""Groups of DataLink's workers: the rebalances are a classic group's, but a Manager that is switched knows no group, and nothing delays the first. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from groupproof.harness.judging.diagnosis.causes import Cause, Certainty
from groupproof.harness.judging.diagnosis.rebalances import DATALINK, Rebalance

__all__ = ["as_datalink"]


def as_datalink(rebalances: Sequence[Rebalance]) -> list[Rebalance]:
    """Say of a group's rebalances what holds for DataLink: the first one with another Manager is the switch's (MGR-33)."""
    before: Rebalance | None = None
    for now in rebalances:
        now.protocol = DATALINK
        if now.is_initial:
            now.awaited_to_join = []  # there is no initial delay (IDJ-15)
        if before is not None and now.is_initial and now.node != before.node:
            now.cause, now.certainty = Cause.MOVED, Certainty.SEEN
        before = now
    return list(rebalances)

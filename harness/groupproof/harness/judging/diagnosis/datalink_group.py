"""Groups of DataLink's workers. They rebalance like classic groups, but a new Manager knows no group, and the first rebalance has no delay. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from groupproof.harness.judging.diagnosis.causes import Cause, Certainty
from groupproof.harness.judging.diagnosis.rebalances import DATALINK, Rebalance

__all__ = ["as_datalink"]


def as_datalink(rebalances: Sequence[Rebalance]) -> list[Rebalance]:
    """Change a group's rebalances to what holds for DataLink: the first one with another Manager is caused by the switch (MGR-33)."""
    before: Rebalance | None = None
    for now in rebalances:
        now.protocol = DATALINK
        if now.is_initial:
            now.awaited_to_join = []  # there is no initial delay (IDJ-15)
        if before is not None and now.is_initial and now.node != before.node:
            now.cause, now.certainty = Cause.MOVED, Certainty.SEEN
        before = now
    return list(rebalances)

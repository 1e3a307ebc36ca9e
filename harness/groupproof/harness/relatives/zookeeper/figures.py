"""The figures of one churn of a group on ZooKeeper: plain data, to JSON and back. `growth.grow(members, seed)` makes them.

    figures = grow(1_000, 1, churn="join")      # of harness.simulator.zookeeper.growth; pure, the same for the same arguments
    figures.requests, figures.watch_events, figures.stable_ms

Everything is counted from the churn (one member more, or one less) until the group is stable: every partition has its owner, every member is idle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

__all__ = ["Figures"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """`operations` counts ZooKeeper's requests by kind: create, delete, get, set, exists, children (pings are not counted).

    `rebalances` were begun, `attempts` made in them, `conflicts` are attempts that failed for another's owner node, `failures` rebalances given up.
    `stable_ms` is virtual time from the churn to the last owner node and fetcher, None where the group did not get there; `unowned` partitions are left
    then. `members` is the size before the churn; `churn` is `join`, `leave`, or `crash` (found by the session timeout).
    """

    members: int
    partitions: int
    seed: int
    churn: str
    operations: Mapping[str, int]
    watch_events: int
    rebalances: int
    attempts: int
    conflicts: int
    failures: int
    stable_ms: int | None
    unowned: int = 0

    @property
    def requests(self) -> int:
        """All of ZooKeeper's requests that the churn cost."""
        return sum(self.operations.values())

    def to_json(self) -> dict[str, Any]:
        return {**msgspec.to_builtins(self), "requests": self.requests}

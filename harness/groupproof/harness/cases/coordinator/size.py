"""A full group: group.max.size, and which member gets 81 (JOIN-56, TIMER-40)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from groupproof.harness.cases.coordinator.coordinator_case_builders import SMALL, Steps, alone, case, gathered, let_in, rejoined, synced
from groupproof.harness.model.case import Case
from groupproof.harness.model.script_builders import answered, beat, join, leave, stable, sync
from groupproof.harness.model.verdicts import Level

__all__ = ["CASES"]

_FULL = ("a", "b", "c")
_SHORT: Final[dict[str, Any]] = {"rebalance_timeout_ms": 3_000}
_WHO: Final = Level.SHOULD
"""The level of which surplus member is refused, and when: while no more join than allowed, the others may wait or do without."""


def _small(name: str, title: str, *steps: Steps, level: Level | None = None) -> Case:
    """Return a case of a full group, for brokers with MEMBER_ID_REQUIRED (2.2)."""
    made = case(f"size/{name}", title, ("JOIN-56", "TIMER-40", "ERR-20"), *steps, settings=SMALL, level=level, required=False)
    return replace(made, needs=made.needs | {"JoinGroup>=4"})


CASES: tuple[Case, ...] = (
    _small(
        "full-stable",
        "refuses one member more than group.max.size with 81 while the group is Stable, and no member hears of it",
        stable(*_FULL),
        join("d", wait=True, code=81),
        beat("a", code=0),
    ),
    _small(
        "full-completing",
        "refuses one member more than group.max.size with 81 between join and sync",
        gathered(*_FULL),
        join("d", wait=True, code=81),
        synced(*_FULL),
    ),
    _small(
        "full-direct",
        "refuses one member more with 81 also by a version without a round for the id",
        gathered(*_FULL, version=2),
        join("d", version=2, wait=True, code=81),
        join("d", version=2, wait=True, code=81, member_id=""),
        synced(*_FULL),
    ),
    _small(
        "last-of-the-pending",
        "takes in those who come back with their ids until the group is full, and refuses the next with 81",
        alone("a", **_SHORT),
        *(join(name, wait=True, code=79, **_SHORT) for name in ("b", "c", "d")),
        join("b", is_parked=True, **_SHORT),
        join("c", is_parked=True, **_SHORT),
        join("a", is_parked=True, **_SHORT),
        join("d", wait=True, code=81, **_SHORT),
        *(answered(f"join {name}", code=0) for name in _FULL),
        join("d", wait=True, code=81, **_SHORT),
        synced(*_FULL),
        level=_WHO,
    ),
    _small(
        "old-member-comes-last",
        "counts who waits: a member that joins again after the group was filled by newcomers is refused",
        alone("a"),
        *(join(name, wait=True, code=79) for name in ("b", "c", "d")),
        *(join(name, is_parked=True) for name in ("b", "c", "d")),
        join("a", wait=True),
        level=_WHO,
    ),
    _small(
        "waiting-members-are-counted-once",
        "lets those who wait join again, and counts nobody twice",
        stable(*_FULL),
        join("a", is_parked=True),
        join("b", is_parked=True),
        join("a", over="a/2", label="again", is_parked=True),
        join("c"),
        answered("again", code=0),
        let_in("b", "c"),
    ),
    _small(
        "members-rejoin-a-full-group",
        "lets the members of a full group join again",
        stable(*_FULL),
        join("b", wait=True, code=0),
        join("a", is_parked=True),
        join("b", is_parked=True),
        join("c"),
        *(answered(f"join {name}", code=0) for name in _FULL),
    ),
    _small(
        "place-becomes-free",
        "takes a newcomer in once a member of a full group has left",
        gathered(*_FULL),
        synced(*_FULL),
        join("d", wait=True, code=81),
        leave("c", code=0),
        join("d", wait=True, code=79, member_id=""),
        join("d", is_parked=True),
        join("a", is_parked=True),
        join("b"),
        *(answered(f"join {name}", code=0) for name in ("a", "b", "d")),
    ),
    _small(
        "full-static",
        "refuses one static member more with 81",
        rejoined("a", instance="i-a"),
        join("b", instance="i-b", is_parked=True),
        join("c", instance="i-c", is_parked=True),
        join("a", instance="i-a"),
        *(answered(f"join {name}", code=0) for name in _FULL),
        join("d", instance="i-d", wait=True, code=81),
        sync("a", {"a": [("t", 0)]}, instance="i-a", code=0),
    ),
    _small(
        "restart-in-a-full-group",
        "answers the restart of a static member of a full group as its release does: 81 before 4.3",
        rejoined("a", instance="i-a"),
        join("b", instance="i-b", is_parked=True),
        join("c", instance="i-c", is_parked=True),
        join("a", instance="i-a"),
        *(answered(f"join {name}", code=0) for name in _FULL),
        sync("a", {"a": [("t", 0)]}, instance="i-a", code=0),
        join("c2", instance="i-c", wait=True, code=81),
        beat("c", instance="i-c", code=0),
        level=_WHO,
    ),
)

"""The initial delay of an Empty group: its length, what extends it, and what ends it (IDJ-01 to IDJ-14)."""

from __future__ import annotations

from typing import Any, Final

from groupproof.harness.cases.coordinator.coordinator_case_builders import DELAYED, INITIAL_DELAY_MS, Steps, case, let_in, passing
from groupproof.harness.model.case import Case
from groupproof.harness.model.script import Pass
from groupproof.harness.model.script_builders import answered, beat, describe, join, joined, leave, sync

__all__ = ["CASES"]

_HALF: Final[Pass] = passing(INITIAL_DELAY_MS // 2)


def _delayed(name: str, title: str, requirements: tuple[str, ...], *steps: Steps, **options: Any) -> Case:
    return case(f"delay/{name}", title, requirements, *steps, settings=DELAYED, **options)


CASES: tuple[Case, ...] = (
    _delayed(
        "first-member-waits",
        "lets the first member of a group wait for the initial delay, and no longer",
        ("IDJ-01", "IDJ-02", "IDJ-04", "IDJ-07", "TR-001", "TR-052"),
        joined("a", is_parked=True),
        _HALF,
        answered("join a", code=0, within_ms=2_000),
        sync("a", {"a": [("t", 0)]}, code=0),
    ),
    _delayed(
        "is-preparing-meanwhile",
        "waits in PreparingRebalance; the generation has not begun",
        ("IDJ-01", "TR-001"),
        joined("a", is_parked=True),
        describe("x", code=0),
        beat("a", over="a/2", generation_id=0, code=27),
        answered("join a", code=0),
    ),
    _delayed(
        "newcomer-extends",
        "waits one delay more for a newcomer",
        ("IDJ-03", "TR-040", "TR-051"),
        joined("a", is_parked=True),
        _HALF,
        joined("b", is_parked=True),
        passing(INITIAL_DELAY_MS),
        let_in("a", "b"),
    ),
    _delayed(
        "two-extensions",
        "waits one delay more for each delay in which newcomers came",
        ("IDJ-03", "TR-051"),
        joined("a", is_parked=True),
        _HALF,
        joined("b", is_parked=True),
        passing(INITIAL_DELAY_MS),
        joined("c", is_parked=True),
        passing(INITIAL_DELAY_MS),
        *(answered(f"join {name}", code=0) for name in ("a", "b", "c")),
    ),
    _delayed(
        "newcomers-cost-one-rebalance",
        "takes everybody who comes within the delay into generation 1, led by the first",
        ("IDJ-10", "TIMER-21", "JOIN-05", "JOIN-13"),
        *(joined(name, is_parked=True) for name in ("a", "b", "c", "d", "e")),
        *(answered(f"join {name}", code=0) for name in ("a", "b", "c", "d", "e")),
        *(beat(name, generation_id=1, code=0) for name in ("a", "e")),
        sync("a", {"a": [("t", 0)], "b": [("t", 1)]}, code=0),
    ),
    _delayed(
        "repeated-join-extends-nothing",
        "waits no longer for a member that joins again",
        ("IDJ-09",),
        joined("a", is_parked=True),
        _HALF,
        join("a", over="a/2", label="again", is_parked=True),
        answered("again", code=0, within_ms=2_000),
    ),
    _delayed(
        "bounded-by-the-rebalance-timeout",
        "waits no longer than the rebalance timeout, however many newcomers come",
        ("IDJ-05", "IDJ-06", "TIMER-03", "TR-052"),
        joined("a", rebalance_timeout_ms=2 * INITIAL_DELAY_MS, is_parked=True),
        _HALF,
        joined("b", rebalance_timeout_ms=2 * INITIAL_DELAY_MS, is_parked=True),
        passing(INITIAL_DELAY_MS),
        joined("c", rebalance_timeout_ms=2 * INITIAL_DELAY_MS, is_parked=True),
        *(answered(f"join {name}", code=0, within_ms=3_000) for name in ("a", "b", "c")),
    ),
    _delayed(
        "longer-than-the-rebalance-timeout",
        "waits one whole delay where the rebalance timeout is shorter",
        ("IDJ-11",),
        joined("a", rebalance_timeout_ms=100, is_parked=True),
        _HALF,
        answered("join a", code=0, within_ms=2_000),
    ),
    _delayed(
        "rest-of-the-rebalance-timeout",
        "waits only for what is left of the rebalance timeout where that is less than a delay",
        ("IDJ-03", "IDJ-05"),
        joined("a", rebalance_timeout_ms=3 * INITIAL_DELAY_MS // 2, is_parked=True),
        _HALF,
        joined("b", rebalance_timeout_ms=3 * INITIAL_DELAY_MS // 2, is_parked=True),
        answered("join a", code=0, within_ms=3_000),
        answered("join b", code=0),
    ),
    _delayed(
        "leaver-ends-nothing",
        "keeps to the delay when a member leaves, and is Empty after it",
        ("IDJ-12", "TR-062", "TR-053"),
        joined("a", is_parked=True),
        leave("a", over="a/2", code=0),
        answered("join a", code=25, within_ms=2_000),
        describe("x", code=0),
        passing(2 * INITIAL_DELAY_MS),
        describe("x", code=0),
        joined("b", is_parked=True),
        answered("join b", code=0),
        beat("b", code=0),
    ),
    _delayed(
        "one-of-two-leaves",
        "goes on without a member that leaves within the delay",
        ("IDJ-12", "TR-062", "JOIN-07"),
        joined("a", is_parked=True),
        joined("b", is_parked=True),
        leave("a", over="a/2", code=0),
        answered("join a", code=25, within_ms=2_000),
        answered("join b", code=0),
        sync("b", {"b": [("t", 0)]}, code=0),
    ),
    _delayed(
        "only-from-empty",
        "delays no rebalance of a group that has members",
        ("IDJ-01", "DJOIN-20"),
        joined("a"),
        answered("join a", code=0),
        sync("a", {"a": [("t", 0)]}, code=0),
        join("a"),
        answered("join a", code=0, within_ms=1_000),
    ),
    _delayed(
        "empty-again",
        "delays the first join after a group became Empty",
        ("IDJ-01", "TR-020", "TR-023"),
        joined("a"),
        answered("join a", code=0),
        leave("a", code=0),
        joined("b", is_parked=True),
        _HALF,
        answered("join b", code=0),
    ),
    _delayed(
        "newcomer-to-group-that-was-empty",
        "waits for newcomers, or does not, when a group that became Empty is joined again",
        ("IDJ-08", "IDJ-07"),
        joined("a"),
        answered("join a", code=0),
        leave("a", code=0),
        joined("b", is_parked=True),
        _HALF,
        joined("c", is_parked=True),
        let_in("b", "c"),
        required=False,
    ),
    _delayed(
        "static-member-restarts",
        "takes a static member's restart within the delay for the same member: the first join gets 82",
        ("TR-044", "STATIC-08", "STATIC-09"),
        join("a", instance="i", is_parked=True),
        join("a2", instance="i"),
        answered("join a", code=82),
        answered("join a2", code=0),
        sync("a2", {"a2": [("t", 0)]}, instance="i", code=0),
    ),
    _delayed(
        "pending-id-holds-nothing-up",
        "ends the delay though an id that was handed out has not come back",
        ("IDJ-04", "PEND-06"),
        joined("a", is_parked=True),
        join("b", wait=True, code=79),
        answered("join a", code=0),
        join("b", is_parked=True),
    ),
    _delayed(
        "pending-id-ends",
        "decides what becomes of the delay when an id that was handed out is forgotten",
        ("PEND-04", "TR-063"),
        joined("a", is_parked=True),
        join("b", wait=True, code=79, session_timeout_ms=INITIAL_DELAY_MS // 2 - 50),
        answered("join a", code=0),
        required=False,
    ),
)

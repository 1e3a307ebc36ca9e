"""The coordinator moves to another broker: its state there, and requests under way (EMIG-01 to EMIG-05)."""

from __future__ import annotations

from typing import Any, Final

from groupproof.harness.cases.coordinator.coordinator_case_builders import PROMPT, Steps, all_joined, alone, case, passing
from groupproof.harness.cases.coordinator.static import settled
from groupproof.harness.model.case import Case
from groupproof.harness.model.script import MoveGroup, Ref
from groupproof.harness.model.script_builders import answered, beat, commit, describe, fetch, join, leave, stable, sync
from groupproof.harness.model.verdicts import Level

__all__ = ["CASES"]

_LONG: Final[dict[str, Any]] = {"session_timeout_ms": 60_000, "rebalance_timeout_ms": 60_000}
_MOVE: Final = (passing(700), MoveGroup())
"""A follower fetches the high watermark within replica.fetch.wait.max.ms (500 ms). A coordinator that moves earlier has an older group."""
_KEEPING: Final = Level.SHOULD
"""The level for requests under way: a coordinator that keeps what Kafka forgets gives no partition two owners, and loses nothing."""


def _moved(name: str, title: str, requirements: tuple[str, ...], *steps: Steps, **options: Any) -> Case:
    return case(f"move/{name}", title, requirements, *steps, settings=PROMPT, brokers=2, **options)


# Each stops a broker, and so needs two brokers of its own: there are few cases with many steps.
CASES: tuple[Case, ...] = (
    _moved(
        "stable-group",
        "knows a Stable group at its new place: members, generation, assignments and offsets, without a rebalance",
        ("EMIG-03", "EMIG-04", "TR-009", "COMMIT-29", "FETCH-05"),
        stable("a", "b", **_LONG),
        commit("a", {("t", 0): 5, ("t", 1): 6}, metadata="m", code=0),
        _MOVE,
        beat("a", code=0),
        beat("b", code=0),
        sync("b", code=0),
        describe("x", code=0),
        fetch("x", {"t": (0, 1)}, code=0),
        commit("b", {("t", 0): 7}, code=0),
        fetch("x", code=0),
    ),
    _moved(
        "silent-member",
        "watches the sessions of the members that it takes over",
        ("EMIG-03", "HB-11", "TR-120"),
        stable("a", "b", session_timeout_ms=20_000, rebalance_timeout_ms=30_000),
        _MOVE,
        beat("a", code=0),
        passing(12_000),
        beat("a", code=0),
        passing(10_000),
        beat("a", code=27),
        beat("b", code=25),
    ),
    _moved(
        "static-group",
        "knows static members at its new place: one that starts anew keeps its assignment",
        ("EMIG-03", "STATIC-16", "TR-009", "STATIC-10"),
        settled("a", "b", **_LONG),
        _MOVE,
        join("b2", instance="i-b", wait=True, code=0, **_LONG),
        sync("b2", instance="i-b", code=0),
        beat("a", instance="i-a", code=0),
        beat("b", instance="i-b", code=82),
    ),
    _moved(
        "new-group",
        "knows a group at its new place of which nothing is known but that it is there",
        ("EMIG-03", "TR-010", "TR-003"),
        join("p", wait=True, code=79, **_LONG),
        passing(600),
        _MOVE,
        describe("x", code=0),
        required=False,
    ),
    *(
        _moved(
            f"restarted-member-v{version}",
            f"knows a static member at its new place by the id that it got when it started anew by JoinGroup v{version}",
            ("EMIG-03", "STATIC-06", "TR-115"),
            settled("a", "b", **_LONG),
            join("b2", instance="i-b", wait=True, code=0, version=version, **_LONG),
            _MOVE,
            beat("b2", instance="i-b", code=0),
            beat("b", instance="i-b", code=82),
            required=False,
        )
        for version in (8, 9)
    ),
    _moved(
        "empty-group",
        "knows an Empty group, its generation and its offsets at its new place, but no id that it had handed out",
        ("EMIG-03", "TR-010", "DJOIN-09", "PEND-08"),
        stable("a", **_LONG),
        commit("a", {("t", 0): 5}, code=0),
        leave("a", code=0),
        join("p", wait=True, code=79, **_LONG),
        _MOVE,
        describe("x", code=0),
        fetch("x", code=0),
        join("p", wait=True, code=25, **_LONG),
        alone("b"),
        beat("b", generation_id=3, code=0),
        level=_KEEPING,
    ),
    _moved(
        "waiting-join",
        "lets no join wait for ever at its old place, and takes the member's next join at the new one",
        ("EMIG-02", "TR-067", "INV-08", "EMIG-04"),
        stable("a", "b", **_LONG),
        join("a", is_parked=True, **_LONG),
        _MOVE,
        beat("b", code=0),
        join("a", over="a/2", label="again", **_LONG),
        beat("b", code=27),
        join("b", **_LONG),
        answered("again", code=0),
        answered("join b", code=0),
        level=_KEEPING,
    ),
    _moved(
        "waiting-sync",
        "forgets a rebalance that was under way, and lets no sync wait for ever: the last generation that was stored holds again",
        ("EMIG-05", "EMIG-02", "TR-099", "EMIG-03"),
        stable("a", "b", **_LONG),
        join("a", is_parked=True, **_LONG),
        all_joined("b", "a", **_LONG),
        sync("b", wait=False, is_parked=True),
        _MOVE,
        beat("a", code=22),
        beat("a", generation_id=Ref("a", "generation", -1), code=0),
        beat("b", over="b/2", generation_id=Ref("b", "generation", -1), code=0),
        level=_KEEPING,
    ),
)

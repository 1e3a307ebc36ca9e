"""Rules for every start of a rebalance and every joining request: the join deadline, and the newest timeouts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from groupproof.harness.cases.coordinator.coordinator_case_builders import (
    all_joined,
    alone,
    case,
    gathered,
    offset_delete,
    passing,
    preparing,
    synced,
)
from groupproof.harness.cases.coordinator.static import settled, together
from groupproof.harness.model.case import Case
from groupproof.harness.model.script import ScriptStep, SubscriptionBytes
from groupproof.harness.model.script_builders import answered, beat, commit, fetch, join, joined, leave, stable, sync
from groupproof.harness.model.verdicts import Level

__all__ = ["CASES"]

_DEADLINE_MS: Final = 2_500
_SHORT: Final[dict[str, Any]] = {"rebalance_timeout_ms": _DEADLINE_MS}
_LAPSED: Final = passing(_DEADLINE_MS + 600)
_OTHER: Final = SubscriptionBytes(user_data=b"other")
_BRIEF: Final[dict[str, Any]] = {"session_timeout_ms": 2_000}
_OLD: Final[dict[str, Any]] = {"version": 3}
"""Members of JoinGroup v3 join without the extra round for their ids."""

_BEGUN: tuple[tuple[str, str, tuple[str, ...], tuple[ScriptStep, ...]], ...] = (
    ("newcomer-of-old", "a newcomer of JoinGroup v3", ("TR-110",), (*stable("a", "b", **_SHORT), *joined("c", **_OLD, **_SHORT))),
    ("static-newcomer", "a static newcomer", ("TR-110", "STATIC-02"), (*stable("a", "b", **_SHORT), join("c", instance="i-c", **_SHORT))),
    ("newcomer-while-completing", "a newcomer between join and sync", ("TR-088",), (*gathered("a", "b", **_SHORT), *joined("c", **_SHORT))),
    (
        "newcomer-of-old-while-completing", "a newcomer of JoinGroup v3 between join and sync", ("TR-088",),
        (*gathered("a", "b", **_SHORT), *joined("c", **_OLD, **_SHORT)),
    ),
    (
        "static-newcomer-while-completing", "a static newcomer between join and sync", ("TR-088", "STATIC-02"),
        (*gathered("a", "b", **_SHORT), join("c", instance="i-c", **_SHORT)),
    ),
    (
        "changed-while-completing", "other metadata between join and sync", ("TR-087",),
        (*gathered("a", "c", "b", **_SHORT), join("c", metadata=_OTHER, **_SHORT)),
    ),
)  # fmt: skip

_DEADLINES = (
    *(
        case(
            f"phase/begun-by-{name}",
            f"drops who does not join within the rebalance timeout after {words}",
            (*requirements, "TR-048", "DJOIN-03"),
            steps,
            _LAPSED,
            answered("join c", code=0),
            beat("b", code=25),
        )
        for name, words, requirements, steps in _BEGUN
    ),
    case(
        "phase/begun-by-a-session-while-completing",
        "drops who does not join within the rebalance timeout after the session of a leader ended that did not sync",
        ("TR-092", "TR-048", "DJOIN-03"),
        gathered("a", "b", "c", session_timeout_ms=8_000, **_SHORT),
        leave("a", code=0),
        join("b", session_timeout_ms=2_000, **_SHORT),
        all_joined("c", "b", session_timeout_ms=8_000, **_SHORT),
        beat("c", code=0),
        passing(2_300),
        beat("c", code=27),
        passing(_DEADLINE_MS + 600),
        beat("c", code=25),
    ),
    case(
        "phase/begun-by-a-sync-deadline",
        "drops who does not join within the rebalance timeout after another was dropped that had not synced",
        ("SYNC-16", "TR-048"),
        gathered("a", "b", **_SHORT),
        sync("a", {"a": [("t", 0)], "b": [("t", 1)]}, code=0),
        passing(_DEADLINE_MS + 600),
        beat("a", code=27),
        passing(_DEADLINE_MS + 600),
        beat("a", code=25),
        level=Level.INFO,
        required=False,
    ),
    case(
        "phase/begun-by-a-static-restart-while-completing",
        "waits for the others at most for the rebalance timeout when a static member starts anew between join and sync",
        ("TR-089", "TR-048", "DJOIN-03"),
        together("a", "c", **_SHORT),
        join("c2", instance="i-c", is_parked=True, **_SHORT),
        answered("join c2", code=0, within_ms=8_000),
        beat("a", instance="i-a", code=22),
    ),
    case(
        "phase/begun-by-a-static-restart-with-other-protocols",
        "waits for the others at most for the rebalance timeout when a restart changes the protocol, and takes the new session timeout",
        ("TR-115", "TR-048", "HB-14"),
        together("a", "c", protocols=("range", "roundrobin"), **_SHORT),
        sync("a", {"a": [("t", 0)], "c": [("t", 1)]}, instance="i-a", code=0),
        join("c2", instance="i-c", protocols=("roundrobin",), is_parked=True, **_BRIEF, **_SHORT),
        answered("join c2", code=0, within_ms=8_000),
        sync("c2", {"c2": [("t", 0)]}, instance="i-c", code=0),
        passing(2_600),
        beat("c2", instance="i-c", code=25),
    ),
    *(
        case(
            f"sync/{name}-breaks-off",
            f"answers waiting syncs with 27 when {words} comes",
            ("JOIN-19", "TR-088", "SYNC-05"),
            gathered("a", "b"),
            sync("b", wait=False, is_parked=True),
            *newcomer,
            answered("sync b", code=27),
        )
        for name, words, newcomer in (
            ("static-newcomer", "a static newcomer", (join("c", instance="i-c"),)),
            ("newcomer-of-old", "a newcomer of JoinGroup v3", joined("c", **_OLD)),
        )
    ),
    case(
        "sync-deadline/after-an-absence",
        "bounds the wait for SyncGroup too after a join phase that ended with the session of the last who was awaited",
        ("SYNC-16", "TR-058"),
        gathered("a", "b", session_timeout_ms=2_000, rebalance_timeout_ms=3_000),
        synced("a", "b"),
        passing(1_000),
        join("a", is_parked=True, session_timeout_ms=8_000, rebalance_timeout_ms=3_000),
        answered("join a", code=0),
        passing(1_500),
        beat("a", code=0),
        passing(2_300),
        beat("a", code=25),
        level=Level.INFO,
        required=False,
    ),
    case(
        "static/nobody-joins-beside-dynamic",
        "drops dynamic members at the deadline when nobody has joined, and goes on waiting for static ones",
        ("STATIC-13", "TR-050", "DJOIN-03"),
        together("a", **_SHORT),
        joined("d", is_parked=True, **_SHORT),
        all_joined("a", "d", instance="i-a", **_SHORT),
        sync("a", {"a": [("t", 0)], "d": [("t", 1)]}, instance="i-a", code=0),
        sync("d", code=0),
        joined("e", **_SHORT),
        leave("e", over="e/2", code=0),
        beat("d", code=27),
        _LAPSED,
        beat("a", instance="i-a", code=27),
        beat("d", code=25),
    ),
)


def _brief(name: str, words: str, requirement: str, *steps: Any, ends: Any, remains: Any) -> Case:
    return case(
        f"timeouts/{name}",
        f"holds a member to the session timeout that it gave last, {words}",
        (requirement, "HB-14"),
        *steps,
        passing(2_600),
        remains,
        ends,
        required=False,
    )


_B2: Final[dict[str, Any]] = {"instance": "i-b", **_BRIEF}

_TIMEOUTS = (
    _brief(
        "rejoining-while-preparing", "joining while others are awaited", "TR-041",
        preparing("a", "b"), join("b", **_BRIEF), answered("join a", code=0), answered("join b", code=0), synced("a", "b"),
        remains=beat("a", code=27), ends=beat("b", code=25),
    ),
    _brief(
        "changed-in-stable", "joining with other metadata", "TR-112",
        stable("a", "b"), join("b", metadata=_OTHER, is_parked=True, **_BRIEF), join("a"), answered("join a", code=0), answered("join b", code=0),
        synced("a", "b"), remains=beat("a", code=27), ends=beat("b", code=25),
    ),
    _brief(
        "changed-while-completing", "joining with other metadata between join and sync", "TR-087",
        gathered("a", "b"), join("b", metadata=_OTHER, is_parked=True, **_BRIEF), join("a"), answered("join a", code=0), answered("join b", code=0),
        synced("a", "b"), remains=beat("a", code=27), ends=beat("b", code=25),
    ),
    _brief(
        "static-in-stable-v8", "starting anew by JoinGroup v8", "TR-115",
        settled("a", "b"), join("b2", version=8, wait=True, code=0, **_B2), beat("b2", instance="i-b", code=0),
        remains=beat("a", instance="i-a", code=27), ends=beat("b2", instance="i-b", code=25),
    ),
    _brief(
        "static-while-completing", "starting anew between join and sync", "TR-089",
        together("a", "b"), join("b2", is_parked=True, **_B2), join("a", instance="i-a"), answered("join a", code=0), answered("join b2", code=0),
        sync("a", {"a": [("t", 0)], "b2": [("t", 1)]}, instance="i-a", code=0), sync("b2", instance="i-b", code=0),
        remains=beat("a", instance="i-a", code=27), ends=beat("b2", instance="i-b", code=25),
    ),
    _brief(
        "static-while-preparing", "starting anew while others are awaited", "TR-044",
        settled("a", "b"), join("a", instance="i-a", is_parked=True), join("b2", **_B2), answered("join a", code=0), answered("join b2", code=0),
        sync("a", {"a": [("t", 0)], "b2": [("t", 1)]}, instance="i-a", code=0), sync("b2", instance="i-b", code=0),
        remains=beat("a", instance="i-a", code=27), ends=beat("b2", instance="i-b", code=25),
    ),
)  # fmt: skip

_DELETE: Final = offset_delete("x", {"t": (0,)})

_COMMITS = (
    case(
        "commit/while-preparing-is-stored",
        "stores what a member commits while others are awaited, and takes it for a sign of life",
        ("COMMIT-08", "TR-064", "HB-14"),
        stable("a", "b", session_timeout_ms=3_000, rebalance_timeout_ms=20_000),
        join("a", is_parked=True, session_timeout_ms=3_000, rebalance_timeout_ms=20_000),
        passing(2_000),
        commit("b", {("t", 0): 5}, code=0),
        fetch("x", code=0),
        passing(2_000),
        beat("b", code=27),
    ),
    case(
        "offset-delete/empty-group-id",
        "refuses to delete offsets of a group without a name with 24",
        ("ERR-10",),
        replace(_DELETE, fields={**_DELETE.fields, "group_id": ""}, code=24),
        required=False,
    ),
    case(
        "offset-delete/other-type-preparing",
        "refuses to delete offsets of a group of another protocol type with 68 while it waits for joins",
        ("ERR-18",),
        alone("a", protocol_type="connect", protocols=("default",), metadata=b"\x00"),
        sync("a", {"a": []}, protocol_type="connect", code=0),
        joined("b", protocol_type="connect", protocols=("default",), metadata=b"\x00", is_parked=True),
        offset_delete("x", {"t": (0,)}, code=68),
        required=False,
    ),
)

CASES: tuple[Case, ...] = (*_DEADLINES, *_TIMEOUTS, *_COMMITS)

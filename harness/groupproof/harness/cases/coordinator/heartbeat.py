"""Heartbeat: every cell of its table, and what keeps a member alive (HB-01 to HB-16, HB-51 to HB-60)."""

from __future__ import annotations

from collections.abc import Mapping

from groupproof.harness.cases.coordinator.coordinator_case_builders import (
    NOBODY,
    Steps,
    all_joined,
    alone,
    case,
    emptied,
    gathered,
    passing,
    preparing,
    rejoined,
)
from groupproof.harness.model.case import Case
from groupproof.harness.model.script import Pass, Ref, ScriptStep
from groupproof.harness.model.script_builders import answered, beat, commit, fetch, join, leave, stable, sync

__all__ = ["CASES"]

_SESSION_MS = 3_000
_HALF: Pass = passing(1_800)
"""More than half a session: two of them are more than one, with time to spare on either side."""


def _after_half(step: ScriptStep) -> tuple[ScriptStep, ...]:
    return (_HALF, step)


_STATES: Mapping[str, tuple[str, str, int, tuple[ScriptStep, ...]]] = {
    "preparing": ("TR-057", "waits for joins", 27, preparing("a", "b")),
    "completing": ("TR-091", "waits for the leader's assignment", 0, gathered("a", "b")),
    "stable": ("TR-119", "is Stable", 0, stable("a", "b")),
}
_VALID = {"preparing": ("HB-07", "TR-056"), "completing": ("TR-090",), "stable": ("HB-08", "TR-118")}

_ANSWERS = (
    case(
        "heartbeat/no-group",
        "answers a heartbeat to a group that does not exist with 25",
        ("HB-01", "TR-004"),
        beat("z", member_id=NOBODY, generation_id=1, code=25),
    ),
    case(
        "heartbeat/empty-group-id",
        "refuses a heartbeat to a group without a name with 24",
        ("JOIN-28", "ERR-10"),
        beat("z", group_id="", member_id=NOBODY, generation_id=1, code=24),
    ),
    case(
        "heartbeat/empty-group",
        "answers the heartbeat of the member that was the last to leave with 25",
        ("HB-03", "TR-027", "LEAVE-01"),
        emptied(),
        beat("a", code=25),
    ),
    case(
        "heartbeat/offsets-only-group",
        "answers a heartbeat to a group that only ever held offsets with 25",
        ("HB-03", "TR-027"),
        commit("a", generation_id=-1, member_id="", code=0),
        beat("a", member_id=NOBODY, generation_id=0, code=25),
    ),
    *(
        case(
            f"heartbeat/stranger-{state}",
            f"answers a stranger's heartbeat with 25, whatever its generation, while the group {words}",
            ("HB-51", requirement, *(("HB-04",) if state == "completing" else ())),
            steps,
            beat("z", member_id=NOBODY, generation_id=Ref("a", "generation"), code=25),
            beat("z", member_id=NOBODY, generation_id=77, code=25),
            beat("z", member_id="", generation_id=Ref("a", "generation"), code=25),
        )
        for state, (requirement, words, _, steps) in _STATES.items()
    ),
    *(
        case(
            f"heartbeat/{name}-generation-{state}",
            f"answers a member's heartbeat of {words_of} with 22 while the group {words}",
            ("HB-51", "HB-09", requirement, *(("HB-53",) if state == "completing" else ())),
            steps,
            beat("b", generation_id=generation, code=22),
        )
        for state, (requirement, words, _, steps) in _STATES.items()
        for name, words_of, generation in (
            ("later", "a generation to come", Ref("b", "generation", 1)),
            ("earlier", "a generation that is past", Ref("b", "generation", -1)),
            ("no", "generation -1", -1),
        )
    ),
    *(
        case(
            f"heartbeat/{state}",
            f"answers a member's heartbeat with {code} while the group {words}",
            (*_VALID[state], "HB-52" if state != "completing" else "HB-51"),
            steps,
            beat("b", code=code),
            beat("a", over="a/2", code=code),
        )
        for state, (_, words, code, steps) in _STATES.items()
    ),
    case(
        "heartbeat/old-generation-after-rebalance",
        "tells a member that still lives in the last generation so with 22",
        ("HB-10", "COMMIT-13"),
        stable("a", "b"),
        join("a", is_parked=True),
        rejoined("b"),
        answered("join a", code=0),
        beat("a", generation_id=Ref("a", "generation", -1), code=22),
        commit("a", generation_id=Ref("a", "generation", -1), code=22),
    ),
    case(
        "heartbeat/waiting-member",
        "answers the heartbeat of a member whose join waits with 27",
        ("HB-07", "TR-056"),
        preparing("a", "b"),
        beat("a", over="a/2", code=27),
        join("b"),
        answered("join a", code=0),
        beat("a", code=0),
    ),
    case(
        "heartbeat/syncing-member",
        "answers the heartbeat of a member whose sync waits",
        ("TR-090",),
        gathered("a", "b"),
        sync("b", wait=False, is_parked=True),
        beat("b", over="b/2", code=0),
        sync("a", {"a": [("t", 0)], "b": [("t", 1)]}, code=0),
        answered("sync b", code=0),
    ),
)

_VERSIONS = tuple(
    case(
        f"heartbeat/v{version}",
        f"answers Heartbeat v{version}: 0 to a member, 22 to another generation, 25 to a stranger, 27 while it rebalances",
        ("HB-08", "HB-07", "TR-118", "TR-119", "TR-056"),
        stable("a", "b"),
        beat("b", version=version, code=0),
        beat("b", version=version, generation_id=77, code=22),
        beat("b", version=version, member_id=NOBODY, code=25),
        join("a", is_parked=True),
        beat("b", version=version, code=27),
    )
    for version in range(5)
)


def _kept_alive(name: str, title: str, requirements: tuple[str, ...], *signs: Steps, session_timeout_ms: int = _SESSION_MS) -> Case:
    """Return a case whose member sends `signs` half a session apart, for more than a session in all, and is still a member."""
    steps: list[Steps] = []
    for sign in signs:
        steps += [_HALF, sign]
    return case(f"heartbeat/{name}", title, requirements, stable("a", session_timeout_ms=session_timeout_ms), *steps, _HALF, beat("a", code=0))


_SESSIONS = (
    case(
        "heartbeat/session-ends",
        "drops a member that is silent for its session timeout, and the group is Empty",
        ("HB-11", "HB-60", "TR-121", "TRIG-03", "LEAVE-07", "DJOIN-21"),
        stable("a", session_timeout_ms=_SESSION_MS),
        _after_half(beat("a", code=0)),
        _HALF,
        _after_half(beat("a", code=25)),
        join("a", wait=True, code=25),
        alone("b"),
        beat("b", code=0),
    ),
    case(
        "heartbeat/session-ends-others-remain",
        "begins a rebalance when the session of one of several members ends",
        ("HB-11", "HB-60", "TR-120", "TRIG-03"),
        gathered("a", "b", session_timeout_ms=_SESSION_MS),
        sync("b", wait=False, is_parked=True),
        sync("a", {"a": [("t", 0)], "b": [("t", 1)]}, code=0),
        answered("sync b", code=0),
        _after_half(beat("a", code=0)),
        _after_half(beat("a", code=27)),
        beat("b", code=25),
        rejoined("a"),
    ),
    case(
        "heartbeat/session-not-yet-over",
        "keeps a member that is silent for less than its session timeout",
        ("HB-11", "HB-14"),
        stable("a", session_timeout_ms=_SESSION_MS),
        passing(_SESSION_MS - 1_000),
        beat("a", code=0),
    ),
    _kept_alive(
        "keeps-the-session", "takes a heartbeat for a sign of life", ("HB-08", "HB-12", "HB-14", "TR-118"), beat("a", code=0), beat("a", code=0)
    ),
    _kept_alive(
        "commit-keeps-the-session", "takes a commit for a sign of life", ("COMMIT-07", "HB-12", "TR-123"), commit("a", code=0), commit("a", code=0)
    ),
    case(
        "heartbeat/refused-keeps-nothing",
        "takes a heartbeat that it refuses for no sign of life",
        ("HB-13",),
        stable("a", session_timeout_ms=_SESSION_MS),
        _after_half(beat("a", generation_id=77, code=22)),
        _after_half(beat("a", code=25)),
    ),
    case(
        "heartbeat/refused-commit-keeps-nothing",
        "takes a commit that it refuses for no sign of life",
        ("HB-13",),
        stable("a", session_timeout_ms=_SESSION_MS),
        _after_half(commit("a", generation_id=77, code=22)),
        _after_half(beat("a", code=25)),
    ),
    case(
        "heartbeat/fetch-keeps-nothing",
        "takes a fetch of offsets for no sign of life",
        ("HB-12", "FETCH-05"),
        stable("a", session_timeout_ms=_SESSION_MS),
        _after_half(fetch("a", code=0)),
        _after_half(beat("a", code=25)),
    ),
    case(
        "heartbeat/keeps-the-session-while-preparing",
        "takes a heartbeat for a sign of life while it waits for joins",
        ("HB-07", "HB-15", "TR-056"),
        preparing("a", "b", session_timeout_ms=_SESSION_MS),
        _after_half(beat("b", code=27)),
        _after_half(beat("b", code=27)),
        _after_half(beat("b", code=27)),
        all_joined("b", "a"),
    ),
    case(
        "heartbeat/keeps-the-session-while-completing",
        "takes a heartbeat between join and sync for a sign of life",
        ("HB-12",),
        alone("a", session_timeout_ms=_SESSION_MS),
        _after_half(beat("a", code=0)),
        _after_half(beat("a", code=0)),
        sync("a", {"a": [("t", 0)]}, code=0),
        required=False,
    ),
    case(
        "heartbeat/session-begins-with-the-join",
        "counts a member's session from the answer to its join",
        ("DJOIN-12", "DJOIN-53", "SYNC-20", "TR-092"),
        alone("a", session_timeout_ms=_SESSION_MS),
        _HALF,
        _after_half(beat("a", code=25)),
    ),
    case(
        "heartbeat/session-begins-anew-with-the-sync",
        "counts a member's session anew from the answer to its sync",
        ("SYNC-19", "HB-12"),
        alone("a", session_timeout_ms=_SESSION_MS),
        _after_half(sync("a", {"a": [("t", 0)]}, code=0)),
        _after_half(beat("a", code=0)),
    ),
    case(
        "heartbeat/each-its-own-session",
        "counts each member's own session timeout",
        ("HB-14", "JOIN-37"),
        stable("a", session_timeout_ms=20_000),
        join("b", version=2, session_timeout_ms=_SESSION_MS, is_parked=True),
        all_joined("a", "b", session_timeout_ms=20_000),
        sync("a", {"a": [("t", 0)], "b": [("t", 1)]}, code=0),
        _HALF,
        _after_half(beat("b", code=25)),
        beat("a", code=27),
    ),
    case(
        "heartbeat/left-member-has-no-session",
        "ends the session of a member that leaves: its end begins no rebalance",
        ("LEAVE-01", "LEAVE-54"),
        gathered("a", "b", session_timeout_ms=_SESSION_MS),
        leave("b", code=0),
        rejoined("a", session_timeout_ms=_SESSION_MS),
        sync("a", {"a": [("t", 0)]}, code=0),
        _after_half(beat("a", code=0)),
        _after_half(beat("a", code=0)),
    ),
)

CASES: tuple[Case, ...] = (*_ANSWERS, *_VERSIONS, *_SESSIONS)

"""JoinGroup: who may join, and refusals before and inside the group (JOIN-01 to JOIN-11, JOIN-27 to JOIN-30, JOIN-55)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from groupproof.harness.cases.coordinator.coordinator_case_builders import (
    NOBODY,
    PROMPT,
    Steps,
    all_joined,
    alone,
    case,
    emptied,
    found_missing,
    gathered,
    let_in,
    preparing,
    rejoined,
)
from groupproof.harness.model.case import Case
from groupproof.harness.model.script import Ask, Ref, ScriptStep
from groupproof.harness.model.script_builders import answered, beat, commit, describe, join, joined, leave, stable, sync
from groupproof.protocol.vocabulary import Level

__all__ = ["CASES"]

_OLDEST_IN_ALL: Final = 2
"""A version of JoinGroup that every release supports; a new member joins without the extra round for its id."""


def _refused(member: str, code: int, **overrides: Any) -> Ask:
    return join(member, **{"wait": True, "code": code, **overrides})


def _bounds(name: str, title: str, code: int, session_timeout_ms: int) -> Case:
    asks: tuple[Steps, ...] = (join("a", version=_OLDEST_IN_ALL, session_timeout_ms=session_timeout_ms), answered("join a", code=code))
    return case(f"join/{name}", title, ("JOIN-27", "ERR-12"), *asks, *(() if code else (leave("a", code=0),)))


_ENTRANCE = (
    case("join/empty-group-id", "refuses a group without a name with 24", ("JOIN-28", "ERR-10"), _refused("a", 24, group_id="")),
    _bounds(
        "session-below-min", "refuses a session timeout below group.min.session.timeout.ms with 26", 26, PROMPT["group.min.session.timeout.ms"] - 1
    ),
    _bounds("session-at-min", "takes a session timeout of exactly group.min.session.timeout.ms", 0, PROMPT["group.min.session.timeout.ms"]),
    _bounds("session-above-max", "refuses a session timeout above group.max.session.timeout.ms with 26", 26, 1_800_001),
    _bounds("session-at-max", "takes a session timeout of exactly group.max.session.timeout.ms", 0, 1_800_000),
    case(
        "join/group-id-before-session",
        "looks at the group's name before it looks at the session timeout",
        ("JOIN-55", "JOIN-29"),
        _refused("a", 24, group_id="", session_timeout_ms=1),
    ),
    case(
        "join/session-before-member",
        "looks at the session timeout before it looks for the member",
        ("JOIN-55", "JOIN-29"),
        _refused("a", 26, session_timeout_ms=1, member_id=NOBODY),
    ),
    case(
        "join/first-with-empty-type",
        "refuses a first member without a protocol type with 23, and leaves no group behind",
        ("JOIN-10", "ERR-09"),
        _refused("a", 23, protocol_type=""),
        found_missing("b"),
    ),
    case(
        "join/first-without-protocols",
        "refuses a first member that offers no protocol with 23, and leaves no group behind",
        ("JOIN-10", "ERR-09"),
        _refused("a", 23, protocols=()),
        found_missing("b"),
    ),
    case(
        "join/empty-type-to-empty-group",
        "refuses a join without a protocol type to an Empty group with 23",
        ("TR-025", "JOIN-10"),
        emptied(),
        _refused("b", 23, protocol_type=""),
        alone("c"),
    ),
    case(
        "join/no-protocols-to-empty-group",
        "refuses a join without protocols to an Empty group with 23",
        ("TR-025", "JOIN-10"),
        emptied(),
        _refused("b", 23, protocols=()),
        alone("c"),
    ),
    case(
        "join/other-type",
        "refuses another protocol type than the group's with 23 and leaves the group as it is",
        ("JOIN-08", "TR-114"),
        stable("a"),
        _refused("b", 23, protocol_type="connect", metadata=b"\x00\x01"),
        beat("a", code=0),
    ),
    case(
        "join/type-of-empty-group-is-free",
        "lets the first member of a group that became Empty choose another protocol type",
        ("JOIN-08", "TR-020"),
        emptied(),
        alone("b", protocol_type="connect", protocols=("default",), metadata=b"\x00\x01"),
    ),
    case(
        "join/disjoint-protocols",
        "refuses a newcomer that shares no protocol with the members with 23, and leaves them undisturbed",
        ("JOIN-09", "TR-114"),
        stable("a"),
        _refused("b", 23, protocols=("custom",)),
        beat("a", code=0),
    ),
    case(
        "join/disjoint-while-preparing",
        "refuses protocols that do not fit while it waits for joins, and goes on waiting",
        ("TR-043", "JOIN-09"),
        preparing("a", "b"),
        _refused("c", 23, protocols=("custom",)),
        all_joined("b", "a"),
    ),
    case(
        "join/disjoint-while-completing",
        "refuses protocols that do not fit between join and sync",
        ("JOIN-09", "TR-085"),
        alone("a"),
        _refused("b", 23, protocols=("custom",)),
        sync("a", {"a": [("t", 0)]}, code=0),
    ),
    case(
        "join/lone-member-changes-all",
        "refuses a lone member that comes back with protocols of which it offered none before with 23",
        ("JOIN-33",),
        stable("a"),
        _refused("a", 23, protocols=("roundrobin",)),
        beat("a", code=0),
    ),
    case(
        "join/protocols-before-member",
        "looks at the protocols before it looks for the member",
        ("JOIN-29", "JOIN-09"),
        stable("a"),
        _refused("b", 23, protocols=("custom",), member_id=NOBODY),
        level=Level.SHOULD,
    ),
)

_STATES: Mapping[str, tuple[str, tuple[ScriptStep, ...]]] = {
    "empty": ("TR-024", emptied()),
    "preparing": ("TR-042", preparing("a", "b")),
    "completing": ("JOIN-11", gathered("a", "b")),
    "stable": ("TR-114", stable("a", "b")),
}

_STRANGERS = (
    case(
        "join/stranger-to-no-group",
        "refuses a member id in a group that does not exist with 25, and creates no group",
        ("JOIN-01", "TR-002", "JOIN-30", "ERR-11"),
        _refused("a", 25, member_id=NOBODY),
        found_missing("a"),
    ),
    *(
        case(
            f"join/stranger-to-{state}",
            f"refuses a member id that it never gave out with 25 while the group is {state}",
            ("JOIN-11", requirement, "ERR-11"),
            steps,
            _refused("z", 25, member_id=NOBODY),
        )
        for state, (requirement, steps) in _STATES.items()
    ),
    case(
        "join/old-id-to-empty",
        "refuses the id of a member that has left and was the last with 25",
        ("JOIN-52", "TR-024"),
        emptied(),
        _refused("a", 25),
    ),
    case(
        "join/old-id-to-stable",
        "refuses the id of a member that has left with 25",
        ("JOIN-11", "TR-114", "LEAVE-01"),
        gathered("a", "b"),
        leave("b", code=0),
        rejoined("a"),
        sync("a", {"a": [("t", 0)]}, code=0),
        _refused("b", 25),
    ),
)

_IDS = (
    case(
        "join/id-required",
        "hands a dynamic newcomer its id with 79 and takes nobody in before it comes back with it",
        ("PEND-01", "TR-003", "JOIN-03", "ERR-19"),
        _refused("a", 79),
        describe("b", code=0),
        beat("a", generation_id=0, code=25),
    ),
    case(
        "join/member-ids-differ",
        "gives each newcomer an id of its own, also two with the same client id",
        ("JOIN-03", "PEND-01"),
        _refused("a", 79),
        _refused("a", 79, member_id="", over="a/2"),
        _refused("b", 79),
    ),
    case(
        "join/id-required-by-empty",
        "hands a newcomer to an Empty group its id, and the group stays Empty",
        ("TR-022", "TR-023", "PEND-01"),
        emptied(),
        _refused("b", 79),
        describe("c", code=0),
        rejoined("b"),
    ),
    case(
        "join/id-required-by-stable",
        "hands a newcomer to a Stable group its id, and no member hears of it",
        ("PEND-01",),
        stable("a"),
        _refused("b", 79),
        beat("a", code=0),
        commit("a", code=0),
    ),
    case(
        "join/id-required-while-completing",
        "hands a newcomer its id between join and sync without breaking off the rebalance",
        ("PEND-01",),
        gathered("a", "b"),
        sync("b", wait=False, is_parked=True),
        _refused("c", 79),
        sync("a", {"a": [("t", 0)], "b": [("t", 1)]}, code=0),
        answered("sync b", code=0),
    ),
    case(
        "join/pending-id-comes-with-bad-protocols",
        "refuses a pending id that offers no protocol with 23, and lets it in when it offers one",
        ("PEND-03", "JOIN-10"),
        _refused("a", 79),
        _refused("a", 23, protocols=()),
        rejoined("a"),
    ),
    case(
        "join/pending-id-with-instance",
        "answers a pending id that now names a group instance with an error of the server",
        ("PEND-12",),
        _refused("a", 79),
        _refused("a", -1, instance="i"),
        level=Level.INFO,
        required=False,
    ),
    case(
        "join/direct-before-v4",
        "takes a dynamic newcomer in at once that speaks an older version",
        ("PEND-11", "TR-001", "JOIN-02"),
        join("a", version=_OLDEST_IN_ALL),
        answered("join a", code=0),
        describe("b", code=0),
    ),
    case(
        "join/first-is-leader-of-generation-1",
        "answers the first member of a group as its leader in generation 1, with itself in the list",
        ("JOIN-02", "JOIN-05", "JOIN-13", "JOIN-14", "INV-04", "IDJ-13"),
        alone("a"),
        beat("a", generation_id=1, code=0),
    ),
    case(
        "join/generation-rises-by-one",
        "counts generations 1, 2, 3, one for each completed join phase",
        ("INV-04", "DJOIN-08", "DJOIN-20"),
        stable("a"),
        rejoined("a"),
        beat("a", generation_id=2, code=0),
        sync("a", {"a": [("t", 0)]}, code=0),
        rejoined("a"),
        beat("a", generation_id=3, code=0),
    ),
)

_ERRORS = tuple(
    case(
        f"join/error-form-v{version}",
        f"refuses a stranger by JoinGroup v{version} with no generation, protocol or leader, and its id echoed",
        ("JOIN-30", "JOIN-31"),
        stable("a"),
        _refused("z", 25, version=version, member_id=NOBODY),
    )
    for version in range(10)
)

_ADMITTED = tuple(
    case(
        f"join/admits-v{version}",
        f"takes members in, and brings them to Stable, by JoinGroup v{version}",
        (
            "JOIN-31",
            "TR-110",
            *(("PEND-01",) if version >= 4 else ("PEND-11",)),
            *(("JOIN-54",) if version >= 7 else ()),
            *(("TIMER-25",) if version == 0 else ()),
        ),
        joined("a", version=version),
        answered("join a", code=0),
        sync("a", {"a": [("t", 0), ("t", 1)]}, code=0),
        joined("b", version=version, is_parked=True),
        beat("a", code=27),
        join("a", version=version),
        let_in("a", "b"),
        sync("b", wait=False, is_parked=True),
        sync("a", {"a": [("t", 0)], "b": [("t", 1)]}, code=0),
        answered("sync b", code=0),
        beat("b", generation_id=Ref("a", "generation"), code=0),
    )
    for version in range(10)
)

CASES = (*_ENTRANCE, *_STRANGERS, *_IDS, *_ERRORS, *_ADMITTED)

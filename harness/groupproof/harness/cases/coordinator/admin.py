"""Requests of administration tools: describe, list and delete groups, delete offsets (TR-035, TR-068, TR-100, TR-127; KIP-496, KIP-518, KIP-848)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from groupproof.harness.cases.coordinator.coordinator_case_builders import (
    APART_MS,
    alone,
    case,
    emptied,
    gathered,
    in_group,
    offset_delete,
    passing,
    preparing,
)
from groupproof.harness.cases.coordinator.static import settled
from groupproof.harness.model.case import Case
from groupproof.harness.model.script import Group, ScriptStep
from groupproof.harness.model.script_builders import beat, commit, delete_groups, describe, fetch, join, leave, list_groups, stable, sync

__all__ = ["CASES"]

_SIMPLE: Final[dict[str, Any]] = {"generation_id": -1, "member_id": ""}
_COMMITTED: Final = commit("x", {("t", 0): 5, ("t", 1): 6}, code=0, **_SIMPLE)

# A new group may be invisible for half a second.
_OBSERVED: Final = passing(2 * APART_MS)

_LIVE: Mapping[str, tuple[str, str, tuple[ScriptStep, ...]]] = {
    "preparing": ("TR-068", "waits for joins", preparing("a", "b")),
    "completing": ("TR-100", "waits for the leader's assignment", gathered("a", "b")),
    "stable": ("TR-127", "is Stable", stable("a", "b")),
}

_DESCRIBED = (
    *(
        case(
            f"describe/{state}",
            f"describes a group that {words}, with its members",
            ("JOIN-37", requirement),
            steps,
            _OBSERVED,
            describe("x", code=0),
        )
        for state, (requirement, words, steps) in _LIVE.items()
    ),
    case("describe/empty", "describes an Empty group", ("INV-11", "TR-121"), emptied(), _OBSERVED, describe("x", code=0)),
    case(
        "describe/offsets-only",
        "describes a group that holds offsets alone as Empty",
        ("INV-11", "TR-006"),
        _COMMITTED,
        _OBSERVED,
        describe("x", code=0),
    ),
    case(
        "describe/static",
        "tells the group instances of static members",
        ("STATIC-01", "JOIN-37"),
        settled("a", "b"),
        _OBSERVED,
        describe("x", code=0),
    ),
    case(
        "describe/other-type",
        "describes a group of another protocol type",
        ("JOIN-37", "JOIN-08"),
        alone("a", protocol_type="connect", protocols=("default",), metadata=b"\x00"),
        sync("a", {"a": []}, protocol_type="connect", code=0),
        _OBSERVED,
        describe("x", code=0),
    ),
    case(
        "describe/missing",
        "tells that a group does not exist with 69 from DescribeGroups v6 on",
        ("ERR-18", "TR-147"),
        describe("x", version=6, code=69),
    ),
    case(
        "describe/missing-v5",
        "describes a group that does not exist as Dead up to DescribeGroups v5",
        ("TR-147", "FIND-06"),
        describe("x", version=5, code=0),
    ),
    *(
        case(
            f"describe/v{version}",
            f"describes a Stable group by DescribeGroups v{version}: protocol, members, metadata, assignments",
            ("JOIN-37", "SYNC-12"),
            stable("a", "b"),
            _OBSERVED,
            describe("x", version=version, code=0),
        )
        for version in range(7)
    ),
)


def _listed(version: int, **filters: Any) -> Any:
    return list_groups("x", version=version, code=0, **filters)


_LISTED = (
    *(
        case(
            f"list/v{version}",
            f"lists groups by ListGroups v{version}, Stable, rebalancing and Empty ones",
            ("INV-02",),
            stable("a"),
            in_group("empty", emptied("b")),
            in_group("completing", gathered("c")),
            _OBSERVED,
            _listed(version),
        )
        for version in range(6)
    ),
    *(
        case(
            f"list/states-{name}",
            f"lists groups {words} when it is asked for the states {', '.join(states)}",
            ("INV-02",),
            stable("a"),
            in_group("empty", emptied("b")),
            in_group("completing", gathered("c")),
            _OBSERVED,
            _listed(4, states_filter=states),
            required=False,
        )
        for name, words, states in (
            ("stable", "that are Stable", ("Stable",)),
            ("two", "in either", ("Empty", "CompletingRebalance")),
            ("unknown", "in none", ("NoSuchState",)),
        )
    ),
    *(
        case(
            f"list/types-{name}",
            f"lists {words} when it is asked for the group type {types[0]}",
            ("INV-02",),
            stable("a"),
            _OBSERVED,
            _listed(5, types_filter=types),
            required=False,
        )
        for name, words, types in (
            ("classic", "classic groups", ("classic",)),
            ("other-case", "classic groups", ("CLASSIC",)),
            ("unknown", "nothing", ("no-such-type",)),
        )
    ),
)

_DELETED = (
    *(
        case(
            f"delete/{state}",
            f"refuses to delete a group that {words} with 68",
            (requirement, "ERR-18"),
            steps,
            delete_groups("x", code=68),
            beat("b", code=27 if state == "preparing" else 0),
        )
        for state, (requirement, words, steps) in _LIVE.items()
    ),
    case(
        "delete/empty",
        "deletes an Empty group; it does not exist then",
        ("TR-035",),
        emptied(),
        delete_groups("x", code=0),
        describe("x", version=5, code=0),
        delete_groups("x", code=69),
    ),
    case(
        "delete/with-offsets",
        "deletes the offsets of a group with it",
        ("TR-035", "COMMIT-23"),
        stable("a"),
        commit("a", code=0),
        leave("a", code=0),
        delete_groups("x", code=0),
        fetch("x", code=0),
        describe("x", version=5, code=0),
        alone("b"),
        fetch("x", code=0),
    ),
    case("delete/missing", "answers the deletion of a group that does not exist with 69", ("TR-148", "ERR-18"), delete_groups("x", code=69)),
    case(
        "delete/then-join",
        "makes a new group, of generation 1, when a deleted one is joined again",
        ("TR-147", "TR-035", "INV-04"),
        emptied(),
        delete_groups("x", code=0),
        alone("b"),
        beat("b", generation_id=1, code=0),
    ),
    case(
        "delete/old-member",
        "knows no member of a group that was deleted",
        ("TR-147", "JOIN-01"),
        emptied(),
        delete_groups("x", code=0),
        beat("a", code=25),
        join("a", wait=True, code=25),
    ),
    case(
        "delete/several",
        "judges each group of a request by itself",
        ("TR-035", "TR-127"),
        stable("a"),
        in_group("empty", emptied("b")),
        delete_groups("x", groups_names=(Group(), Group("empty"), Group("missing"))),
        beat("a", code=0),
    ),
    *(
        case(
            f"delete/v{version}",
            f"deletes an Empty group by DeleteGroups v{version}, and refuses a live one",
            ("TR-035", "TR-127"),
            stable("a"),
            delete_groups("x", version=version, code=68),
            leave("a", code=0),
            delete_groups("x", version=version, code=0),
        )
        for version in range(3)
    ),
)

_OFFSETS = (
    case(
        "offset-delete/empty-group",
        "deletes the named offsets of an Empty group and keeps the others",
        ("COMMIT-23",),
        _COMMITTED,
        offset_delete("x", {"t": (0,)}, code=0),
        fetch("x", {"t": (0, 1)}, code=0),
    ),
    case("offset-delete/missing-group", "answers for a group that does not exist with 69", ("ERR-18",), offset_delete("x", {"t": (0,)}, code=69)),
    case(
        "offset-delete/subscribed",
        "refuses with 86 to delete offsets of a topic that a member subscribes to, and deletes those of others",
        ("COMMIT-23",),
        commit("x", {("t", 0): 5, ("u", 0): 6}, code=0, **_SIMPLE),
        stable("a"),
        offset_delete("x", {"t": (0,), "u": (0,)}, code=86),
        fetch("x", {"t": (0,), "u": (0,)}, code=0),
        topics={"t": 2, "u": 1},
    ),
    case(
        "offset-delete/unsubscribed",
        "deletes offsets of a live group's topics to which nobody subscribes any more",
        ("COMMIT-23",),
        commit("x", {("u", 0): 6}, code=0, **_SIMPLE),
        stable("a"),
        offset_delete("x", {"u": (0,)}, code=0),
        fetch("x", {"u": (0,)}, code=0),
        topics={"t": 2, "u": 1},
    ),
    case(
        "offset-delete/other-type",
        "refuses to delete offsets of a live group of another protocol type with 68",
        ("ERR-18",),
        alone("a", protocol_type="connect", protocols=("default",), metadata=b"\x00"),
        sync("a", {"a": []}, protocol_type="connect", code=0),
        offset_delete("x", {"t": (0,)}, code=68),
    ),
    *(
        case(
            f"offset-delete/{state}",
            f"refuses with 86 to delete offsets of a subscribed topic while the group {words}, and deletes those of others",
            ("COMMIT-23",),
            commit("x", {("t", 0): 5, ("u", 0): 6}, code=0, **_SIMPLE),
            steps,
            offset_delete("x", {"t": (0,)}, code=86),
            offset_delete("x", {"u": (0,)}, code=0),
            fetch("x", {"t": (0,), "u": (0,)}, code=0),
            topics={"t": 2, "u": 1},
        )
        for state, words, steps in (
            ("preparing", "waits for joins", preparing("a", "b")),
            ("completing", "waits for the leader's assignment", gathered("a", "b")),
        )
    ),
    case(
        "offset-delete/other-type-completing",
        "refuses to delete offsets of a group of another protocol type with 68 between join and sync",
        ("ERR-18",),
        alone("a", protocol_type="connect", protocols=("default",), metadata=b"\x00"),
        offset_delete("x", {"t": (0,)}, code=68),
    ),
    case(
        "offset-delete/other-type-empty",
        "deletes offsets of an Empty group of another protocol type",
        ("COMMIT-23",),
        alone("a", protocol_type="connect", protocols=("default",), metadata=b"\x00"),
        sync("a", {"a": []}, protocol_type="connect", code=0),
        commit("a", code=0),
        leave("a", code=0),
        offset_delete("x", {"t": (0,)}, code=0),
        fetch("x", code=0),
    ),
    case(
        "offset-delete/unknown-partition",
        "answers for a partition that does not exist with 3",
        ("ERR-02",),
        _COMMITTED,
        offset_delete("x", {"t": (9,)}, code=3),
        required=False,
    ),
)

CASES: tuple[Case, ...] = (*_DESCRIBED, *_LISTED, *_DELETED, *_OFFSETS)

"""SyncGroup: who is refused, who waits, and which bytes each member gets (SYNC-01 to SYNC-26, SYNC-51 to SYNC-55)."""

from __future__ import annotations

from collections.abc import Mapping

from groupproof.harness.cases.coordinator.coordinator_case_builders import (
    NOBODY,
    all_joined,
    assigning,
    case,
    emptied,
    gathered,
    passing,
    preparing,
    rejoined,
)
from groupproof.harness.model.case import Case
from groupproof.harness.model.script import AssignmentBytes, Ref, ScriptStep
from groupproof.harness.model.script_builders import answered, beat, describe, join, joined, leave, stable, sync
from groupproof.harness.model.verdicts import Level

__all__ = ["CASES"]

_ALL = {"a": [("t", 0)], "b": [("t", 1)]}

_STATES: Mapping[str, tuple[str, str, tuple[ScriptStep, ...]]] = {
    "preparing": ("TR-055", "waits for joins", preparing("a", "b")),
    "completing": ("TR-085", "waits for the leader's assignment", gathered("a", "b")),
    "stable": ("TR-117", "is Stable", stable("a", "b")),
}

_STRANGERS = (
    case(
        "sync/no-group",
        "answers a sync to a group that does not exist with 25",
        ("TR-004", "SYNC-22"),
        sync("z", protocol_name="range", member_id=NOBODY, generation_id=1, code=25),
    ),
    case(
        "sync/empty-group-id",
        "refuses a sync to a group without a name with 24",
        ("JOIN-28", "ERR-10"),
        sync("z", protocol_name="range", group_id="", member_id=NOBODY, code=24),
    ),
    case("sync/empty-group", "answers a sync to an Empty group with 25", ("TR-026", "SYNC-52"), emptied(), sync("a", code=25)),
    *(
        case(
            f"sync/stranger-{state}",
            f"refuses the sync of a stranger with 25, whatever its generation, while the group {words}",
            ("SYNC-01", requirement),
            steps,
            sync("z", protocol_name="range", member_id=NOBODY, generation_id=Ref("a", "generation"), code=25),
            sync("z", protocol_name="range", member_id=NOBODY, generation_id=77, code=25),
        )
        for state, (requirement, words, steps) in _STATES.items()
    ),
    *(
        case(
            f"sync/{name}-generation-{state}",
            f"refuses the sync of a member with {words_of} with 22 while the group {words}",
            ("SYNC-02", requirement, "ERR-08"),
            steps,
            sync("b", generation_id=generation, code=22),
        )
        for state, (requirement, words, steps) in _STATES.items()
        for name, words_of, generation in (
            ("later", "a generation to come", Ref("b", "generation", 1)),
            ("earlier", "a generation that is past", Ref("b", "generation", -1)),
            ("no", "generation -1", -1),
        )
    ),
)

_PROTOCOLS = tuple(
    case(
        f"sync/{name}-{state}",
        f"{words} while the group {state_words}",
        ("SYNC-51", *requirements),
        steps,
        sync("b", code=code, version=5, **fields),
        level=Level.SHOULD if None in fields.values() else None,  # a request without a protocol contradicts nothing
    )
    for state, state_words, requirements, steps in (
        ("preparing", "waits for joins", ("TR-055",), preparing("a", "b")),
        ("completing", "waits for the leader's assignment", ("TR-085",), gathered("a", "b")),
        ("stable", "is Stable", ("TR-117", "TR-116"), stable("a", "b")),
    )
    for name, words, code, fields in (
        ("other-type", "refuses a sync that names another protocol type with 23", 23, {"protocol_type": "connect"}),
        ("other-protocol", "refuses a sync that names another protocol with 23", 23, {"protocol_name": "roundrobin"}),
        ("no-type", "refuses a sync that names no protocol type with 23", 23, {"protocol_type": None}),
        ("no-protocol", "refuses a sync that names no protocol with 23", 23, {"protocol_name": None}),
        ("right-names", "answers a sync that names the group's protocol type and protocol", 0, {}),
    )
    if state == "stable" or code
)

_UNNAMED = (
    case(
        "sync/no-names-of-a-stranger",
        "looks for the names of protocol type and protocol before anything else",
        ("SYNC-51",),
        stable("a"),
        sync("z", member_id=NOBODY, generation_id=77, protocol_type=None, protocol_name=None, version=5, code=23),
        level=Level.SHOULD,
    ),
    case(
        "sync/no-names-before-v5",
        "asks for no names by versions that cannot say them, and tells its own in none",
        ("SYNC-51", "SYNC-52"),
        stable("a", "b"),
        sync("b", version=4, code=0),
    ),
)

_COURSE = (
    case(
        "sync/rebalancing",
        "answers a sync with 27 once the next rebalance has begun",
        ("SYNC-04", "TR-054", "ERR-13"),
        preparing("a", "b"),
        sync("b", code=27),
    ),
    case(
        "sync/follower-before-leader",
        "lets a follower's sync wait for the leader's, and then answers both, each with its own bytes",
        ("SYNC-05", "SYNC-12", "SYNC-13", "SYNC-26", "TR-080", "TR-081", "TR-082", "INV-09"),
        gathered("a", "b"),
        sync("b", wait=False, is_parked=True),
        passing(300),
        sync("a", _ALL, code=0),
        answered("sync b", code=0),
        beat("b", code=0),
    ),
    case(
        "sync/follower-after-leader",
        "answers a follower that syncs after the leader at once with what is kept for it",
        ("SYNC-14", "SYNC-12", "TR-116"),
        gathered("a", "b"),
        sync("a", _ALL, code=0),
        sync("b", code=0),
    ),
    case(
        "sync/stable-without-the-last-follower",
        "is Stable with the leader's sync, whoever has not asked yet",
        ("SYNC-12", "SYNC-23", "TR-082"),
        gathered("a", "b", "c"),
        sync("b", wait=False, is_parked=True),
        sync("a", {"a": [("t", 0)], "b": [("t", 1)], "c": []}, code=0),
        answered("sync b", code=0),
        describe("x", code=0),
        beat("c", code=0),
    ),
    case(
        "sync/left-out-member",
        "gives a member that the leader left out an assignment of no bytes",
        ("SYNC-07",),
        gathered("a", "b"),
        sync("b", wait=False, is_parked=True),
        sync("a", {"a": [("t", 0), ("t", 1)]}, code=0),
        answered("sync b", code=0),
    ),
    case(
        "sync/left-out-after-an-assignment",
        "takes from a member that the leader leaves out what it had in the generation before",
        ("SYNC-07", "INV-09"),
        stable("a", "b"),
        join("a", is_parked=True),
        all_joined("b", "a"),
        sync("b", wait=False, is_parked=True),
        sync("a", {"a": [("t", 0), ("t", 1)]}, code=0),
        answered("sync b", code=0),
        beat("b", code=0),
    ),
    case(
        "sync/nobody-assigned",
        "gives every member an assignment of no bytes when the leader names nobody",
        ("SYNC-07",),
        gathered("a", "b"),
        sync("b", wait=False, is_parked=True),
        sync("a", {}, code=0),
        answered("sync b", code=0),
        beat("a", code=0),
    ),
    case(
        "sync/ghost-assigned",
        "takes no notice of an assignment to somebody who is no member",
        ("SYNC-08",),
        gathered("a", "b"),
        sync("a", {"a": [("t", 0)], "b": [("t", 1)], "ghost": [("t", 0)]}, code=0),
        sync("b", code=0),
        describe("x", code=0),
    ),
    case(
        "sync/followers-assignments",
        "takes no notice of assignments that a follower sends",
        ("SYNC-06", "SYNC-05", "TR-080"),
        gathered("a", "b"),
        sync("b", {"a": [], "b": [("t", 0), ("t", 1)]}, wait=False, is_parked=True),
        sync("a", _ALL, code=0),
        answered("sync b", code=0),
    ),
    case(
        "sync/leader-again",
        "answers a leader that syncs again with other assignments with the first ones, which stay",
        ("SYNC-15", "TR-116"),
        stable("a", "b"),
        sync("a", {"a": [("t", 1)], "b": [("t", 0)]}, code=0),
        sync("b", code=0),
    ),
    case(
        "sync/again",
        "answers a sync again that is sent again, however often",
        ("SYNC-53", "SYNC-14", "TR-116"),
        stable("a", "b"),
        sync("b", code=0),
        sync("b", code=0, over="b/2"),
        beat("a", code=0),
    ),
    case(
        "sync/newest-sync-is-answered",
        "answers the newest of two syncs that one member waits with",
        ("SYNC-05", "INV-08"),
        gathered("a", "b"),
        sync("b", wait=False, is_parked=True),
        sync("b", over="b/2", label="again", wait=False, is_parked=True),
        sync("a", _ALL, code=0),
        answered("again", code=0),
    ),
    case(
        "sync/opaque-bytes",
        "hands on bytes that are no assignment of a consumer, and from another protocol type, as they are",
        ("SYNC-12", "INV-09"),
        joined("a", protocol_type="connect", protocols=("default",), metadata=b"\xff\x00"),
        answered("join a", code=0),
        assigning(sync("a", protocol_type="connect", code=0), {"a": b"\x00\xffno consumer"}),
    ),
    case(
        "sync/user-data",
        "hands each member the leader's bytes for it to the last one",
        ("SYNC-12", "SYNC-13"),
        gathered("a", "b"),
        assigning(sync("a", code=0), {"a": AssignmentBytes((("t", 0),), b"of a", 1), "b": AssignmentBytes((("t", 1),), b"of b" * 1_000)}),
        sync("b", code=0),
        describe("x", code=0),
    ),
    case(
        "sync/beat-behind-sync",
        "is Stable before it answers the sync: a heartbeat right behind gets 0",
        ("SYNC-23", "TR-118"),
        gathered("a", "b"),
        sync("a", _ALL, wait=False, settles=False),
        beat("a", wait=False, settles=False),
        answered("sync a", code=0),
        answered("beat a", code=0),
    ),
    case(
        "sync/newcomer-breaks-off",
        "answers waiting syncs with 27 when a newcomer begins another rebalance",
        ("JOIN-19", "TR-088", "SYNC-05"),
        gathered("a", "b", "c"),
        sync("b", wait=False, is_parked=True),
        sync("c", wait=False, is_parked=True),
        joined("d", is_parked=True),
        answered("sync b", code=27),
        answered("sync c", code=27),
    ),
    case(
        "sync/leader-leaves",
        "answers waiting syncs with 27 when the leader leaves, and somebody else leads",
        ("LEAVE-06", "TR-094", "JOIN-07"),
        gathered("a", "b"),
        sync("b", wait=False, is_parked=True),
        leave("a", code=0),
        answered("sync b", code=27),
        rejoined("b"),
        sync("b", {"b": [("t", 0), ("t", 1)]}, code=0),
    ),
    case(
        "sync/assignments-are-forgotten",
        "keeps no assignment of a generation once the next rebalance has begun",
        ("SYNC-25", "TR-087"),
        preparing("a", "b"),
        describe("x", code=0),
        all_joined("b", "a"),
        describe("x", code=0),
    ),
    case(
        "sync/session-in-stable",
        "does not take a sync in a Stable group for a sign of life",
        ("SYNC-14", "HB-12"),
        stable("a", session_timeout_ms=3_000),
        passing(1_800),
        sync("a", code=0),
        passing(2_000),
        beat("a", code=25),
        required=False,
    ),
)

_VERSIONS = tuple(
    case(
        f"sync/v{version}",
        f"hands out assignments by SyncGroup v{version}, and refuses a stranger by it",
        ("SYNC-12", "SYNC-24", "SYNC-01", *(("JOIN-54",) if version >= 5 else ())),
        gathered("a", "b"),
        sync("z", protocol_name="range", member_id=NOBODY, generation_id=1, version=version, code=25),
        sync("b", wait=False, is_parked=True, version=version),
        sync("a", _ALL, code=0, version=version),
        answered("sync b", code=0),
        sync("b", code=0, version=version),
    )
    for version in range(6)
)

CASES: tuple[Case, ...] = (*_STRANGERS, *_PROTOCOLS, *_UNNAMED, *_COURSE, *_VERSIONS)

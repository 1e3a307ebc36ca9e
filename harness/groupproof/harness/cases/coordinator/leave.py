"""LeaveGroup: in each state, singly and in batches (LEAVE-01 to LEAVE-08, LEAVE-51 to LEAVE-54)."""

from __future__ import annotations

from typing import Final

from groupproof.harness.cases.coordinator.coordinator_case_builders import (
    NOBODY,
    all_joined,
    alone,
    case,
    emptied,
    gathered,
    named,
    preparing,
    rejoined,
    synced,
)
from groupproof.harness.model.case import Case
from groupproof.harness.model.script_builders import answered, beat, describe, join, joined, leave, stable, sync

__all__ = ["CASES"]

_STRANGER: Final = {"member_id": NOBODY, "group_instance_id": None}
_LAST_SINGLE: Final = 2
"""The newest version of LeaveGroup with a single member and a single error code."""

_REFUSALS = (
    case(
        "leave/no-group",
        "answers a leave from a group that does not exist with 0 for the request and 25 for the member",
        ("TR-005", "LEAVE-51"),
        leave("z", members=[_STRANGER], code=25),
    ),
    case(
        "leave/no-group-single",
        "answers a leave by a version for one member, from a group that does not exist, with 25",
        ("TR-005", "LEAVE-02", "LEAVE-51"),
        leave("z", members=[_STRANGER], version=1, code=25),
    ),
    case(
        "leave/empty-group-id",
        "refuses a leave from a group without a name with 24",
        ("JOIN-28", "ERR-10"),
        leave("z", group_id="", members=[_STRANGER], code=24),
    ),
    case("leave/empty-group", "answers a leave from an Empty group with 25", ("TR-028", "LEAVE-05"), emptied(), leave("a", code=25)),
    *(
        case(
            f"leave/stranger-{state}",
            f"answers the leave of a stranger with 25 and does nothing while the group {words}",
            ("LEAVE-51", "LEAVE-02"),
            steps,
            leave("z", members=[_STRANGER], code=25),
            beat("b", code=code),
        )
        for state, words, code, steps in (
            ("preparing", "waits for joins", 27, preparing("a", "b")),
            ("completing", "waits for the leader's assignment", 0, gathered("a", "b")),
            ("stable", "is Stable", 0, stable("a", "b")),
        )
    ),
    case(
        "leave/nobody-named",
        "answers a leave that names nobody's id with 25",
        ("LEAVE-51",),
        stable("a"),
        leave("z", members=[{"member_id": "", "group_instance_id": None}], code=25),
        beat("a", code=0),
    ),
    case(
        "leave/no-entries",
        "answers a leave of no members at all with 0",
        ("LEAVE-51",),
        stable("a"),
        leave("z", members=[], code=0),
        beat("a", code=0),
    ),
    case(
        "leave/twice", "answers a second leave of one member with 25", ("LEAVE-01", "LEAVE-05"), emptied(), leave("a", code=25), leave("a", code=25)
    ),
)

_STATES = (
    case(
        "leave/stable-others-remain",
        "begins a rebalance as soon as a member leaves, and tells the others so",
        ("TR-122", "LEAVE-01", "LEAVE-03", "LEAVE-07", "TRIG-02"),
        stable("a", "b"),
        leave("b", code=0),
        beat("a", code=27),
        beat("b", code=25),
        rejoined("a"),
        synced("a"),
    ),
    case(
        "leave/stable-leader",
        "passes the lead on when the leader leaves",
        ("TR-122", "JOIN-07", "LEAVE-03", "INV-05"),
        stable("a", "b"),
        leave("a", code=0),
        beat("b", code=27),
        rejoined("b"),
        synced("b"),
    ),
    case(
        "leave/last-member",
        "makes the group Empty at once when its last member leaves, one generation on",
        ("TR-121", "DJOIN-21", "DJOIN-09", "TR-047", "INV-11"),
        stable("a"),
        leave("a", code=0),
        describe("x", code=0),
        alone("b"),
        beat("b", generation_id=3, code=0),
    ),
    case(
        "leave/completing",
        "breaks the rebalance off when a member leaves before the sync: waiting syncs get 27",
        ("TR-094", "LEAVE-06", "LEAVE-03"),
        gathered("a", "b", "c"),
        sync("b", wait=False, is_parked=True),
        leave("c", code=0),
        answered("sync b", code=27),
        join("b", is_parked=True),
        all_joined("a", "b"),
        synced("a", "b"),
    ),
    case(
        "leave/completing-last-member",
        "makes the group Empty at once when its only member leaves before the sync",
        ("TR-094", "TR-047", "DJOIN-21"),
        alone("a"),
        leave("a", code=0),
        describe("x", code=0),
        beat("a", code=25),
    ),
    case(
        "leave/syncing-member",
        "gets on without a member that leaves while its sync waits",
        ("TR-094", "LEAVE-03"),
        gathered("a", "b"),
        sync("b", wait=False, is_parked=True),
        leave("b", over="b/2", code=0),
        beat("a", code=27),
        rejoined("a"),
        synced("a"),
    ),
    case(
        "leave/preparing-the-one-awaited",
        "ends the join phase when the one who was waited for leaves",
        ("TR-061", "LEAVE-04", "TR-046", "DJOIN-02"),
        preparing("a", "b"),
        leave("b", code=0),
        answered("join a", code=0, within_ms=2_000),
        synced("a"),
    ),
    case(
        "leave/preparing-others-awaited",
        "goes on waiting for the others when a member leaves",
        ("TR-061", "LEAVE-04"),
        preparing("a", "b", "c"),
        leave("b", code=0),
        beat("c", code=27),
        all_joined("c", "a"),
    ),
    case(
        "leave/waiting-member",
        "answers the waiting join of a member that leaves with 25",
        ("LEAVE-08", "TR-061"),
        preparing("a", "b"),
        leave("a", over="a/2", code=0),
        answered("join a", code=25, within_ms=2_000),
        rejoined("b"),
    ),
    case(
        "leave/preparing-everybody",
        "makes the group Empty at once when everybody leaves while it waits for joins",
        ("TR-047", "TR-061", "DJOIN-09"),
        preparing("a", "b"),
        leave("b", over="x", members=named("a", "b"), code=0),
        answered("join a", code=25, within_ms=2_000),
        describe("x", code=0),
    ),
    case(
        "leave/newcomer-that-waits",
        "forgets a newcomer that leaves before its first rebalance is over",
        ("TR-061", "LEAVE-08"),
        stable("a"),
        joined("b", is_parked=True),
        leave("b", over="b/2", code=0),
        answered("join b", code=25, within_ms=2_000),
        rejoined("a"),
        synced("a"),
    ),
)

_BATCHES = (
    case(
        "leave/batch",
        "removes all members that one request names, by one rebalance",
        ("LEAVE-51", "TR-122"),
        stable("a", "b", "c"),
        leave("x", members=named("b", "c"), code=0),
        beat("a", code=27),
        rejoined("a"),
        beat("a", generation_id=4, code=0),
    ),
    case(
        "leave/batch-everybody",
        "makes a Stable group Empty when one request names all its members",
        ("LEAVE-51", "TR-121"),
        stable("a", "b"),
        leave("x", members=named("a", "b"), code=0),
        describe("x", code=0),
        beat("a", code=25),
    ),
    case(
        "leave/batch-twice-the-same",
        "judges each entry by itself: the second of two equal ones gets 25",
        ("LEAVE-51",),
        stable("a", "b"),
        leave("x", members=named("b", "b"), code=25),
        beat("a", code=27),
    ),
    case(
        "leave/batch-with-a-stranger",
        "removes those it knows and answers a stranger among them with 25",
        ("LEAVE-51",),
        stable("a", "b"),
        leave("x", members=named(_STRANGER, "b"), code=25),
        beat("a", code=27),
        beat("b", code=25),
    ),
    case(
        "leave/batch-of-strangers",
        "does nothing when a request names strangers alone",
        ("LEAVE-51",),
        stable("a"),
        leave("x", members=named(_STRANGER, {"member_id": "other", "group_instance_id": None}), code=25),
        beat("a", code=0),
    ),
    case(
        "leave/batch-from-no-group",
        "answers each entry with 25 where there is no group",
        ("TR-005", "LEAVE-51"),
        leave("x", members=named(_STRANGER, {"member_id": "", "group_instance_id": "i"}), code=25),
    ),
)

_VERSIONS = tuple(
    case(
        f"leave/v{version}",
        f"answers LeaveGroup v{version}: 25 to a stranger, 0 to a member, who is gone then",
        ("LEAVE-01", "LEAVE-51", *(("LEAVE-02",) if version <= _LAST_SINGLE else ())),
        stable("a", "b"),
        leave("z", members=[_STRANGER], version=version, code=25),
        leave("b", version=version, code=0),
        beat("b", code=25),
        beat("a", code=27),
    )
    for version in range(6)
)

CASES: tuple[Case, ...] = (*_REFUSALS, *_STATES, *_BATCHES, *_VERSIONS)

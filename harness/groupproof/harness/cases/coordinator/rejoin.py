"""JoinGroup of existing members, and of new members in each state (JOIN-12 to JOIN-26, JOIN-57, JOIN-58)."""

from __future__ import annotations

from groupproof.harness.cases.coordinator.coordinator_case_builders import (
    all_joined,
    alone,
    case,
    gathered,
    offering,
    passing,
    preparing,
    rejoined,
    synced,
)
from groupproof.harness.model.case import Case
from groupproof.harness.model.script import SubscriptionBytes
from groupproof.harness.model.script_builders import answered, beat, join, joined, stable, sync

__all__ = ["CASES"]

_OTHER = SubscriptionBytes(user_data=b"other")

_STABLE = (
    case(
        "join/newcomer-to-stable",
        "begins a rebalance when a newcomer joins a Stable group, and tells the members so",
        ("TR-110", "TRIG-01", "JOIN-04", "JOIN-12"),
        stable("a"),
        joined("b", is_parked=True),
        beat("a", code=27),
        all_joined("a", "b"),
        synced("a", "b"),
    ),
    case(
        "join/leader-rejoins-alone",
        "ends a rebalance of a group's only member at once",
        ("TR-111", "JOIN-23", "DJOIN-20"),
        stable("a"),
        join("a"),
        answered("join a", code=0, within_ms=1_000),
        synced("a"),
    ),
    case(
        "join/leader-rejoins-unchanged",
        "begins a rebalance when the leader joins again, though nothing changed",
        ("TR-111", "JOIN-23"),
        stable("a", "b"),
        join("a", is_parked=True),
        beat("b", code=27),
        all_joined("b", "a"),
        synced("a", "b"),
    ),
    case(
        "join/leader-rejoins-changed",
        "begins a rebalance when the leader joins again with other metadata, and lists the new",
        ("TR-111", "JOIN-23", "JOIN-15"),
        stable("a", "b"),
        join("a", metadata=_OTHER, is_parked=True),
        all_joined("b", "a"),
    ),
    case(
        "join/follower-rejoins-unchanged",
        "answers a follower of a Stable group that joins again unchanged at once, without a rebalance",
        ("TR-113", "JOIN-25", "DJOIN-22"),
        stable("a", "b"),
        join("b", wait=True, code=0),
        beat("a", code=0),
        beat("b", code=0),
    ),
    case(
        "join/follower-rejoins-changed",
        "begins a rebalance when a follower joins again with other metadata",
        ("TR-112", "JOIN-24"),
        stable("a", "b"),
        join("b", metadata=_OTHER, is_parked=True),
        beat("a", code=27),
        all_joined("a", "b"),
    ),
    case(
        "join/follower-reorders-protocols",
        "takes the same protocols in another order for a change",
        ("JOIN-26", "TR-112"),
        gathered("a", "b", protocols=("range", "roundrobin")),
        synced("a", "b"),
        join("b", protocols=("roundrobin", "range"), is_parked=True),
        beat("a", code=27),
    ),
    case(
        "join/follower-offers-one-more",
        "takes one protocol more for a change",
        ("JOIN-26", "TR-112"),
        stable("a", "b"),
        join("b", protocols=("range", "roundrobin"), is_parked=True),
        beat("a", code=27),
    ),
)

_COMPLETING = (
    case(
        "join/leader-again-while-completing",
        "answers a leader that joins again unchanged before it synced at once, with the list, in the same generation",
        ("TR-086", "JOIN-20", "JOIN-58"),
        gathered("a", "b"),
        join("a", wait=True, code=0),
        synced("a", "b"),
    ),
    case(
        "join/follower-again-while-completing",
        "answers a follower that joins again unchanged before the sync at once, in the same generation",
        ("TR-086", "JOIN-20", "JOIN-58"),
        gathered("a", "b"),
        join("b", wait=True, code=0),
        synced("a", "b"),
    ),
    case(
        "join/again-on-a-new-connection",
        "answers a join whose answer was lost with the same generation on the next connection",
        ("JOIN-58", "TR-086"),
        gathered("a", "b"),
        join("b", over="b/2", wait=True, code=0),
        beat("b", over="b/2", code=0),
    ),
    case(
        "join/changed-while-completing",
        "breaks a rebalance off when a member comes with other metadata: waiting syncs get 27",
        ("TR-087", "JOIN-21", "JOIN-19", "SYNC-25"),
        gathered("a", "b"),
        sync("b", wait=False, is_parked=True),
        join("a", metadata=_OTHER, is_parked=True),
        answered("sync b", code=27),
        all_joined("b", "a"),
        synced("a", "b"),
    ),
    case(
        "join/follower-changed-while-completing",
        "breaks a rebalance off when a follower comes with other metadata",
        ("TR-087", "JOIN-21"),
        gathered("a", "b"),
        join("b", metadata=_OTHER, is_parked=True),
        sync("a", {"a": [("t", 0)]}, code=27),
        all_joined("a", "b"),
    ),
    case(
        "join/newcomer-while-completing",
        "breaks a rebalance off when a newcomer joins: waiting syncs get 27, and all join again",
        ("TR-088", "JOIN-22", "JOIN-19"),
        gathered("a", "b"),
        sync("b", wait=False, is_parked=True),
        joined("c", is_parked=True),
        answered("sync b", code=27),
        rejoined("a", "b"),
        answered("join c", code=0),
        synced("a", "b", "c"),
    ),
    case(
        "join/newcomer-before-any-sync",
        "begins anew when a newcomer joins before anybody synced; a sync of the old generation gets 27",
        ("TR-088", "JOIN-22", "TR-054"),
        alone("a"),
        joined("b", is_parked=True),
        sync("a", {"a": [("t", 0)]}, code=27),
        all_joined("a", "b"),
    ),
)

_PREPARING = (
    case(
        "join/newcomer-while-preparing",
        "takes a newcomer into the rebalance that is under way",
        ("TR-040", "JOIN-16", "JOIN-17"),
        preparing("a", "b"),
        joined("c", is_parked=True),
        join("b"),
        *(answered(f"join {name}", code=0) for name in ("a", "b", "c")),
        synced("a", "b", "c"),
    ),
    case(
        "join/last-one-ends-the-phase",
        "answers every waiting join at the instant of the last one",
        ("TR-041", "TR-046", "JOIN-13", "JOIN-17", "JOIN-57", "DJOIN-02", "DJOIN-06"),
        preparing("a", "b", "c"),
        join("b", is_parked=True),
        passing(300),
        join("c"),
        *(answered(f"join {name}", code=0, within_ms=1_000) for name in ("a", "b", "c")),
    ),
    case(
        "join/newest-join-is-answered",
        "answers the newest of two joins of one member, and counts it once",
        ("TR-041", "JOIN-18", "JOIN-35"),
        preparing("a", "b"),
        join("a", over="a/2", label="again", is_parked=True),
        join("b"),
        answered("again", code=0),
        answered("join b", code=0),
        sync("a", {"a": [("t", 0)], "b": [("t", 1)]}, over="a/2", code=0),
        sync("b", code=0),
    ),
    case(
        "join/changed-while-preparing",
        "lists the metadata that a member sent last before the phase ended",
        ("TR-041", "JOIN-18", "JOIN-15"),
        preparing("a", "b"),
        all_joined("b", "a", metadata=_OTHER),
    ),
    case(
        "join/every-answer-is-of-one-generation",
        "gives all members of a generation the same number, protocol and leader",
        ("JOIN-13", "JOIN-14", "TR-046"),
        gathered("a", "b", "c", "d"),
        *(beat(name, code=0) for name in ("a", "b", "c", "d")),
    ),
    case(
        "join/bytes-reach-the-leader",
        "hands the leader each member's bytes for the chosen protocol as they were sent",
        ("JOIN-15", "JOIN-32"),
        joined("a"),
        answered("join a", code=0),
        *(
            offering(step, {"range": SubscriptionBytes(user_data=b"range of b"), "roundrobin": SubscriptionBytes(user_data=b"roundrobin of b")})
            for step in joined("b", is_parked=True)
        ),
        all_joined("a", "b"),
    ),
)

CASES: tuple[Case, ...] = (*_STABLE, *_COMPLETING, *_PREPARING)

"""The actions of members of both protocols, and their ends, in each state of their group (CGG-25, CGG-30 to CGG-42, CGG-52 to CGG-56, CGG-64).

`mixed_groups.py` tests most of this in a Reconciling group. `a` is a consumer, `k` a classic member; each begins with half of t.
"""

from __future__ import annotations

from typing import Any, Final

from groupproof.harness.cases.coordinator.consumer.consumer_builders import GONE_BY, SMALL, consumer_case, mixed, shared_with_classic
from groupproof.harness.cases.coordinator.coordinator_case_builders import APART_MS, Steps, passing
from groupproof.harness.model import script_builders as classic
from groupproof.harness.model.case import Case
from groupproof.harness.model.consumer_script_builders import acknowledge, beat, describe, join, leave
from groupproof.harness.model.script import Ref, SubscriptionBytes

__all__ = ["CASES"]

_REBALANCE_MS: Final = 1_500
_LATE: Final[dict[str, Any]] = {"rebalance_timeout_ms": _REBALANCE_MS}
_OVER: Final = passing(_REBALANCE_MS + 2 * APART_MS)
_SESSION_MS: Final = 2_000
_SHORT: Final[dict[str, Any]] = {"session_timeout_ms": _SESSION_MS}
_MOST: Final = passing(_SESSION_MS * 6 // 10)
_AS_I1: Final[dict[str, Any]] = {"instance": "i1"}
_ID: Final = Ref("k", "member_id")
_OWNS: Final = SubscriptionBytes(owned=(("t", 2), ("t", 3)))
_SEEN: Final = passing(700)
"""A new group may be invisible for half a second."""
_GOES: Final = (join("b"), leave("b"))
"""Another consumer has joined and left: the group is Assigning until a consumer sends a request."""

_PASSES_BY: Final = (join("c", names=()), leave("c"))
"""A consumer without topics has joined and left: the group is Assigning, with its previous target."""

_LEAVE_OF_A: Final = classic.leave("z", members=({"member_id": "a", "group_instance_id": None},))


def _assigning(**of_k: Any) -> tuple[Steps, ...]:
    return (shared_with_classic(**of_k), _GOES)


_JOINS: Final = (
    consumer_case(
        "assigning/newcomer",
        "takes a classic newcomer while the next target is to come, and computes that for it",
        ("CGG-17", "CGG-25", "CGG-26"),
        *_assigning(),
        classic.joined("l", wait=True),
        classic.sync("l", code=0),
        describe("z", code=0),
        beat("a", code=0),
        classic.beat("k"),
    ),
    consumer_case(
        "assigning/joins-again",
        "takes a classic member that joins again while the next target is to come to that target",
        ("CGG-39", "CGG-26"),
        *_assigning(),
        classic.join("k", wait=True, metadata=_OWNS, code=0),
        classic.sync("k", code=0),
        describe("z", code=0),
        classic.beat("k", code=0),
    ),
    consumer_case(
        "assigning/subscription-changes",
        "counts the epoch up for another subscription of a classic member while the next target is to come",
        ("CGG-39", "CGX-01"),
        *_assigning(),
        classic.join("k", wait=True, metadata=SubscriptionBytes(topics=("t", "u"), owned=(("t", 2), ("t", 3))), code=0),
        classic.sync("k", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "assigning/joins-and-does-not-sync",
        "removes a classic member that joins while the next target is to come, and does not sync in time",
        ("CGG-41",),
        *_assigning(**_LATE),
        classic.join("k", wait=True, metadata=_OWNS, code=0, **_LATE),
        _OVER,
        describe("z", code=0),
        classic.beat("k", code=25),
    ),
)

_LIVES: Final = (
    *(
        consumer_case(
            f"{state}/kept-by-{name}",
            f"restarts the session of a classic member with each {words} that it takes while the group is {state.title()}",
            ("CGG-42", requirement),
            *steps,
            *(_MOST, asked) * 3,
            describe("z", code=0),
        )
        for state, steps in (
            ("assigning", (shared_with_classic(**_SHORT), _PASSES_BY)),
            ("reconciling", (shared_with_classic(**_SHORT), join("b"), join("c"))),
            ("stable", (shared_with_classic(**_SHORT),)),
        )
        for name, words, requirement, asked in (
            ("heartbeats", "Heartbeat", "CGG-36", classic.beat("k")),
            ("syncs", "SyncGroup", "CGG-30", classic.sync("k")),
        )
    ),
    consumer_case(
        "reconciling/kept-by-syncs-while-it-waits",
        "restarts the session of a classic member that waits for partitions with each SyncGroup",
        ("CGG-42", "CGG-30"),
        mixed(**_SHORT),
        *(_MOST, classic.sync("k", code=0)) * 3,
        describe("z", code=0),
    ),
    *(
        consumer_case(
            f"{state}/told-by-{name}-and-late",
            f"counts the time to join again from what a {words} is answered while the group is {state.title()}",
            ("CGG-40", "CGG-14"),
            *steps,
            asked,
            _OVER,
            describe("z", code=0),
            classic.beat("k"),
        )
        for state, steps in (("assigning", _assigning(**_LATE)), ("reconciling", (shared_with_classic(**_LATE), join("b"), join("c"))))
        for name, words, asked in (("heartbeat", "Heartbeat", classic.beat("k")), ("sync", "SyncGroup", classic.sync("k")))
    ),
)

_DEADLINES: Final = (
    consumer_case(
        "assigning/rejoins-too-late",
        "removes a classic member that does not join again in time though the next target is to come by then",
        ("CGG-40",),
        shared_with_classic(**_LATE),
        (join("b"), join("c")),
        classic.beat("k", code=27),
        leave("c", code=0),
        _OVER,
        describe("z", code=0),
        classic.beat("k", code=25),
    ),
    consumer_case(
        "assigning/syncs-too-late",
        "removes a classic member that does not sync in time though the next target is to come by then",
        ("CGG-41",),
        shared_with_classic(**_LATE),
        classic.join("k", wait=True, metadata=_OWNS, code=0, **_LATE),
        _GOES,
        _OVER,
        describe("z", code=0),
        classic.beat("k", code=25),
    ),
    consumer_case(
        "stable/syncs-too-late",
        "removes a classic member of a Stable group that joins again and does not sync in time",
        ("CGG-41",),
        shared_with_classic(**_LATE),
        classic.join("k", wait=True, metadata=_OWNS, code=0, **_LATE),
        describe("z", code=0),
        _OVER,
        describe("z", code=0),
        classic.beat("k", code=25),
    ),
    consumer_case(
        "stable/syncs-in-time",
        "ends a classic member's time to sync with its SyncGroup",
        ("CGG-41", "CGG-36"),
        shared_with_classic(**_LATE),
        classic.join("k", wait=True, metadata=_OWNS, code=0, **_LATE),
        classic.sync("k", code=0),
        _OVER,
        classic.beat("k", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "assigning/syncs-in-time",
        "ends a classic member's time to sync with a SyncGroup while the next target is to come",
        ("CGG-41", "CGG-30"),
        shared_with_classic(**_LATE),
        classic.join("k", wait=True, metadata=_OWNS, code=0, **_LATE),
        _PASSES_BY,
        classic.sync("k"),
        _OVER,
        describe("z", code=0),
        classic.beat("k"),
    ),
)


def _turned_consumer(*before: Steps) -> tuple[Steps, ...]:
    """Make k a consumer by a heartbeat, while a timer of its classic membership still runs, beside l, which stays classic."""
    return (
        shared_with_classic(**_LATE),
        classic.joined("l", wait=True),
        classic.sync("l", code=0),
        *before,
        beat("k", member_id=_ID, epoch=Ref("k", "generation"), code=0),
    )


_REJOINS: Final = (classic.beat("k", code=27),)
_RESYNCS: Final = (classic.join("k", wait=True, metadata=_OWNS, code=0, **_LATE),)
_TIMES: Final = (("time-to-rejoin", "join again", "CGG-40", _REJOINS), ("time-to-sync", "sync", "CGG-41", _RESYNCS))
_K_BEATS: Final = beat("k", member_id=_ID, owned="own")
_L_JOINS: Final = (classic.join("l", wait=True), classic.sync("l"))
_STALE: Final = tuple(
    consumer_case(
        f"{state}/{name}-ends-a-consumer",
        f"ends a member that has become a consumer when its time to {words} as a classic one is over, be it the last while the group is {state.title()}",
        ("CGG-54", requirement, "CGG-49"),
        *_turned_consumer(*requests),
        leave("a", code=0),
        *more,
        _OVER,
        classic.describe("z"),
        classic.beat("l"),
    )
    for name, words, requirement, requests in _TIMES
    for state, more in (("assigning", ()), ("reconciling", (_K_BEATS,)), ("stable", (_K_BEATS, _L_JOINS, _K_BEATS, _L_JOINS)))
)
_ALONE: Final = tuple(
    consumer_case(
        f"assigning/{name}-ends-the-last-member",
        f"is Empty when the last member, which has become a consumer, does not {words} in time as a classic one",
        ("CGD-07", requirement, "CGG-49"),
        *_turned_consumer(*requests),
        (classic.leave("l", code=0), leave("a", code=0)),
        _OVER,
        describe("z", code=0),
    )
    for name, words, requirement, requests in _TIMES
)

_OF_STATES: Final = (
    consumer_case(
        "stable/rejoins-too-late",
        "removes a member that has become a consumer when its time to join again as a classic one is over, though the group is Stable",
        ("CGG-40", "CGG-49"),
        shared_with_classic(**_LATE),
        join("b"),
        classic.beat("k"),
        beat("k", member_id=_ID, epoch=Ref("k", "generation"), code=0),
        leave("b", code=0),
        acknowledge("a"),
        _K_BEATS,
        acknowledge("a"),
        describe("z", code=0),
        _OVER,
        describe("z", code=0),
    ),
)

_LAST_ONES: Final = (
    *(
        consumer_case(
            f"{state}/last-consumer-{name}",
            f"makes the group a classic one when the last consumer {words} while it is {state.title()}",
            ("CGG-52", "CGG-54", "CGG-55"),
            shared_with_classic(),
            *before,
            *goes,
            _SEEN,
            classic.describe("z"),
            classic.beat("k"),
            settings=SMALL,
        )
        for state, before in (("assigning", (_GOES,)), ("stable", ()))
        for name, words, goes in (
            ("leaves", "leaves", (leave("a", code=0),)),
            ("is-removed", "is removed by a LeaveGroup", (_LEAVE_OF_A,)),
            ("falls-silent", "falls silent", (GONE_BY,)),
        )
    ),
    *(
        consumer_case(
            f"{state}/last-consumer-revokes-too-late",
            f"makes the group a classic one when the last consumer does not revoke in time while it is {state.title()}",
            ("CGM-46", "CGG-54", "CGG-55"),
            join("a", timeout=_REBALANCE_MS),
            classic.joined("k", wait=True),
            classic.sync("k", code=0),
            beat("a", code=0),
            *before,
            _OVER,
            classic.describe("z"),
            classic.beat("k"),
        )
        for state, before in (("assigning", (_GOES,)), ("reconciling", ()))
    ),
    consumer_case(
        "assigning/all-are-removed",
        "is Empty when a LeaveGroup removes the last member while the next target is to come",
        ("CGG-46", "CGG-48", "CGD-07"),
        join("a"),
        *_GOES,
        _LEAVE_OF_A,
        describe("z", code=0),
        beat("a", code=25),
    ),
    consumer_case(
        "assigning/one-of-several-is-removed",
        "removes whom a LeaveGroup names while the next target is to come",
        ("CGG-46", "CGG-48"),
        (join("a"), join("c"), *_GOES),
        classic.leave("z", members=({"member_id": "c", "group_instance_id": None},)),
        describe("z", code=0),
        beat("c", code=25),
        beat("a", code=0),
    ),
    *(
        consumer_case(
            f"{state}/only-static-consumer-is-replaced",
            f"makes the group a classic one where a JoinGroup takes the place of the only consumer while it is {state.title()}",
            ("CGG-64", "CGG-66"),
            *before,
            classic.join("k", wait=True, code=0, **_AS_I1),
            classic.describe("z"),
            classic.sync("k", **_AS_I1),
            classic.beat("k", **_AS_I1),
            beat("a", code=69, **_AS_I1),
        )
        for state, before in (
            ("assigning", (join("a", **_AS_I1), *_GOES)),
            ("reconciling", (join("a", **_AS_I1), classic.joined("l", wait=True), classic.sync("l", code=0))),
        )
    ),
    consumer_case(
        "reconciling/only-static-consumer-is-replaced-with-other-topics",
        "has the group join again where the JoinGroup that replaces the only consumer, while others wait for partitions, subscribes to other topics",
        ("CGG-64",),
        join("a", names=("t", "u"), **_AS_I1),
        classic.joined("l", wait=True),
        classic.sync("l", code=0),
        classic.join("k", wait=True, code=0, **_AS_I1),
        classic.describe("z"),
        classic.beat("k", **_AS_I1),
    ),
    *(
        consumer_case(
            f"{state}/goes-away",
            f"keeps the place of a static consumer that goes away while the group is {state.title()}, and what it was to revoke is free",
            ("CGS-11", "CGS-12", "CGR-20"),
            (join("a", **_AS_I1), join("b"), beat("a", **_AS_I1)),
            *before,
            beat("a", epoch=-2, code=0, **_AS_I1),
            describe("z", code=0),
            beat("b", code=0),
            join("r", code=0, **_AS_I1),
            describe("z", code=0),
        )
        for state, before in (("assigning", (join("c"), leave("c"))), ("reconciling", ()))
    ),
    consumer_case(
        "assigning/another-leaves",
        "is Assigning still when one more member leaves before the next target",
        ("CGM-33", "CGD-04"),
        (join("a"), join("b"), join("c")),
        leave("c", code=0),
        describe("z", code=0),
        leave("b", code=0),
        describe("z", code=0),
        beat("a", code=0),
        describe("z", code=0),
    ),
)

CASES: Final[tuple[Case, ...]] = (*_JOINS, *_LIVES, *_DEADLINES, *_STALE, *_ALONE, *_OF_STATES, *_LAST_ONES)

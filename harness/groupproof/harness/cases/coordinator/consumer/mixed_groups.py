"""Members of the classic protocol in a consumer group: answers to JoinGroup, SyncGroup, Heartbeat and commits (CGG-16 to CGG-48, CGG-71, CGG-72)."""

from __future__ import annotations

from typing import Any, Final

from groupproof.harness.cases.coordinator.consumer.consumer_builders import SMALL, consumer_case, mixed, shared_with_classic
from groupproof.harness.cases.coordinator.coordinator_case_builders import APART_MS, passing
from groupproof.harness.model import script_builders as classic
from groupproof.harness.model.case import Case
from groupproof.harness.model.consumer_script_builders import acknowledge, beat, commit, describe, fetch, join, leave
from groupproof.harness.model.script import Ref, SubscriptionBytes

__all__ = ["CASES"]

_LATER: Final = Ref("k", "generation", 1)
_EARLIER: Final = Ref("k", "generation", -1)
_REBALANCE_MS: Final = 1_500
_SHORT: Final[dict[str, Any]] = {"rebalance_timeout_ms": _REBALANCE_MS}
_SESSION_MS: Final = 2_000
_TWO_MORE: Final = (join("b", code=0), join("c", code=0))
"""With these there is one partition for every member, so each of the first two has to give one up."""
_OVER: Final = passing(_REBALANCE_MS + 2 * APART_MS)


def _owning(*indexes: int) -> SubscriptionBytes:
    return SubscriptionBytes(owned=tuple(("t", index) for index in indexes))


_JOINS: Final = (
    consumer_case(
        "mixed/classic-member-joins",
        "answers a JoinGroup to a group of consumers at once, with the epoch as generation, no leader and no list of members",
        ("CGG-17", "CGG-23", "CGG-25", "CGG-26", "CGG-27", "CGG-30", "CGG-16"),
        mixed(),
        describe("z", code=0),
        describe("z", version=0, code=0),
        beat("a", code=0),
    ),
    consumer_case(
        "mixed/id-of-its-own-making",
        "takes a JoinGroup with an id that the client made",
        ("CGG-24", "CGG-25"),
        join("a"),
        classic.join("k", member_id="k", wait=True, code=0),
        classic.sync("k", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "mixed/other-protocols",
        "refuses a JoinGroup of another type, without protocols, or with none that all classic members have",
        ("CGG-20", "CGG-21", "CGG-22"),
        mixed(),
        classic.join("z", wait=True, protocol_type="connect", code=23),
        classic.join("z", wait=True, protocols=(), code=23),
        classic.join("z", wait=True, member_id="z", protocols=("another",), code=23),
        describe("z", code=0),
        classic.beat("k", code=0),
    ),
    consumer_case(
        "mixed/first-of-several-protocols",
        "answers a classic member its own first protocol",
        ("CGG-26", "CGG-22", "CGG-32"),
        mixed(),
        classic.joined("l", wait=True, protocols=("roundrobin", "range")),
        classic.sync("l", code=0),
        classic.sync("l", protocol_name="range", code=23),
    ),
    consumer_case(
        "mixed/full-group",
        "refuses a JoinGroup to a full group of consumers",
        ("CGG-68",),
        (join("a"), join("b"), join("c")),
        classic.join("k", member_id="k", wait=True, code=81),
        describe("z", code=0),
        beat("a", code=0),
        settings=SMALL,
    ),
)

_REQUESTS: Final = (
    consumer_case(
        "mixed/waiting-member",
        "answers the Heartbeat of a classic member that waits for the partitions of others with 0",
        ("CGG-38", "CGG-36"),
        mixed(),
        classic.beat("k", code=0),
        beat("a", code=0),
        classic.beat("k", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "mixed/partitions-become-free",
        "sends a classic member back to JoinGroup by its Heartbeat once its partitions are free, and by nothing else",
        ("CGG-37", "CGG-71", "CGG-39", "CGG-36"),
        mixed(),
        beat("a"),
        acknowledge("a"),
        classic.sync("k", code=0),
        classic.beat("k", code=27),
        classic.join("k", wait=True, code=0),
        classic.sync("k", code=0),
        classic.beat("k", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "mixed/revocation",
        "has a classic member give partitions up by its next JoinGroup",
        ("CGG-14", "CGG-39", "CGG-30"),
        shared_with_classic(),
        _TWO_MORE,
        classic.beat("k", code=27),
        classic.join("k", wait=True, metadata=_owning(2, 3), code=0),
        classic.sync("k", code=0),
        describe("z", code=0),
        classic.beat("k", code=27),
        classic.join("k", wait=True, metadata=_owning(2), code=0),
        classic.sync("k", code=0),
        beat("b", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "mixed/other-generations",
        "refuses a SyncGroup and a Heartbeat of another generation with 22",
        ("CGG-31", "CGG-35"),
        mixed(),
        classic.sync("k", generation_id=_LATER, code=22),
        classic.sync("k", generation_id=_EARLIER, code=22),
        classic.beat("k", generation_id=_LATER, code=22),
        classic.beat("k", generation_id=_EARLIER, code=22),
        classic.beat("k", code=0),
    ),
    consumer_case(
        "mixed/sync-of-another-protocol",
        "refuses a SyncGroup of another protocol type or name with 23",
        ("CGG-32",),
        mixed(),
        classic.sync("k", protocol_type="connect", code=23),
        classic.sync("k", protocol_name="another", code=23),
        classic.sync("k", code=0),
    ),
    consumer_case(
        "mixed/consumers-by-classic-requests",
        "answers the Heartbeat and the SyncGroup of a consumer with 25, be there classic members or not",
        ("CGG-33", "CGG-34"),
        mixed(),
        classic.beat("a", member_id="a", generation_id=Ref("a", "member_epoch"), code=25),
        classic.sync("a", member_id="a", generation_id=Ref("a", "member_epoch"), protocol_name="range", code=25),
        classic.beat("z", member_id="nobody", generation_id=1, code=25),
    ),
    consumer_case(
        "mixed/subscription-changes",
        "takes over what a classic member subscribes to from its next JoinGroup",
        ("CGG-39", "CGG-14"),
        shared_with_classic(),
        classic.join("k", wait=True, metadata=SubscriptionBytes(topics=("t", "u"), owned=(("t", 2), ("t", 3))), code=0),
        classic.sync("k", code=0),
        describe("z", code=0),
        classic.beat("k"),
    ),
    consumer_case(
        "mixed/same-subscription-again",
        "counts no epoch up for a JoinGroup that changes nothing",
        ("CGG-39", "CGG-26"),
        shared_with_classic(),
        classic.join("k", wait=True, metadata=_owning(2, 3), code=0),
        classic.sync("k", code=0),
        classic.beat("k", code=0),
        describe("z", code=0),
    ),
)

_OFFSETS: Final = (
    consumer_case(
        "mixed/commits",
        "takes commits of a classic member by its generation, and refuses a newer one with 22",
        ("CGG-43", "CGG-44"),
        shared_with_classic(),
        classic.commit("k", {("t", 2): 5}, version=8, code=0),
        classic.commit("k", {("t", 2): 6}, version=9, code=0),
        classic.commit("k", {("t", 2): 7}, version=9, generation_id=_LATER),
        classic.commit("k", {("t", 2): 7}, version=8, generation_id=_LATER),
        fetch("z", {"t": (2,)}, member_id=None, epoch=-1, code=0),
        commit("a", {("t", 0): 3}, code=0),
    ),
    consumer_case(
        "mixed/commits-of-an-older-generation",
        "refuses a commit of an older generation for partitions that were assigned later with 22",
        ("CGG-72", "CGG-44"),
        shared_with_classic(),
        classic.commit("k", {("t", 2): 7}, version=9, generation_id=_EARLIER),
        classic.commit("k", {("t", 0): 7}, version=9, generation_id=_EARLIER),
        fetch("z", {"t": (0, 2)}, member_id=None, epoch=-1, code=0),
    ),
    consumer_case(
        "mixed/fetches",
        "refuses a fetch of a classic member with another generation with 22",
        ("CGG-45",),
        shared_with_classic(),
        fetch("k", member_id=Ref("k", "member_id"), epoch=Ref("k", "generation"), code=0),
        fetch("k", member_id=Ref("k", "member_id"), epoch=_LATER),
        fetch("k", member_id=Ref("k", "member_id"), epoch=_EARLIER),
    ),
)

_GOING: Final = (
    consumer_case(
        "mixed/classic-member-leaves",
        "removes a classic member by its LeaveGroup, and gives its partitions away",
        ("CGG-46",),
        shared_with_classic(),
        classic.leave("k", code=0),
        describe("z", code=0),
        beat("a", code=0),
        classic.beat("k", code=25),
    ),
    consumer_case(
        "mixed/static-classic-member-leaves",
        "removes a static classic member by its instance",
        ("CGG-46", "CGG-47"),
        join("a"),
        classic.join("k", instance="i1", wait=True, code=0),
        classic.sync("k", instance="i1", code=0),
        classic.leave("z", members=({"member_id": "", "group_instance_id": "i9"},)),
        classic.leave("z", members=({"member_id": "", "group_instance_id": "i1"},)),
        describe("z", code=0),
    ),
    consumer_case(
        "mixed/both-leave-at-once",
        "removes several members by one LeaveGroup, of which one speaks either protocol",
        ("CGG-46", "CGG-48", "CGG-59"),
        mixed(),
        classic.leave("z", members=({"member_id": "a", "group_instance_id": None}, {"member_id": Ref("k", "member_id"), "group_instance_id": None})),
        describe("z"),
        beat("a"),
    ),
    consumer_case(
        "mixed/session",
        "removes a classic member whose session ends, by the timeout of its JoinGroup",
        ("CGG-42",),
        join("a"),
        classic.joined("k", wait=True, session_timeout_ms=_SESSION_MS),
        classic.sync("k", code=0),
        passing(_SESSION_MS * 6 // 10),
        classic.beat("k", code=0),
        passing(_SESSION_MS * 6 // 10),
        classic.beat("k", code=0),
        passing(_SESSION_MS + 2 * APART_MS),
        classic.beat("k", code=25),
        describe("z", code=0),
    ),
    consumer_case(
        "mixed/no-sync",
        "removes a classic member that joins and does not sync within its rebalance timeout",
        ("CGG-41",),
        join("a"),
        classic.joined("k", wait=True, **_SHORT),
        classic.beat("k", code=0),
        _OVER,
        classic.beat("k", code=25),
        describe("z", code=0),
    ),
    consumer_case(
        "mixed/no-join-after-27",
        "removes a classic member that is told 27 and does not join again within its rebalance timeout",
        ("CGG-40", "CGG-14"),
        shared_with_classic(**_SHORT),
        _TWO_MORE,
        classic.beat("k", code=27),
        _OVER,
        classic.beat("k", code=25),
        describe("z", code=0),
    ),
    consumer_case(
        "mixed/joins-again-in-time",
        "keeps a classic member that is told 27 and joins again in time",
        ("CGG-40", "CGG-41", "CGG-39"),
        shared_with_classic(**_SHORT),
        _TWO_MORE,
        classic.beat("k", code=27),
        passing(_REBALANCE_MS // 2),
        classic.join("k", wait=True, metadata=_owning(2, 3), code=0, **_SHORT),
        classic.sync("k", code=0),
        classic.join("k", wait=True, metadata=_owning(2), code=0, **_SHORT),
        classic.sync("k", code=0),
        _OVER,
        classic.beat("k", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "mixed/consumer-leaves-another-stays",
        "stays a group of consumers while one of them is left",
        ("CGG-52", "CGM-33"),
        shared_with_classic(),
        join("b"),
        leave("a", code=0),
        describe("z", code=0),
        classic.beat("k", code=27),
    ),
)

CASES: Final[tuple[Case, ...]] = (*_JOINS, *_REQUESTS, *_OFFSETS, *_GOING)

"""Groups that change their protocol while they have members, under every policy (CGG-01 to CGG-15, CGG-49 to CGG-76)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from groupproof.harness.cases.coordinator.consumer.consumer_builders import GONE_BY, QUICK, SMALL, consumer_case, mixed, shared_with_classic
from groupproof.harness.cases.coordinator.coordinator_case_builders import APART_MS, passing
from groupproof.harness.model import script_builders as classic
from groupproof.harness.model.case import Case
from groupproof.harness.model.consumer_script_builders import away, beat, describe, fetch, join, leave
from groupproof.harness.model.script import AssignmentBytes, Ref
from groupproof.protocol.rules.consumer.group_configs import MIGRATION_POLICY

__all__ = ["CASES"]

_ID: Final = Ref("k", "member_id")
_CONNECT: Final[dict[str, Any]] = {"protocol_type": "connect"}
_AS_I1: Final[dict[str, Any]] = {"instance": "i1"}
_SYNC: Final = classic.sync("k", code=0)
_WITH_DATA: Final = {"member_id": _ID, "assignment": AssignmentBytes((("t", 0),), user_data=b"own")}
_SYNC_WITH_DATA: Final = replace(_SYNC, fields={**_SYNC.fields, "assignments": (_WITH_DATA,)})

_UPGRADES: Final = (
    consumer_case(
        "upgrade/live-group",
        "makes a classic group with members one of consumers for the first that joins, and keeps members, generation, assignment and offsets",
        ("CGG-01", "CGG-11", "CGG-12", "CGG-13", "CGG-14", "CGG-28", "CGG-69"),
        classic.stable("k"),
        classic.commit("k", {("t", 0): 7}, code=0),
        join("a", code=0),
        describe("z", code=0),
        classic.commit("k", {("t", 0): 8}, code=0),
        fetch("z", member_id=None, epoch=-1, code=0),
        classic.beat("k", code=27),
        classic.join("k", wait=True, code=0),
        classic.sync("k", code=0),
        classic.beat("k"),
        describe("z", code=0),
    ),
    consumer_case(
        "upgrade/several-members",
        "tells every classic member whose share changes by an upgrade to join again",
        # The case describes no group: the owner of the free partition depends on the hashes of the member ids.
        ("CGG-74", "CGG-14"),
        classic.stable("k", "l"),
        join("a", code=0),
        classic.beat("k"),
        classic.beat("l"),
    ),
    consumer_case(
        "upgrade/parked-join",
        "answers a JoinGroup that waits in the classic group with 27 at the upgrade",
        ("CGG-15", "CGG-74"),
        classic.stable("k"),
        classic.joined("l"),
        join("a", code=0),
        classic.answered("join l", code=27),
    ),
    consumer_case(
        "upgrade/parked-sync",
        "answers a SyncGroup that waits in the classic group with 27 at the upgrade",
        ("CGG-15",),
        classic.stable("k", "l"),
        classic.join("k"),
        classic.join("l"),
        classic.answered("join k", code=0),
        classic.answered("join l", code=0),
        classic.sync("l", wait=False, is_parked=True),
        join("a", code=0),
        classic.answered("sync l", code=27),
        describe("z", code=0),
    ),
    consumer_case(
        "upgrade/other-type",
        "refuses a join to a live classic group of another type with 69",
        ("CGG-05",),
        classic.joined("k", **_CONNECT),
        classic.answered("join k", code=0),
        classic.sync("k", {"k": []}, **_CONNECT, code=0),
        join("a", code=69),
        classic.beat("k", code=0),
    ),
    consumer_case(
        "upgrade/unreadable-subscription",
        "refuses a join to a live classic group with a subscription that cannot be read with 69",
        ("CGG-09",),
        classic.joined("k", metadata=b"\x00"),
        classic.answered("join k", code=0),
        classic.sync("k", {"k": []}, code=0),
        join("a", code=69),
        classic.beat("k", code=0),
    ),
    consumer_case(
        "upgrade/data-of-an-assignor",
        "refuses a join to a live classic group whose assignment carries data of its assignor with 69",
        ("CGG-10",),
        classic.joined("k"),
        classic.answered("join k", code=0),
        _SYNC_WITH_DATA,
        join("a", code=69),
        classic.beat("k", code=0),
    ),
    consumer_case(
        "upgrade/too-many-members",
        "refuses a join to a classic group with more members than a group of consumers may have with 69",
        ("CGG-07",),
        classic.stable("k", "l", "m", "n"),
        join("a", code=69),
        classic.beat("k", code=0),
        settings=SMALL,
    ),
    consumer_case(
        "upgrade/as-many-members-as-may-be",
        "refuses a join to a classic group with as many members as a group of consumers may have",
        ("CGG-07", "CGG-08"),
        classic.stable("k", "l", "m"),
        join("a"),
        classic.beat("k", code=0),
        settings=SMALL,
    ),
)

_SWITCHES: Final = (
    consumer_case(
        "switch/by-a-heartbeat",
        "takes a classic member as a consumer that sends a heartbeat with its id and its generation",
        ("CGG-49",),
        mixed(),
        beat("k", member_id=_ID, epoch=Ref("k", "generation"), code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "switch/by-a-join",
        "takes a classic member as a consumer that joins by its id, since 4.2",
        ("CGG-50", "CGG-51"),
        classic.stable("k"),
        join("k", member_id=_ID),
        describe("z"),
        classic.describe("z"),
    ),
    consumer_case(
        "switch/static-classic-member",
        "gives the place of a static classic member to a consumer of its instance, with its assignment and no other epoch",
        ("CGG-60", "CGG-61", "CGG-62"),
        classic.stable("k", **_AS_I1),
        join("a", **_AS_I1, code=0),
        describe("z", code=0),
        classic.beat("k", **_AS_I1, code=82),
    ),
    consumer_case(
        "switch/static-consumer",
        "gives the place of a static consumer to a JoinGroup of its instance",
        ("CGG-63", "CGG-66"),
        join("a", **_AS_I1),
        join("b"),
        classic.join("k", **_AS_I1, wait=True, code=0),
        classic.sync("k", **_AS_I1, code=0),
        describe("z", code=0),
        beat("a", **_AS_I1, code=82),
    ),
    consumer_case(
        "switch/only-static-consumer",
        "makes the group a classic one, Stable, where the only consumer is replaced by a JoinGroup of its instance",
        ("CGG-64", "CGG-66"),
        join("a", **_AS_I1),
        classic.join("k", **_AS_I1, wait=True, code=0),
        classic.describe("z"),
        beat("a", **_AS_I1, code=69),
        classic.sync("k", **_AS_I1, code=0),
        classic.beat("k", **_AS_I1, code=0),
    ),
    # KAFKA-19546: before 4.0.2 and 4.1.1 the group is Stable here, and the member keeps partitions of a topic that it no longer subscribes.
    consumer_case(
        "switch/only-static-consumer-with-other-topics",
        "has the group join again where the JoinGroup that replaces the only consumer subscribes to other topics",
        ("CGG-64",),
        join("a", names=("t", "u"), **_AS_I1),
        classic.join("k", **_AS_I1, wait=True, code=0),
        classic.describe("z"),
        classic.beat("k", **_AS_I1),
    ),
    consumer_case(
        "switch/place-of-one-that-is-away",
        "gives the place of a static consumer that is away to a JoinGroup of its instance",
        ("CGG-67",),
        join("a", **_AS_I1),
        join("b"),
        away("a", "i1"),
        classic.join("k", **_AS_I1, wait=True, code=0),
        classic.sync("k", **_AS_I1, code=0),
        describe("z", code=0),
    ),
)

_REBALANCE_MS: Final = 1_500
_GROUP_GOES_BACK: Final = (
    classic.join("k"),
    classic.answered("join k", code=0),
    classic.sync("k", {"k": [("t", 0)]}, code=0),
    classic.beat("k", code=0),
)

_DOWNGRADES: Final = (
    consumer_case(
        "downgrade/last-consumer-leaves",
        "makes the group a classic one that rebalances when the last consumer leaves, with a generation above its epoch, a leader and its offsets",
        ("CGG-52", "CGG-55", "CGG-56", "CGG-57", "CGG-58", "CGG-13"),
        mixed(),
        classic.commit("k", {("t", 0): 7}, version=9),
        leave("a", code=0),
        describe("z"),
        classic.describe("z"),
        classic.beat("k"),
        _GROUP_GOES_BACK,
        fetch("z", member_id=None, epoch=-1, code=0),
        classic.describe("z"),
    ),
    consumer_case(
        "downgrade/settled-group",
        "tells the settled classic members of a group whose last consumer leaves to join again",
        ("CGG-52", "CGG-55", "CGG-56"),
        shared_with_classic(),
        leave("a", code=0),
        classic.beat("k"),
        _GROUP_GOES_BACK,
    ),
    consumer_case(
        "downgrade/by-leave-group",
        "makes the group a classic one where a LeaveGroup removes the last consumer",
        ("CGG-54", "CGG-55"),
        mixed(),
        classic.leave("z", members=({"member_id": "a", "group_instance_id": None},)),
        classic.describe("z"),
        _GROUP_GOES_BACK,
    ),
    consumer_case(
        "downgrade/by-session",
        "makes the group a classic one when the session of the last consumer ends",
        ("CGG-54", "CGG-55"),
        mixed(),
        GONE_BY,
        classic.describe("z"),
        _GROUP_GOES_BACK,
        settings=SMALL,
    ),
    consumer_case(
        "downgrade/nobody-joins-again",
        "ends the rebalance of a downgraded group after the longest rebalance timeout, without those who have not joined again",
        ("CGG-55", "CGG-52"),
        mixed(rebalance_timeout_ms=_REBALANCE_MS),
        leave("a", code=0),
        classic.beat("k"),
        passing(_REBALANCE_MS + 2 * APART_MS),
        classic.describe("z"),
        classic.beat("k"),
    ),
    consumer_case(
        "downgrade/wrong-generations",
        "refuses commits of a wrong generation to a classic group with 22, before and after a downgrade",
        ("CGG-73",),
        classic.stable("k"),
        classic.commit("k", generation_id=Ref("k", "generation", 5)),
        join("a"),
        leave("a"),
        classic.commit("k", generation_id=Ref("k", "generation", 5)),
        _GROUP_GOES_BACK,
        classic.commit("k", generation_id=Ref("k", "generation", 1)),
        classic.commit("k", code=0),
    ),
    consumer_case(
        "downgrade/a-consumer-joins-again",
        "makes the group one of consumers again for the next that joins",
        ("CGG-01", "CGG-11", "CGG-15", "CGG-57"),
        mixed(),
        leave("a", code=0),
        join("a", code=0),
        describe("z", code=0),
        classic.beat("k"),
    ),
)


def _by_policy() -> Iterator[Case]:
    """Yield cases on each policy's permissions; all other cases use the default policy."""
    for policy in ("upgrade", "downgrade", "disabled"):
        settings = {**QUICK, MIGRATION_POLICY: policy}
        yield consumer_case(
            f"policy/{policy}-consumer-to-classic-members",
            f"upgrades a classic group with members under the policy {policy}, or refuses the join with 69",
            ("CGG-01", "CGG-02"),
            classic.stable("k"),
            join("a"),
            describe("z"),
            classic.beat("k"),
            settings=settings,
        )
        yield consumer_case(
            f"policy/{policy}-empty-groups",
            f"turns Empty groups into either kind under the policy {policy}",
            ("CGG-03", "CGG-04", "CGG-76"),
            classic.stable("k"),
            classic.leave("k", code=0),
            join("a", code=0),
            leave("a", code=0),
            classic.joined("l"),
            classic.answered("join l", code=0),
            classic.describe("z"),
            settings=settings,
        )
        yield consumer_case(
            f"policy/{policy}-classic-to-consumers",
            f"takes a JoinGroup to a group of consumers under the policy {policy} as that says, and then lets the last consumer leave",
            ("CGG-17", "CGG-18", "CGG-19", "CGG-52", "CGG-53"),
            join("a"),
            classic.join("k", member_id="k", wait=True),
            leave("a", code=0),
            describe("z"),
            classic.describe("z"),
            settings=settings,
        )
        yield consumer_case(
            f"policy/{policy}-static-places",
            f"gives places of static members to the other protocol under the policy {policy} as that says",
            ("CGG-64", "CGG-65", "CGG-75"),
            join("a", **_AS_I1),
            classic.join("k", **_AS_I1, wait=True),
            describe("z"),
            classic.describe("z"),
            settings=settings,
        )
        yield consumer_case(
            f"policy/{policy}-consumer-in-a-static-place",
            f"lets a consumer take the place of a static classic member under the policy {policy}, or refuses it with 69",
            ("CGG-60", "CGG-75"),
            classic.stable("k", **_AS_I1),
            join("a", **_AS_I1),
            describe("z"),
            classic.beat("k", **_AS_I1),
            settings=settings,
        )


# KAFKA-17317: brokers before 4.0 keep it a consumer group without members. They know only version 0 of the heartbeat.
_BEFORE_4_0: Final = (
    consumer_case(
        "switch/only-static-consumer-by-version-0",
        "makes the group a classic one where the only consumer, which speaks version 0, is replaced by a JoinGroup of its instance",
        ("CGG-64", "CGG-66"),
        join("a", version=0, **_AS_I1),
        classic.join("k", **_AS_I1, wait=True, code=0),
        classic.describe("z"),
        beat("a", version=0, **_AS_I1, code=69),
    ),
)


CASES: Final[tuple[Case, ...]] = (*_UPGRADES, *_SWITCHES, *_DOWNGRADES, *_by_policy(), *_BEFORE_4_0)

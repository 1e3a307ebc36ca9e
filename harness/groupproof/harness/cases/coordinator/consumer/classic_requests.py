"""Requests of the classic protocol to a group of consumers, and of KIP-848 to a classic group (CGG-01 to CGG-48, CGH-47)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from groupproof.harness.cases.coordinator.consumer.consumer_builders import CLASSIC_ALONE, consumer_case, shared
from groupproof.harness.cases.coordinator.coordinator_case_builders import DELAYED, INITIAL_DELAY_MS, alone, passing
from groupproof.harness.model import script_builders as classic
from groupproof.harness.model.case import Case
from groupproof.harness.model.consumer_script_builders import beat, commit, describe, fetch, full, join, leave
from groupproof.harness.model.script import Ref
from groupproof.harness.model.verdicts import Level

__all__ = ["CASES"]

_GENERATION: Final = Ref("a", "member_epoch")
_AS_A: Final[Mapping[str, Any]] = {"member_id": "a", "generation_id": _GENERATION}
_AS_STRANGER: Final[Mapping[str, Any]] = {"member_id": "nobody", "generation_id": _GENERATION}
_SYNC_AS_A: Final[Mapping[str, Any]] = {**_AS_A, "protocol_name": "range"}
_REBALANCE_MS: Final = 2_400
_EMPTIED: Final = (*classic.stable("k"), classic.leave("k", code=0))

_IN_CONSUMER_GROUPS: Final = (
    consumer_case(
        "classic-request/heartbeat",
        "answers the Heartbeat of a consumer, and of a stranger, with 25",
        ("CGG-34",),
        join("a"),
        classic.beat("a", **_AS_A, code=25),
        classic.beat("z", **_AS_STRANGER, code=25),
        classic.beat("z", **_AS_STRANGER, instance="i9", code=25),
        beat("a", code=0),
    ),
    consumer_case(
        "classic-request/sync",
        "answers the SyncGroup of a consumer, and of a stranger, with 25",
        ("CGG-33",),
        join("a"),
        classic.sync("a", **_SYNC_AS_A, code=25),
        classic.sync("z", **{**_SYNC_AS_A, "member_id": "nobody"}, code=25),
        beat("a", code=0),
    ),
    consumer_case(
        "classic-request/leave",
        "removes a consumer that a LeaveGroup names",
        ("CGG-48", "CGG-46"),
        shared(),
        classic.leave("z", members=({"member_id": "b", "group_instance_id": None},)),
        describe("z", code=0),
        beat("b", code=25),
        beat("a", code=0),
    ),
    consumer_case(
        "classic-request/leave-of-a-stranger",
        "answers the LeaveGroup of a stranger, and of an unknown instance, with 25 in its entry",
        ("CGG-47",),
        join("a"),
        classic.leave("z", members=({"member_id": "nobody", "group_instance_id": None},)),
        classic.leave("z", members=({"member_id": "", "group_instance_id": "i9"},)),
        beat("a", code=0),
    ),
    consumer_case(
        "classic-request/leave-by-instance",
        "removes a static consumer that a LeaveGroup names by its instance",
        ("CGG-46", "CGG-48"),
        join("a", instance="i1"),
        classic.leave("z", members=({"member_id": "", "group_instance_id": "i1"},)),
        describe("z", code=0),
        beat("a", instance="i1", code=25),
    ),
)

_IN_EMPTY_GROUPS: Final = (
    consumer_case(
        "classic-request/to-an-empty-group",
        "answers the Heartbeat, the SyncGroup and the LeaveGroup of a stranger to an Empty group of consumers with 25, and leaves the group as it is",
        ("CGG-33", "CGG-34", "CGG-47", "CGM-34"),
        (join("a"), leave("a", code=0)),
        classic.beat("z", member_id="nobody", generation_id=1, code=25),
        classic.sync("z", member_id="nobody", generation_id=1, protocol_name="range", code=25),
        classic.leave("z", members=({"member_id": "nobody", "group_instance_id": None}, {"member_id": "", "group_instance_id": "i9"})),
        describe("z", code=0),
    ),
    consumer_case(
        "classic-request/description-of-an-empty-group",
        "describes no Empty group of consumers by the classic request: 69, and Dead by its older versions",
        ("CGD-17", "CGD-18"),
        (join("a"), leave("a", code=0)),
        classic.describe("z", version=5),
        classic.describe("z", version=6),
    ),
    consumer_case(
        "classic-request/description-of-no-group",
        "describes no group that does not exist by the classic request: 69, and Dead by its older versions",
        ("CGD-19",),
        classic.describe("z", version=5),
        classic.describe("z", version=6),
    ),
    consumer_case(
        "heartbeat/refused-by-an-empty-group",
        "refuses what is wrong with a heartbeat to an Empty group, and leaves it as it is",
        ("CGS-10", "CGH-22", "CGH-46"),
        (join("a"), leave("a", code=0)),
        leave("z", instance="i9", code=25),
        leave("z", code=25),
        join("z", names=None, regex="(", code=128),
        describe("z", code=0),
    ),
    consumer_case(
        "fetch/nameless-from-an-empty-group",
        "fails at a fetch from an Empty group that has an epoch and names no member",
        ("CGO-34",),
        (join("a"), leave("a", code=0)),
        fetch("a", member_id=None, epoch=1, code=-1),
        describe("z", code=0),
        level=Level.INFO,  # Kafka breaks off here
    ),
)

_IN_CLASSIC_GROUPS: Final = (
    consumer_case(
        "classic-group/leave-of-an-empty-one",
        "answers a leave to an empty classic group with 69, and leaves it as it is",
        ("CGH-47",),
        _EMPTIED,
        leave("a", code=69),
        describe("z"),
        classic.describe("z"),
    ),
    consumer_case(
        "classic-group/described-while-it-rebalances",
        "describes no classic group by ConsumerGroupDescribe while its leader is to sync: 69",
        ("CGD-12",),
        alone("k"),
        describe("z"),
        classic.describe("z"),
    ),
    consumer_case(
        "classic-group/heartbeat",
        "answers a heartbeat with an epoch, and a leave, to a classic group with 69",
        ("CGH-47",),
        classic.stable("k"),
        beat("a", epoch=3, code=69),
        leave("a", code=69),
        classic.beat("k", code=0),
    ),
    consumer_case(
        "classic-group/described", "describes no classic group by ConsumerGroupDescribe: 69", ("CGD-12",), classic.stable("k"), describe("z")
    ),
    consumer_case(
        "classic-group/empty-one-is-joined",
        "makes an empty classic group one of consumers for the first that joins, and keeps its offsets",
        ("CGG-03", "CGG-13"),
        classic.stable("k"),
        classic.commit("k", {("t", 0): 7}, code=0),
        classic.leave("k", code=0),
        join("a", code=0),
        describe("z", code=0),
        fetch("a", code=0),
        commit("a", code=0),
    ),
    consumer_case(
        "classic-group/empty-one-of-another-type-is-joined",
        "makes an empty classic group of any type one of consumers",
        ("CGG-06", "CGG-03"),
        classic.joined("k", protocol_type="connect"),
        classic.answered("join k", code=0),
        classic.sync("k", {"k": []}, protocol_type="connect", code=0),
        classic.leave("k", code=0),
        join("a", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "classic-group/empty-one-and-a-malformed-join",
        "leaves an empty classic group as it is for a join that it refuses",
        ("CGH-24", "CGH-47"),
        _EMPTIED,
        join("a", regex="(", code=128),
        join("a", timeout=-1, code=42),
        beat("a", epoch=2, code=69),
        describe("z"),
        classic.describe("z"),
    ),
)

_OFF: Final = (
    consumer_case(
        "off/join",
        "answers a join with 35 where the protocol is switched off",
        ("CGH-39",),
        join("a", code=35),
        beat("a", epoch=3, code=35),
        leave("a", code=35),
        settings=CLASSIC_ALONE,
    ),
    consumer_case(
        "off/shape-is-not-looked-at",
        "answers a malformed join with 35 where the protocol is switched off",
        ("CGH-39",),
        join("a", timeout=-1, code=35),
        join("a", group_id="", code=35),
        settings=CLASSIC_ALONE,
    ),
    consumer_case(
        "off/describe",
        "answers a description with 35 where the protocol is switched off",
        ("CGH-39",),
        classic.stable("k"),
        describe("z"),
        classic.beat("k", code=0),
        settings=CLASSIC_ALONE,
    ),
)

_IN_AN_INITIAL_DELAY: Final = (
    consumer_case(
        "classic-group/initial-delay-without-members",
        "makes a classic group one of consumers in its initial delay once its members are gone, and not before",
        ("CGG-15", "CGG-01"),
        classic.joined("k", is_parked=True),
        join("a", code=-1),
        classic.answered("join k", code=27),
        classic.leave("k", code=0),
        join("a", code=0),
        describe("z", code=0),
        settings=DELAYED,
    ),
    consumer_case(
        "classic-group/no-generation-and-no-topic",
        "lets the epoch begin with the generation of a classic group that has none yet: who joins without a topic is told 0 since 4.3, 1 before",
        ("CGG-11", "CGM-06", "CGM-07"),
        classic.joined("k", is_parked=True),
        join("a", code=-1),
        classic.answered("join k", code=27),
        classic.leave("k", code=0),
        join("a", names=(), code=0),
        describe("z", code=0),
        full("a", code=0),
        describe("z", code=0),
        settings=DELAYED,
    ),
    consumer_case(
        "classic-group/initial-delay-ends-without-joins",
        "waits on for static members whose parked JoinGroups a heartbeat had answered 27, and lets dynamic ones go",
        ("CGG-15", "TR-050"),
        classic.joined("k", instance="i1", is_parked=True, rebalance_timeout_ms=_REBALANCE_MS),
        classic.joined("l", is_parked=True, rebalance_timeout_ms=_REBALANCE_MS),
        join("a", code=-1),
        classic.answered("join k", code=27),
        classic.answered("join l", code=27),
        passing(_REBALANCE_MS + INITIAL_DELAY_MS),
        classic.describe("z", code=0),
        classic.join("k", instance="i1", is_parked=True, label="again", rebalance_timeout_ms=_REBALANCE_MS),
        classic.answered("again", code=0),
        classic.sync("k", {"k": [("t", 0)]}, instance="i1", code=0),
        settings=DELAYED,
    ),
)

CASES: Final[tuple[Case, ...]] = (*_IN_CONSUMER_GROUPS, *_IN_EMPTY_GROUPS, *_IN_CLASSIC_GROUPS, *_IN_AN_INITIAL_DELAY, *_OFF)

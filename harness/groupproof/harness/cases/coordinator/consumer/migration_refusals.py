"""Refused upgrades of a rebalancing classic group, and the answers to its waiting members (CGG-02, CGG-05 to CGG-10, CGG-15, CGG-51, CGH-22, CGH-47).

Also failed downgrades, until 4.2: a member has no target yet (CGG-52, CGG-54, CGG-64). The only consumer is `a`, or it is `k`, which was a classic
member before. The classic member `l` has no topic, so no target is computed for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from groupproof.harness.cases.coordinator.consumer.consumer_builders import GONE_BY, QUICK, SMALL, consumer_case, mixed, shared_with_classic
from groupproof.harness.cases.coordinator.coordinator_case_builders import APART_MS, Steps, gathered, passing, preparing
from groupproof.harness.model import script_builders as classic
from groupproof.harness.model.case import Case
from groupproof.harness.model.consumer_script_builders import beat, describe, join, leave
from groupproof.harness.model.script import Ref, SubscriptionBytes
from groupproof.harness.model.verdicts import Level
from groupproof.protocol.rules.consumer.group_configs import MIGRATION_POLICY

__all__ = ["CASES"]

_NO_UPGRADES: Final = {**QUICK, MIGRATION_POLICY: "downgrade"}
_WAITING: Final = "waits"
_SURE: Final = passing(APART_MS)
"""After this time a sent request is surely parked, and is not processed after the next one."""


def _joining(*members: str, **overrides: Any) -> tuple[Steps, ...]:
    """Bring a new classic group to where its leader has joined again and waits for the others."""
    leader, *_ = members
    return (*preparing(*members, **overrides)[:-1], classic.join(leader, is_parked=True, label=_WAITING, **overrides), _SURE)


def _syncing(*members: str, **overrides: Any) -> tuple[Steps, ...]:
    """Bring a new classic group to where a follower waits for the leader's SyncGroup."""
    return (*gathered(*members, **overrides), classic.sync(members[-1], wait=False, is_parked=True, label=_WAITING), _SURE)


_STATES: Final[Mapping[str, tuple[str, Callable[..., tuple[Steps, ...]]]]] = {
    "preparing": ("PreparingRebalance", _joining),
    "completing": ("CompletingRebalance", _syncing),
}
_STILL_THERE: Final = (describe("z"), classic.describe("z"))
_LET_GO: Final = (classic.answered(_WAITING, code=27), *_STILL_THERE)


_CONNECT: Final[dict[str, Any]] = {"protocol_type": "connect"}
_ALONE: Final = (classic.joined("k", **_CONNECT), classic.answered("join k", code=0))
_OF_CONNECT: Final[Mapping[str, tuple[Steps, ...]]] = {
    "preparing": (*_ALONE, classic.sync("k", {"k": []}, code=0, **_CONNECT), classic.joined("l", is_parked=True, label=_WAITING, **_CONNECT)),
    "completing": _ALONE,
}


def _of(state: str) -> Iterator[Case]:
    words, reach = _STATES[state]

    def refused(name: str, title: str, requirements: tuple[str, ...], *steps: Steps, **options: Any) -> Case:
        return consumer_case(f"upgrade/{name}-while-{state}", f"{title} while the classic group is {words}", requirements, *steps, **options)

    yield refused(
        "no-join", "answers a leave, and a heartbeat with an epoch, with 69", ("CGH-47",), *reach("k", "l"), leave("a", code=69),
        beat("a", epoch=3, code=69), *_STILL_THERE,
    )  # fmt: skip
    yield refused(
        "no-upgrades", "refuses a join with 69 under a policy without upgrades", ("CGG-02",), *reach("k", "l"), join("a", code=69), *_STILL_THERE,
        settings=_NO_UPGRADES,
    )  # fmt: skip
    yield refused(
        "other-type", "refuses a join with 69 to members of another type", ("CGG-05",), *_OF_CONNECT[state], join("a", code=69), *_STILL_THERE,
    )  # fmt: skip
    yield refused(
        "too-many", "refuses a join with 69 to more members than a group of consumers may have", ("CGG-07",), *reach("k", "l", "m", "n"),
        join("a", code=69), *_STILL_THERE, settings=SMALL,
    )  # fmt: skip
    yield refused(
        "unreadable", "refuses a join with 69 to a subscription that cannot be read, and lets go who waits", ("CGG-09", "CGG-15"),
        *reach("k", "l", metadata=b"\x00"), join("a", code=69), *_LET_GO,
    )  # fmt: skip
    yield refused(
        "full", "refuses a join with 81 to as many members as may be, and lets go who waits", ("CGG-08", "CGG-15"), *reach("k", "l", "m"),
        join("a", code=81), *_LET_GO, settings=SMALL,
    )  # fmt: skip
    yield refused(
        "broken-regex", "refuses a join with a broken regular expression, and lets go who waits", ("CGH-22", "CGG-15"), *reach("k", "l"),
        join("a", names=None, regex="(", code=128), *_LET_GO,
    )  # fmt: skip
    yield refused(
        "own-id", "takes a classic member as a consumer that joins by its id, since 4.2, and lets go who waits", ("CGG-50", "CGG-51", "CGG-15"),
        *reach("k", "l"), join("k", member_id=Ref("k", "member_id"), over="k/2"), *_LET_GO,
    )  # fmt: skip


_STABLE: Final = (
    consumer_case(
        "upgrade/protocol-of-a-newcomer",
        "answers a join with -1 while a member waits that does not support the protocol chosen before it, and lets it go",
        ("CGG-15",),
        classic.stable("k", protocols=("roundrobin", "range")),
        classic.joined("l", is_parked=True, label=_WAITING),
        _SURE,
        join("a", code=-1),
        *_LET_GO,
        level=Level.INFO,  # Kafka breaks off here
    ),
    consumer_case(
        "upgrade/broken-regex",
        "leaves a classic group as it is for a join with a broken regular expression",
        ("CGH-22", "CGG-01"),
        classic.stable("k"),
        join("a", names=None, regex="(", code=128),
        *_STILL_THERE,
        classic.beat("k", code=0),
    ),
    consumer_case(
        "upgrade/full",
        "leaves a classic group as it is that has as many members as a group of consumers may have",
        ("CGG-08",),
        classic.stable("k", "l", "m"),
        join("a", code=81),
        *_STILL_THERE,
        settings=SMALL,
    ),
)

_REBALANCE_MS: Final = 1_500
_LATE: Final[dict[str, Any]] = {"rebalance_timeout_ms": _REBALANCE_MS}
_OVER: Final = passing(_REBALANCE_MS + 2 * APART_MS)
_RETRY: Final = passing(500 + 2 * APART_MS)
"""Longer than the time until a timer is retried."""

_AS_I1: Final[dict[str, Any]] = {"instance": "i1"}
_WITHOUT_TOPICS: Final = (classic.joined("l", wait=True, metadata=SubscriptionBytes(topics=())), classic.sync("l", code=0))
_PASSES_BY: Final = (join("c", names=()), leave("c"))
"""A consumer without topics has joined and left: the group is Assigning, with its previous target."""

_COMES_AND_GOES: Final = (join("c"), leave("c"))
"""A new target is computed, with all members."""

_ID: Final = Ref("k", "member_id")
_TIMES: Final[Mapping[str, tuple[str, str, Steps]]] = {
    "time-to-rejoin": ("join again", "CGG-40", (join("b"), classic.beat("k", code=27), leave("b"))),
    "time-to-sync": ("sync", "CGG-41", classic.join("k", wait=True, code=0, **_LATE)),
}


def _in_states(*settled: Steps, waiting: Steps | None = None) -> Iterator[tuple[str, tuple[Steps, ...]]]:
    """Yield each state of a group with a member without topics, and the steps that lead there: `settled` is Stable, `waiting` Reconciling."""
    behind = (*settled, classic.joined("m", wait=True), classic.sync("m", code=0)) if waiting is None else (waiting,)
    yield "assigning", (*settled, *_WITHOUT_TOPICS, _PASSES_BY)
    yield "reconciling", (*behind, *_WITHOUT_TOPICS)
    yield "stable", (*settled, *_WITHOUT_TOPICS)


def _stays(state: str, name: str, title: str, requirements: tuple[str, ...], *steps: Steps, **options: Any) -> Case:
    words = f"keeps a group of consumers until 4.2 that has a member without a target when {title} while it is {state.title()}"
    return consumer_case(f"{state}/without-a-target-{name}", words, requirements, *steps, **options)


def _ends() -> Iterator[Case]:
    for state, before in _in_states(shared_with_classic(), waiting=mixed()):
        yield _stays(
            state, "last-consumer-leaves", "the last consumer leaves", ("CGG-52", "CGG-55"), *before, leave("a", code=-1), beat("a"), classic.beat("k"),
        )  # fmt: skip
        yield _stays(
            state, "last-consumer-is-removed", "a LeaveGroup removes the last consumer", ("CGG-54", "CGG-55"), *before,
            classic.leave("z", members=({"member_id": "a", "group_instance_id": None},), code=-1), beat("a"), classic.beat("k"),
        )  # fmt: skip


def _falls_silent() -> Iterator[Case]:
    """Yield cases whose groups have at most three members."""
    for state, before in _in_states(join("a"), waiting=mixed()):
        yield _stays(
            state, "last-consumer-falls-silent", "the last consumer falls silent, until there is a target with everybody", ("CGG-54", "CGM-40"),
            *before, GONE_BY, *_STILL_THERE, classic.join("l"), _RETRY, classic.describe("z"), settings=SMALL,
        )  # fmt: skip


def _revokes() -> Iterator[Case]:
    waiting = (join("a", timeout=_REBALANCE_MS), *classic.joined("k", wait=True), classic.sync("k", code=0), beat("a", code=0))
    for state, more in (("assigning", (_PASSES_BY,)), ("reconciling", ())):
        yield _stays(
            state, "last-consumer-revokes-too-late", "the last consumer does not revoke in time", ("CGG-54", "CGM-46"), waiting, *_WITHOUT_TOPICS, *more,
            _OVER, *_STILL_THERE, _COMES_AND_GOES, _RETRY, classic.describe("z"),
        )  # fmt: skip


def _turned() -> Iterator[Case]:
    for name, (words, requirement, asked) in _TIMES.items():
        turns = (shared_with_classic(**_LATE), asked, beat("k", member_id=_ID, epoch=Ref("k", "generation")), leave("a"))
        settles = (beat("k", member_id=_ID, owned="own"),) * 2
        for state, before in _in_states(*turns, *settles):
            yield _stays(
                state, f"{name}-ends-a-consumer", f"a member that has become a consumer does not {words} in time", ("CGG-54", requirement), *before,
                _OVER, *_STILL_THERE, _COMES_AND_GOES, _RETRY, classic.describe("z"),
            )  # fmt: skip


def _returns() -> Iterator[Case]:
    static = (join("a", **_AS_I1), *classic.joined("k", wait=True), classic.sync("k", code=0))
    settled = (*static, beat("a", **_AS_I1), beat("a", owned="own", **_AS_I1), classic.join("k", wait=True), classic.sync("k", code=0))
    for state, before in _in_states(settled, waiting=static):
        yield _stays(
            state, "only-static-consumer-is-replaced", "a JoinGroup takes the place of the only consumer", ("CGG-64",), *before,
            classic.join("r", wait=True, code=-1, **_AS_I1), classic.join("a", member_id="a", wait=True, code=-1, **_AS_I1), beat("a", **_AS_I1),
        )  # fmt: skip
    yield _stays(
        "stable", "joins-by-its-own-id", "the only consumer, which has none itself, joins by a JoinGroup", ("CGG-64",), classic.stable("k"),
        join("a", names=(), **_AS_I1), classic.join("a", member_id="a", wait=True, code=-1, **_AS_I1), beat("a", **_AS_I1), classic.beat("k"),
    )  # fmt: skip


_DOWNGRADES: Final = (*_ends(), *_falls_silent(), *_revokes(), *_turned(), *_returns())

CASES: Final[tuple[Case, ...]] = (*(made for state in _STATES for made in _of(state)), *_STABLE, *_DOWNGRADES)

"""What refuses an upgrade while the classic group rebalances, and what it answers those who wait (CGG-02, CGG-05 to CGG-10, CGG-15, CGG-51, CGH-22, CGH-47)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from groupproof.harness.cases.coordinator.consumer.consumer_builders import QUICK, SMALL, consumer_case
from groupproof.harness.cases.coordinator.coordinator_case_builders import APART_MS, Steps, gathered, passing, preparing
from groupproof.harness.model import script_builders as classic
from groupproof.harness.model.case import Case
from groupproof.harness.model.consumer_script_builders import beat, describe, join, leave
from groupproof.harness.model.script import Ref
from groupproof.protocol.rules.consumer.group_configs import MIGRATION_POLICY

__all__ = ["CASES"]

_NO_UPGRADES: Final = {**QUICK, MIGRATION_POLICY: "downgrade"}
_WAITING: Final = "waits"
_SURE: Final = passing(APART_MS)
"""So long after it was sent a request waits for sure, and is not taken up behind the next."""


def _joining(*members: str, **overrides: Any) -> tuple[Steps, ...]:
    """Bring a new classic group to where its leader has joined again, and waits for the others."""
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

CASES: Final[tuple[Case, ...]] = (*(made for state in _STATES for made in _of(state)), *_STABLE)

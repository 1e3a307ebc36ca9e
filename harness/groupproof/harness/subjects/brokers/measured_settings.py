"""Measures settings of a broker that does not report them: its minimum session timeout, and the delay of a first rebalance.

Verdicts rest on the delay: an answer before its end is early, and early is judged strictly. A single late answer would make it too long. So it is
measured until two answers agree; if none do, it stays unknown.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import trio

from groupproof.harness.subjects.networks.request_connection import GONE, Asker, NoCommonVersion
from groupproof.protocol.rules.classic.classic_settings import INITIAL_DELAY, MIN_SESSION
from groupproof.protocol.vocabulary import Api, ErrorCode

if TYPE_CHECKING:
    from groupproof.harness.subjects.brokers.cluster_map import ClusterMap

__all__ = [
    "SESSIONS_MS",
    "FirstJoin",
    "Measurement",
    "NewGroup",
    "are_alike",
    "first_join",
    "join_request",
    "measured",
]

SESSIONS_MS = (100, 1_000, 6_000, 10_000, 30_000)
REBALANCE_MS = 60_000
GRAIN_MS = 100
"""Delays are rounded to tenths of a second; the rest is the round trip."""

ALIKE_MS: Final = 100
"""Two measured delays that differ by no more are one delay: the kit may lag as much (contract, "Verdicts", Time)."""

JOINS_MAX: Final = 6
"""The most joins for one delay: on a host where no two of these agree, nothing can be said about time."""

NewGroup = Callable[[], Awaitable[str | None]]
"""Returns the name of an unused group of the broker that is measured; None where it coordinates none."""


@dataclass(frozen=True, slots=True)
class FirstJoin:
    """The first join of a group: the least session timeout that the broker accepted, and how long it took to answer."""

    session_ms: int
    waited_ms: int

    @property
    def delay_ms(self) -> int:
        return self.waited_ms // GRAIN_MS * GRAIN_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """The measured `values` by the names of the settings, and why others could not be measured."""

    values: Mapping[str, int] = field(default_factory=dict)
    doubts: Mapping[str, str] = field(default_factory=dict)


async def measured(where: ClusterMap, new_group: NewGroup) -> Measurement:
    """Join new groups and leave them; return `MIN_SESSION` and `INITIAL_DELAY` as far as that shows them, nothing where a join is refused.

    The delay is the shortest answer, once another one agrees with it.
    """
    joins: list[FirstJoin] = []
    while len(joins) < JOINS_MAX:
        group = await new_group()
        found = None if group is None else await first_join(where, group)
        if found is None:
            return Measurement()
        joins.append(found)
        shortest, *longer = sorted(join.waited_ms for join in joins)
        if longer and are_alike((shortest, longer[0])):
            return Measurement(values={MIN_SESSION: found.session_ms, INITIAL_DELAY: FirstJoin(found.session_ms, shortest).delay_ms})
    waits = ", ".join(str(join.waited_ms) for join in joins)
    why = f"new groups were answered after {waits} ms, so that the kit can't measure it"
    return Measurement(values={MIN_SESSION: joins[0].session_ms}, doubts={INITIAL_DELAY: why})


def are_alike(delays_ms: Iterable[int]) -> bool:
    """Return whether measured delays may be those of one setting."""
    delays = list(delays_ms)
    return max(delays) - min(delays) <= ALIKE_MS


async def first_join(where: ClusterMap, group: str) -> FirstJoin | None:
    """Join the new group `group` and leave it; return what that shows, None where the join is refused."""
    try:
        async with where.asker_of(group) as asker:
            return await _joined(asker, group)
    except (NoCommonVersion, *GONE):
        return None


async def _joined(asker: Asker, group: str) -> FirstJoin | None:
    for session_ms in SESSIONS_MS:
        answer = await _join(asker, group, session_ms, "")
        if answer["error_code"] == ErrorCode.MEMBER_ID_REQUIRED:
            answer = await _join(asker, group, session_ms, answer["member_id"])
        if answer["error_code"] == ErrorCode.INVALID_SESSION_TIMEOUT:
            continue
        if answer["error_code"]:
            return None
        member = {"member_id": answer["member_id"]}
        await asker.ask(Api.LEAVE_GROUP, {"group_id": group, "members": (member,)})
        return FirstJoin(session_ms, answer["waited_ms"])
    return None


def join_request(group: str, session_ms: int, member_id: str = "") -> dict[str, Any]:
    """Return the body of a JoinGroup without any subscription."""
    return {
        "group_id": group, "session_timeout_ms": session_ms, "rebalance_timeout_ms": REBALANCE_MS, "member_id": member_id,
        "protocol_type": "consumer", "protocols": ({"name": "range", "metadata": b""},),
    }  # fmt: skip


async def _join(asker: Asker, group: str, session_ms: int, member_id: str) -> Mapping[str, Any]:
    await asker.until_free()
    began = trio.current_time()
    answer = await asker.ask(Api.JOIN_GROUP, join_request(group, session_ms, member_id))
    return {**answer, "waited_ms": round((trio.current_time() - began) * 1000)}

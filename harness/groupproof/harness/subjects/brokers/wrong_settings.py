"""Compares a broker's answers with the settings that its user reports: verdicts by a setting that it does not have would be false.

Each probe uses a new group of the broker that is asked. Settings that no answer shows (retention, the commit timeout, verification) are believed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

import trio

from groupproof.harness.subjects.brokers.bound_probes import JOINS, commit_code, join_code
from groupproof.harness.subjects.brokers.cluster_map import ClusterMap
from groupproof.harness.subjects.brokers.measured_settings import first_join, join_request
from groupproof.harness.subjects.networks.request_connection import GONE, NoCommonVersion
from groupproof.protocol.rules.classic.classic_settings import GROUP_MAX_SIZE, INITIAL_DELAY, MAX_SESSION, METADATA_BYTES, MIN_SESSION, NO_LIMIT
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["refutations"]

PARTITIONS: Final = "offsets.topic.num.partitions"

_OFFSETS: Final = "__consumer_offsets"
_SESSION_MS: Final = 10_000
_SIZE_MAX: Final = 8
"""A larger maximum group size is believed: only a join after all others would test it."""
_METADATA_MAX: Final = 500_000
_EARLY_MS: Final = 100
_LATE_MS: Final = 300
_LOOKS: Final = 3
_PARKED_S: Final = 0.2


class _NoGroup(Exception):
    """The broker coordinates no group: then no verdict follows from its settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Probe:
    """Sends requests to broker `node_id` of `where`; group names begin with `group`, and commits are for `topic`.

    `claimed` are all settings that the user reports.
    """

    where: ClusterMap
    node_id: int
    group: str
    topic: str
    claimed: Mapping[str, int]

    async def new_group(self, purpose: str) -> str:
        """Return the name of a group that the broker coordinates; raise `_NoGroup` where it coordinates none."""
        group = await self.where.group_at(self.node_id, f"{self.group}-{purpose}")
        if group is None:
            raise _NoGroup
        return group

    @property
    def session_ms(self) -> int:
        """Return a session timeout that the claimed bounds allow."""
        return min(max(_SESSION_MS, self.claimed.get(MIN_SESSION, 0)), self.claimed.get(MAX_SESSION, NO_LIMIT))


async def refutations(where: ClusterMap, node_id: int, group: str, topic: str, claimed: Mapping[str, int]) -> dict[str, str]:
    """Return the `claimed` settings that broker `node_id` does not have, each with its behaviour; group names begin with `group`."""
    probe = _Probe(where=where, node_id=node_id, group=group, topic=topic, claimed=claimed)
    found: dict[str, str] = {}
    for name, ask in _ASKED.items():
        if name in claimed:
            try:
                why = await ask(probe, claimed[name])
            except (NoCommonVersion, _NoGroup, *GONE):
                why = ""
            found.update({name: why} if why else {})
    return found


# Session bounds ------------------------------------------------------------------------------------------------------------------------


async def _least_session(probe: _Probe, claimed: int) -> str:
    if await _join_code(probe, claimed) == ErrorCode.INVALID_SESSION_TIMEOUT:
        return f"it refuses a session timeout of {claimed} ms"
    is_taken = claimed > 1 and await _join_code(probe, claimed - 1) in JOINS
    return f"it takes a session timeout of {claimed - 1} ms" if is_taken else ""


async def _greatest_session(probe: _Probe, claimed: int) -> str:
    if await _join_code(probe, claimed) == ErrorCode.INVALID_SESSION_TIMEOUT:
        return f"it refuses a session timeout of {claimed} ms"
    is_taken = claimed < NO_LIMIT and await _join_code(probe, claimed + 1) in JOINS
    return f"it takes a session timeout of {claimed + 1} ms" if is_taken else ""


async def _join_code(probe: _Probe, session_ms: int) -> int:
    return await join_code(probe.where, await probe.new_group(f"s{session_ms}"), session_ms)


# The rest ------------------------------------------------------------------------------------------------------------------------------


async def _initial_delay(probe: _Probe, claimed: int) -> str:
    """Measure several times if the delay seems longer: a busy host may cause one late answer."""
    shortest: int | None = None
    for number in range(_LOOKS):
        found = await first_join(probe.where, await probe.new_group(f"delay{number}"))
        if found is None or claimed - _EARLY_MS <= found.delay_ms <= claimed + _LATE_MS:
            return ""
        shortest = found.delay_ms if shortest is None else min(found.delay_ms, shortest)
    return f"it delays the first rebalance of a group by {shortest} ms"


async def _metadata_bytes(probe: _Probe, claimed: int) -> str:
    if claimed > _METADATA_MAX:
        return ""
    if await _commit_code(probe, claimed) == ErrorCode.OFFSET_METADATA_TOO_LARGE:
        return f"it refuses {claimed} bytes of commit metadata"
    return f"it takes {claimed + 1} bytes of commit metadata" if await _commit_code(probe, claimed + 1) == ErrorCode.NONE else ""


async def _commit_code(probe: _Probe, length: int) -> int:
    return await commit_code(probe.where, await probe.new_group("metadata"), probe.topic, length)


async def _max_size(probe: _Probe, claimed: int) -> str:
    """Let more than twice the maximum number of members join one after the other: members in the join phase count, members of the last
    generation do not (KIP-389)."""
    if claimed > _SIZE_MAX:
        return ""
    refused: list[int] = []
    ids: list[str] = []
    group, members_count = await probe.new_group("size"), 2 * claimed + 2
    async with trio.open_nursery() as nursery:
        for number in range(members_count):
            nursery.start_soon(_come, probe, group, number, refused, ids)
            await trio.sleep(_PARKED_S)
        await _go(probe, group, ids)
        nursery.cancel_scope.cancel()
    first = min(refused, default=members_count)
    if first < claimed:
        return f"it refuses member {first + 1} of a group"
    return "" if refused else f"it takes {members_count} members into a group"


async def _come(probe: _Probe, group: str, number: int, refused: list[int], ids: list[str]) -> None:
    try:
        async with probe.where.asker_of(group) as asker:
            answer = await asker.ask(Api.JOIN_GROUP, join_request(group, probe.session_ms))
            if answer["error_code"] == ErrorCode.MEMBER_ID_REQUIRED:
                ids.append(answer["member_id"])
                answer = await asker.ask(Api.JOIN_GROUP, join_request(group, probe.session_ms, answer["member_id"]))
            if answer["error_code"] == ErrorCode.GROUP_MAX_SIZE_REACHED:
                refused.append(number)
    except (NoCommonVersion, *GONE):
        return


async def _go(probe: _Probe, group: str, ids: list[str]) -> None:
    async with probe.where.asker_of(group) as asker:
        for member_id in ids:
            await asker.ask(Api.LEAVE_GROUP, {"group_id": group, "members": ({"member_id": member_id},)})


async def _partitions(probe: _Probe, claimed: int) -> str:
    async with probe.where.asker_of(await probe.new_group("partitions")) as asker:
        (result,) = (await asker.ask(Api.METADATA, {"topics": ({"name": _OFFSETS},)}, newest=8))["topics"]
    is_refuted = not result["error_code"] and len(result["partitions"]) != claimed
    return f"its {_OFFSETS} has {len(result['partitions'])} partitions" if is_refuted else ""


_ASKED: Final[Mapping[str, Callable[[_Probe, int], Awaitable[str]]]] = {
    MIN_SESSION: _least_session,
    MAX_SESSION: _greatest_session,
    INITIAL_DELAY: _initial_delay,
    METADATA_BYTES: _metadata_bytes,
    GROUP_MAX_SIZE: _max_size,
    PARTITIONS: _partitions,
}

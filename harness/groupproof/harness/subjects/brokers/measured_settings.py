"""Measures settings of a broker that does not report them: its minimum session timeout, and the delay of a first rebalance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import trio

from groupproof.harness.subjects.brokers.cluster_map import ClusterMap
from groupproof.harness.subjects.networks.request_connection import GONE, Asker, NoCommonVersion
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["INITIAL_DELAY", "MIN_SESSION", "join_request", "measured"]

INITIAL_DELAY = "group.initial.rebalance.delay.ms"
MIN_SESSION = "group.min.session.timeout.ms"

SESSIONS_MS = (100, 1_000, 6_000, 10_000, 30_000)
REBALANCE_MS = 60_000
GRAIN_MS = 100
"""Delays are rounded to tenths of a second; the rest is the round trip."""


async def measured(where: ClusterMap, group: str) -> dict[str, int]:
    """Join the new group `group` and leave it; return `MIN_SESSION` and `INITIAL_DELAY` as far as that shows them, none where the join is refused."""
    try:
        async with where.asker_of(group) as asker:
            return await _joined(asker, group)
    except (NoCommonVersion, *GONE):
        return {}


async def _joined(asker: Asker, group: str) -> dict[str, int]:
    for session_ms in SESSIONS_MS:
        answer = await _join(asker, group, session_ms, "")
        if answer["error_code"] == ErrorCode.MEMBER_ID_REQUIRED:
            answer = await _join(asker, group, session_ms, answer["member_id"])
        if answer["error_code"] == ErrorCode.INVALID_SESSION_TIMEOUT:
            continue
        if answer["error_code"]:
            return {}
        member = {"member_id": answer["member_id"]}
        await asker.ask(Api.LEAVE_GROUP, {"group_id": group, "members": (member,)})
        return {MIN_SESSION: session_ms, INITIAL_DELAY: answer["waited_ms"] // GRAIN_MS * GRAIN_MS}
    return {}


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

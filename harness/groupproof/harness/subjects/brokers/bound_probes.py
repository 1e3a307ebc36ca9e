"""Finds bounds that a broker does not report by its answers: the largest session timeout, and the most bytes of commit metadata.

No KIP names a value for either. A broker that lists neither in DescribeConfigs (Redpanda, KoP) may have another bound than Kafka's, or none.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TYPE_CHECKING, Final

import trio

from groupproof.harness.subjects.brokers.cluster import KnownSetting
from groupproof.harness.subjects.brokers.evident_settings import BY_ANSWERS
from groupproof.harness.subjects.brokers.measured_settings import SESSIONS_MS, NewGroup, join_request
from groupproof.harness.subjects.networks.request_connection import GONE, NoCommonVersion
from groupproof.protocol.rules.classic.classic_settings import MAX_SESSION, METADATA_BYTES, NO_LIMIT
from groupproof.protocol.vocabulary import Api, ErrorCode

if TYPE_CHECKING:
    from groupproof.harness.subjects.brokers.cluster_map import ClusterMap

__all__ = ["JOINS", "UNLIMITED", "bounds_by_answers", "commit_code", "join_code"]

UNLIMITED: Final = "no limit in its answers"

JOINS: Final = (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED)
"""The codes of a JoinGroup whose session timeout the broker accepts."""

_PROBES_S: Final = 15.0
"""After this time no further value is tried: a broker before KIP-394 parks each join for the delay of a first rebalance."""

_SESSION_GUESSES: Final = (1_800_000, 1_800_001, 300_000, 300_001)
_METADATA_GUESSES: Final = (4_096, 4_097)
_METADATA_MOST: Final = 32_000
"""Before flexible versions (KIP-482) a string has 32767 bytes at most."""

Takes = Callable[[int], Awaitable[bool | None]]
"""Returns whether the broker accepts a value; None where its answer does not show that."""


async def bounds_by_answers(where: ClusterMap, new_group: NewGroup, topic: str, names: Collection[str]) -> dict[str, KnownSetting]:
    """Return those of the settings `names` that answers show. Commits are for partition 0 of `topic`; "" for no commits."""

    async def takes_session(session_ms: int) -> bool | None:
        group = await new_group()
        code = None if group is None else await join_code(where, group, session_ms)
        return True if code in JOINS else False if code == ErrorCode.INVALID_SESSION_TIMEOUT else None

    async def takes_metadata(length: int) -> bool | None:
        group = await new_group()
        code = None if group is None else await commit_code(where, group, topic, length)
        return True if code == ErrorCode.NONE else False if code == ErrorCode.OFFSET_METADATA_TOO_LARGE else None

    found: dict[str, KnownSetting] = {}
    if MAX_SESSION in names:
        found.update(_as_setting(MAX_SESSION, await _largest(takes_session, SESSIONS_MS[-1], NO_LIMIT, _SESSION_GUESSES)))
    if METADATA_BYTES in names and topic:
        found.update(_as_setting(METADATA_BYTES, await _largest(takes_metadata, 0, _METADATA_MOST, _METADATA_GUESSES)))
    return found


def _as_setting(name: str, value: int | None) -> dict[str, KnownSetting]:
    return {} if value is None else {name: KnownSetting(value, UNLIMITED if value == NO_LIMIT else BY_ANSWERS)}


async def _largest(takes: Takes, least: int, most: int, guesses: Sequence[int]) -> int | None:
    """Return the largest accepted value from `least` on, `NO_LIMIT` where the broker accepts `most`, None where the answers show neither.

    The `guesses`, which are usual bounds and the values above them, come first; then bisection.
    """
    until = trio.current_time() + _PROBES_S
    try:
        if await takes(least) is not True:
            return None
        if (is_taken := await takes(most)) is not False:
            return NO_LIMIT if is_taken else None
        low, high, more = least, most, list(guesses)
        while high - low > 1:
            value = more.pop(0) if more else (low + high) // 2
            if not low < value < high:
                continue
            is_taken = await takes(value) if trio.current_time() < until else None
            if is_taken is None:
                return None
            low, high = (value, high) if is_taken else (low, value)
    except (NoCommonVersion, *GONE):
        return None
    return low


async def join_code(where: ClusterMap, group: str, session_ms: int) -> int:
    """Return the error code for a new member's JoinGroup; a member id in the answer leaves again."""
    async with where.asker_of(group) as asker:
        answer = await asker.ask(Api.JOIN_GROUP, join_request(group, session_ms))
        if answer["error_code"] in JOINS:
            await asker.ask(Api.LEAVE_GROUP, {"group_id": group, "members": ({"member_id": answer["member_id"]},)})
        return int(answer["error_code"])


async def commit_code(where: ClusterMap, group: str, topic: str, length: int) -> int:
    """Return the error code for a commit without a member, with metadata of `length` bytes."""
    async with where.asker_of(group) as asker:
        partition = {"partition_index": 0, "committed_offset": 0, "committed_metadata": "m" * length}
        topics = ({"name": topic, "partitions": (partition,)},)
        answer = await asker.ask(Api.OFFSET_COMMIT, {"group_id": group, "generation_id": -1, "member_id": "", "topics": topics}, newest=9)
        return int(answer["topics"][0]["partitions"][0]["error_code"])

"""The API versions that the brokers of a profile advertise, as a subset of the release's own range.

The release's range (`rules/api_versions.py`) is narrowed to the versions that the codec can read and to the served APIs. Every advertised version is
answered, except Produce from v0, which Kafka 4 also advertises and refuses (KAFKA-18659).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupproof.protocol.rules import api_versions
from groupproof.protocol.rules import profile as profile_named
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import VERSIONS, WireError

if TYPE_CHECKING:
    from groupproof.protocol.wire.message_codec import WireRequest

__all__ = ["SERVED", "accepted", "advertised", "refused_version"]

SERVED = frozenset({
    Api.PRODUCE, Api.FETCH, Api.LIST_OFFSETS, Api.METADATA, Api.OFFSET_COMMIT, Api.OFFSET_FETCH, Api.FIND_COORDINATOR, Api.JOIN_GROUP,
    Api.HEARTBEAT, Api.LEAVE_GROUP, Api.SYNC_GROUP, Api.DESCRIBE_GROUPS, Api.LIST_GROUPS, Api.DELETE_GROUPS, Api.OFFSET_DELETE, Api.TXN_OFFSET_COMMIT, Api.API_VERSIONS, Api.CREATE_TOPICS, Api.INIT_PRODUCER_ID, Api.OFFSET_FOR_LEADER_EPOCH,
    Api.DESCRIBE_CLUSTER, Api.DESCRIBE_TOPIC_PARTITIONS,
})  # fmt: skip

Ranges = dict[Api, tuple[int, int]]


def accepted(profile: str) -> Ranges:
    """Return the versions that the broker answers; raise `UnknownProfile`."""
    dialects = profile_named(profile).dialects
    served = SERVED | {request.api for dialect in dialects for request, _ in dialect.messages}
    beside = {api: own for dialect in dialects for api, own in dialect.apis_beside.items()}
    ranges = {**beside, **{api: own for api, own in api_versions(profile).items() if api in served}}
    return {api: both for api, own in ranges.items() if (both := _intersection(own, VERSIONS[api]))}


def advertised(profile: str) -> Ranges:
    """Return the versions in an ApiVersions answer; raise `UnknownProfile`."""
    versions, own = accepted(profile), api_versions(profile)
    return versions | {Api.PRODUCE: own[Api.PRODUCE]} if _refuses_old_produce(own) else versions


def _refuses_old_produce(release: Ranges) -> bool:
    """Return whether the release is a 4.x, which dropped Fetch before v4 together with Produce before v3 (KIP-896)."""
    return release.get(Api.FETCH, (0, 0))[0] >= 4


def _intersection(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int] | None:
    low, high = max(one[0], other[0]), min(one[1], other[1])
    return (low, high) if low <= high else None


def refused_version(wire: WireRequest, low: int, high: int) -> int:
    """Return the refused version of an ApiVersions request, which still gets an answer (KIP-511); raise `WireError` for another API.

    Kafka ends the connection in the second case.
    """
    if wire.api is Api.API_VERSIONS:
        return wire.version
    reason = f"this broker answers v{low} to v{high}" if low <= high else "this broker does not serve it"
    raise WireError(f"{wire.api.title} v{wire.version}: {reason}")

"""Finds versions that a broker offers but does not serve: it closes the connection on the request, or its answer cannot be read.

The probe runs once for a cluster. Cases that need such a version are judged by it. All others use the newest working version, so that one
bad version does not hide other results. The requests name an unknown member and group, and create no group.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import trio

from groupproof.harness.model.common_versions import common_versions
from groupproof.harness.subjects.brokers.cluster_map import NOBODY, BrokerAddress, ClusterMap
from groupproof.harness.subjects.networks.request_connection import GONE, Asker
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import WireError

__all__ = ["unreadable"]

_ANSWER_S: Final = 2.0
_GENERATION: Final = 1
_UNREADABLE: Final = "its answer cannot be read"
_CLOSED: Final = "it closes the connection instead of an answer"


async def unreadable(where: ClusterMap, group: str) -> dict[Api, dict[int, str]]:
    """Return the failing versions, from the newest down to the first working one, each with the reason; nothing for an API without any."""
    where.cluster.used([group])
    prober = _Prober(where, await where.coordinator_of(group))
    found: dict[Api, dict[int, str]] = {}
    try:
        for api, body in _requests(group).items():
            oldest, newest = common_versions(api, where.ranges) or (0, -1)
            failed = await prober.failing(api, body, range(newest, oldest - 1, -1))
            if 0 < len(failed) <= newest - oldest:
                found[api] = failed
    finally:
        await prober.close()
    return found


class _Prober:
    """Sends requests to `node` on one connection, and on another one if that breaks."""

    def __init__(self, where: ClusterMap, node: BrokerAddress) -> None:
        self._where = where
        self._node = node
        self._stream: trio.abc.Stream | None = None
        self._asker: Asker | None = None

    async def failing(self, api: Api, body: Mapping[str, Any], versions: range) -> dict[int, str]:
        """Return the versions before the first working one, with the reasons."""
        failed: dict[int, str] = {}
        for version in versions:
            why = await self._fault(api, body, version)
            if why is None:
                break
            failed[version] = why
        return failed

    async def _fault(self, api: Api, body: Mapping[str, Any], version: int) -> str | None:
        """Return what is wrong with the answer, None for a good one; a late answer is not wrong."""
        try:
            asker = await self._connected()
        except GONE:
            return None
        with trio.move_on_after(_ANSWER_S):
            try:
                await asker.ask(api, body, version=version)
                return None
            except GONE as error:
                await self.close()
                return _UNREADABLE if isinstance(error, WireError) else _CLOSED
        await self.close()
        return None

    async def _connected(self) -> Asker:
        if self._asker is None:
            self._stream = await self._where.cluster.connect(self._node.host, self._node.port)
            self._asker = Asker(self._stream)
        return self._asker

    async def close(self) -> None:
        if self._stream is not None:
            await trio.aclose_forcefully(self._stream)
        self._stream = self._asker = None


def _requests(group: str) -> dict[Api, dict[str, Any]]:
    member = {"group_id": group, "generation_id": _GENERATION, "member_id": NOBODY}
    joining = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000, "protocol_type": "consumer"}
    return {
        Api.JOIN_GROUP: {**joining, "group_id": group, "member_id": NOBODY, "protocols": ({"name": "range", "metadata": b""},)},
        Api.SYNC_GROUP: {**member, "protocol_type": "consumer", "protocol_name": "range", "assignments": ({"member_id": NOBODY, "assignment": b""},)},
        Api.HEARTBEAT: member,
        Api.LEAVE_GROUP: {"group_id": group, "members": ({"member_id": NOBODY},)},
        Api.OFFSET_COMMIT: {**member, "topics": ()},
        Api.OFFSET_FETCH: {"groups": ({"group_id": group, "topics": ()},)},
        Api.DESCRIBE_GROUPS: {"groups": (group,)},
        Api.LIST_GROUPS: {},
        Api.DELETE_GROUPS: {"groups_names": (group,)},
        Api.OFFSET_DELETE: {"group_id": group, "topics": ()},
    }

"""A client's brokers: their addresses, and one connection for each lane to each broker (trio)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import trio

from groupproof.clients.consumer.connection import Answered, Connect, Connection, NoCommonVersion, Observer
from groupproof.clients.outputs import Node
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.error_responses import error_of

__all__ = ["ANY", "FETCH", "Brokers"]

ANY: Final = "any"
"""The lane of requests that every broker can answer: lookups and metadata."""

FETCH: Final = "fetch"
"""The lane of Fetch and ListOffsets requests."""

_TIMED: Final = (ANY, FETCH)
_REFUSED: Final = frozenset(
    {Api.FIND_COORDINATOR, Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.LEAVE_GROUP, Api.OFFSET_COMMIT, Api.OFFSET_FETCH}
)
_Key = tuple[str, int, str]


class Brokers:
    """Opens connections when they are needed. It calls `lost(node, lane, reason)` for each that ended; node is None for the lane `any`.

    A connection for lookups, metadata or records that nobody uses for `idle_s` is closed, and is not `lost` (`connections.max.idle.ms`).
    With `hangs_up` it closes a connection after the coordinator refused a request. With `repeats_correlations` all requests have one id.
    """

    def __init__(
        self,
        connect: Connect,
        bootstrap: Sequence[tuple[str, int]],
        nursery: trio.Nursery,
        *,
        client_id: str,
        versions: Mapping[Api, int],
        shares_connections: bool,
        timeout_s: float,
        idle_s: float = math.inf,
        hangs_up: bool = False,
        repeats_correlations: bool = False,
        lost: Callable[[Node | None, str, Exception], None],
        observer: Observer | None = None,
    ) -> None:
        self._connect, self._nursery = connect, nursery
        self._client_id, self._versions, self._shares, self._lost = client_id, versions, shares_connections, lost
        self._timeout_s, self._idle_s, self._observer, self._numbers, self._hangs_up = timeout_s, idle_s, observer, itertools.count(1), hangs_up
        self._repeats = repeats_correlations
        self._addresses = list(bootstrap)
        self._nodes: dict[int, tuple[str, int]] = {}
        self._open: dict[_Key, Connection] = {}
        self._turn = 0

    def learn(self, nodes: Mapping[int, tuple[str, int]]) -> None:
        """Store the brokers' addresses from Metadata."""
        self._nodes = dict(nodes)

    def node(self, node_id: int) -> Node | None:
        address = self._nodes.get(node_id)
        return None if address is None else Node(node_id=node_id, host=address[0], port=address[1])

    def send(self, to: Node | None, lane: str, api: Api, body: Mapping[str, Any], answered: Answered) -> None:
        """Send to `to` (None: any broker) over its connection of this lane."""
        self._send_to(self._any_address() if to is None else (to.host, to.port), to, lane, api, body, answered)

    def send_to_each(self, api: Api, body: Mapping[str, Any], answered: Answered) -> None:
        """Send to every bootstrap broker at once. `answered` gets the first answer without an error, or else the last one."""
        first = _FirstGood(api, len(self._addresses), answered)
        for address in self._addresses:
            self._send_to(address, None, ANY, api, body, first)

    def _send_to(self, address: tuple[str, int], to: Node | None, lane: str, api: Api, body: Mapping[str, Any], answered: Answered) -> None:
        key = (*address, "" if self._shares else lane)
        connection = self._open.get(key)
        if connection is None:
            connection = self._opened(key, to, lane)
        connection.send(api, body, self._parting(key, connection, api, answered) if self._hangs_up and api in _REFUSED else answered)

    def _parting(self, key: _Key, connection: Connection, api: Api, answered: Answered) -> Answered:
        """Return an `answered` that also closes the connection if the answer is an error."""

        def parts(body: dict[str, Any] | None) -> None:
            answered(body)
            if body is not None and error_of(api, body) and self._open.get(key) is connection:
                self._forget(key).close()

        return parts

    def drop(self, to: Node | None, lanes: frozenset[str]) -> None:
        """Close the connections of these lanes to `to` (None: to any broker)."""
        for host, port, lane in list(self._open):
            if (to is None or (host, port) == (to.host, to.port)) and (self._shares or lane in lanes):
                self._forget((host, port, lane)).close()

    def close(self) -> None:
        for key in list(self._open):
            self._forget(key).close()

    def _any_address(self) -> tuple[str, int]:
        """Return the address of a connected broker, or after a failure the next one in turn."""
        nodes = list(self._nodes.values()) or self._addresses
        connected = [(host, port) for host, port, lane in self._open if lane == ("" if self._shares else ANY)]
        return next((partition for partition in connected if partition in nodes or partition in self._addresses), nodes[self._turn % len(nodes)])

    def _opened(self, key: _Key, to: Node | None, lane: str) -> Connection:
        host, port, _ = key

        def closed(reason: Exception) -> None:
            if self._open.get(key) is connection:
                del self._open[key]
                self._turn += 1
                self._lost(to, lane, reason)
            elif isinstance(reason, NoCommonVersion):
                self._lost(to, lane, reason)  # The caller may have dropped the connection by now, and would retry forever.

        def idle() -> None:
            if self._open.get(key) is connection:
                self._forget(key).close("idle")

        timeout_s = self._timeout_s if lane in _TIMED and not self._shares else math.inf
        connection = Connection(
            self._connect, host, port, client_id=self._client_id, versions=self._versions, closed=closed, timeout_s=timeout_s,
            idle_s=self._idle_s, idle=idle, observer=self._observer, number=next(self._numbers), repeats_correlations=self._repeats,
        )  # fmt: skip
        self._open[key] = connection
        self._nursery.start_soon(connection.run)
        return connection

    def _forget(self, key: _Key) -> Connection:
        return self._open.pop(key)


class _FirstGood:
    """Takes the answers to one request that was sent to several brokers, and passes one of them on."""

    def __init__(self, api: Api, brokers: int, answered: Answered) -> None:
        self._api, self._missing = api, brokers
        self._answered: Answered | None = answered

    def __call__(self, body: dict[str, Any] | None) -> None:
        self._missing -= 1
        is_good = body is not None and not error_of(self._api, body)
        if self._answered is not None and (is_good or not self._missing):
            answered, self._answered = self._answered, None
            answered(body)

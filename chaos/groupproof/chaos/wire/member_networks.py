"""The links between members and brokers over TCP: each member has a tap of its own, with a Toxiproxy before it where links are impaired.

A member only knows the addresses of its own links: the tap writes them into every answer that names a broker. In one run, faults on frames act in
the tap and faults on bytes in Toxiproxy.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import trio

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.model.plan import Impair
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.harness.subjects.networks.client_ids import ProcessStarts, RelabelledStream
from groupproof.harness.subjects.networks.impairments import Receipt
from groupproof.harness.subjects.networks.network import ThrottledStream
from groupproof.harness.subjects.networks.stream_wrapper import StreamWrapper
from groupproof.harness.subjects.tap.addresses import NamedBroker
from groupproof.harness.subjects.tap.hub import Doors, Hub, Route, Serve, TcpDoors
from groupproof.protocol.toxics import DOWNSTREAM, UPSTREAM
from groupproof.protocol.trace import Recorder

if TYPE_CHECKING:
    from groupproof.chaos.wire.toxiproxy import Proxy, Toxiproxy, Traffic

__all__ = ["MakeHub", "MemberEntrance", "ToxicNetwork"]

MakeHub = Callable[[Doors], Hub]

_ENDING_S: Final = 2.0
"""The time in which connections may end after the members are gone."""

_COUNTED_S: Final = 1.0
"""The time in which Toxiproxy may count the closed connections; bytes lost on the way are never counted."""

_LOOK_S: Final = 0.05
_LOSSY: Final = frozenset({"down", "limit_data", "reset_peer", "timeout"})


@dataclass(slots=True, eq=False)
class _MemberLink:
    """One member's link to one broker; `connections` counts its open connections, `proxy` is None without impairments.

    `toxic_kinds` are the kinds of toxics that acted on it, `bytes_in` and `bytes_out` the bytes that its tap read and wrote.
    """

    member: str
    route: Route
    proxy: Proxy | None = None
    connections: int = 0
    downs: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    toxic_kinds: set[str] = field(default_factory=set)

    def is_counted(self, traffic: Traffic) -> bool:
        """Return whether Toxiproxy has counted all bytes: it counts a connection's bytes just after closing it."""
        is_through = traffic.sent[UPSTREAM] >= self.bytes_in and traffic.received[DOWNSTREAM] >= self.bytes_out
        return is_through and (bool(self.toxic_kinds & _LOSSY) or traffic.sent[DOWNSTREAM] >= traffic.received[DOWNSTREAM])

    @property
    def node(self) -> int | None:
        return self.route.node


@dataclass(slots=True, eq=False)
class _Impairment:
    """One active step, with the links under it and the number of connections that it acted on."""

    step: Impair
    receipt: Receipt
    links: list[_MemberLink] = field(default_factory=list)
    connections: int = 0

    def covers(self, link: _MemberLink) -> bool:
        return (not self.step.members or link.member in self.step.members) and (not self.step.nodes or link.node in self.step.nodes)

    def record_effect(self, link: _MemberLink, connections: int) -> None:
        if connections and not self.connections:
            self.receipt("delivered", kind=self.step.toxics[0].kind, member=link.member, node=link.node)
        self.connections += connections


class ToxicNetwork:
    """A `Network` for the driver. `server` is None where no link is ever impaired.

    An impairment counts as delivered once a connection is under it, even one that was open before. Toxiproxy only reports a connection's
    final counts, which the trace has as events named `traffic`.
    """

    def __init__(
        self, *, make_hub: MakeHub, brokers: Sequence[NamedBroker], recorder: Recorder, nursery: trio.Nursery, server: Toxiproxy | None, key: str,
        is_flooded: Callable[[], bool] = lambda: False,
    ) -> None:  # fmt: skip
        self.is_flooded = is_flooded
        self._make_hub = make_hub
        self._brokers = brokers
        self._recorder = recorder
        self._nursery = nursery
        self._server = server
        self._key = key
        self._stack = AsyncExitStack()
        self._entrances: dict[str, MemberEntrance] = {}
        self._links: list[_MemberLink] = []
        self._active: dict[str, _Impairment] = {}
        self._lock = trio.Lock()
        self._connection_ended = trio.Event()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Close every proxy at the end, in any case."""
        async with self._stack:
            yield

    async def entrance(self, member: str) -> MemberEntrance:
        async with self._lock:
            if member not in self._entrances:
                entrance = self._entrances[member] = MemberEntrance()
                hub = self._make_hub(_ToxicDoors(self, member, entrance, TcpDoors(nursery=self._nursery)))
                for broker in self._brokers:
                    entrance.addresses.append((await hub.route_to(broker.address, broker.node)).local)
            return self._entrances[member]

    async def impair(self, step: Impair, receipt: Receipt) -> None:
        if self._server is None:
            raise BrokenEnvironment(f"{step.name}: no Toxiproxy was started for this plan")
        impairment = self._active[step.name] = _Impairment(step, receipt)
        for link in self._links:
            if impairment.covers(link):
                await self._apply(link, impairment)

    async def mend(self, name: str) -> Mapping[str, Any]:
        impairment = self._active.pop(name, None)
        if impairment is None:
            return {}
        for link in impairment.links:
            await self._remove(link, impairment)
        return {"connections": impairment.connections}

    async def record_traffic(self) -> None:
        """Record Toxiproxy's counts of each used link; open connections are not in them."""
        await self._connections_ended(*self._links)
        deadline = trio.current_time() + _COUNTED_S
        for link in self._links:
            if link.proxy is not None:
                traffic = await link.proxy.traffic()
                while not link.is_counted(traffic) and trio.current_time() < deadline:
                    await trio.sleep(_LOOK_S)
                    traffic = await link.proxy.traffic()
                body = {"name": "traffic", "received": dict(traffic.received), "sent": dict(traffic.sent)}
                self._recorder.record("event", who="kit", client=link.member, node=link.node, body=body)

    async def open_link(self, member: str, route: Route, serve: Callable[[_MemberLink], Serve], doors: TcpDoors) -> Address:
        """Open a link to a broker: a tap's port, with a proxy before it if there is a server; active impairments act on it."""
        link = _MemberLink(member, route)
        host, port = await doors.open(serve(link), route)
        self._links.append(link)
        if self._server is None:
            return host, port
        link.proxy = await self._stack.enter_async_context(self._server.proxy(f"{self._key}-{member}-{port}", f"{host}:{port}"))
        for impairment in list(self._active.values()):
            if impairment.covers(link):
                await self._apply(link, impairment)
        return link.proxy.address

    @asynccontextmanager
    async def counted_connection(self, link: _MemberLink) -> AsyncIterator[None]:
        """Count a connection while it lasts."""
        link.connections += 1
        for impairment in self._active.values():
            if link in impairment.links:
                impairment.record_effect(link, 1)
        try:
            yield
        finally:
            link.connections -= 1
            self._connection_ended.set()
            self._connection_ended = trio.Event()

    async def _connections_ended(self, *links: _MemberLink) -> None:
        """Wait until the taps notice the end of these links' connections, which Toxiproxy cut before."""
        with trio.move_on_after(_ENDING_S):
            while any(link.connections for link in links):
                await self._connection_ended.wait()

    async def _apply(self, link: _MemberLink, impairment: _Impairment) -> None:
        if link.proxy is None or link in impairment.links:
            return
        impairment.links.append(link)
        link.toxic_kinds.update(item.kind for item in impairment.step.toxics)
        for number, item in enumerate(impairment.step.toxics):
            if item.kind == "down":
                impairment.record_effect(link, link.connections)
                link.downs += 1
                if link.downs == 1:
                    await link.proxy.disable()
                    await self._connections_ended(link)
            else:
                await link.proxy.add(item, f"{impairment.step.name}-{number}")
        impairment.record_effect(link, 0 if any(entry.kind == "down" for entry in impairment.step.toxics) else link.connections)

    async def _remove(self, link: _MemberLink, impairment: _Impairment) -> None:
        assert link.proxy is not None
        for number, item in enumerate(impairment.step.toxics):
            if item.kind == "down":
                link.downs -= 1
                if link.downs == 0:
                    await link.proxy.enable()
            else:
                await link.proxy.remove(item, f"{impairment.step.name}-{number}")


class MemberEntrance:
    """The addresses for one member. `names` are client ids by pid, for processes that accept none (level 0): the tap adds them to requests."""

    def __init__(self) -> None:
        self.addresses: list[Address] = []
        self.names: dict[int, str] = {}
        self.arrivals: dict[str, trio.Event] = {}
        self.starts = ProcessStarts()

    async def connect(self, host: str, port: int) -> trio.abc.Stream:
        return await trio.open_tcp_stream(host, port)


@dataclass(frozen=True, slots=True)
class _ToxicDoors:
    """The ports of one member's tap."""

    network: ToxicNetwork
    member: str
    entrance: MemberEntrance
    doors: TcpDoors

    async def open(self, serve: Serve, route: Route) -> Address:
        return await self.network.open_link(self.member, route, lambda link: partial(self._serve, link, serve), self.doors)

    async def _serve(self, link: _MemberLink, serve: Serve, stream: trio.abc.Stream, peer: str) -> None:
        await self.entrance.starts.over()
        named = RelabelledStream(stream, self.member) if self.entrance.names else stream
        if self.member in self.entrance.arrivals:
            self.entrance.arrivals.pop(self.member).set()
        async with self.network.counted_connection(link):
            await serve(ThrottledStream(_CountedStream(named, link), self.network.is_flooded), peer)


class _CountedStream(StreamWrapper):
    """A connection that counts its bytes for its link."""

    def __init__(self, inner: trio.abc.Stream, link: _MemberLink) -> None:
        super().__init__(inner)
        self._link = link

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await super().send_all(data)
        self._link.bytes_out += len(data)

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        received = await super().receive_some(max_bytes)
        self._link.bytes_in += len(received)
        return received

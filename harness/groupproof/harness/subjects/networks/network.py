"""Makes a cluster's brokers reachable: loopback TCP for programs, memory streams in virtual time for members in this process.

Each case opens its own `Network`, so that cases never meet. A broker has one address, which the cluster returns in Metadata and FindCoordinator.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar, runtime_checkable

import trio

from groupproof.coordinator.broker.sockets import Poller, Socket
from groupproof.harness.model.errors import BrokenEnvironment, KitFailure
from groupproof.harness.model.plan import Impair
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.harness.subjects.networks.client_ids import OwnerGone, ProcessStarts, RelabelledStream, owner_of_connection
from groupproof.harness.subjects.networks.impairments import Impairments, Receipt
from groupproof.harness.subjects.networks.memory_streams import memory_stream_pair
from groupproof.harness.subjects.networks.ports import reserve_port
from groupproof.harness.subjects.networks.stream_wrapper import StreamWrapper

__all__ = [
    "Brokers", "Entrance", "InProcessNetwork", "LoopbackNetwork", "MemoryNetwork", "NamingEntrance", "Network",
    "ThrottledSocket", "ThrottledStream",
]  # fmt: skip

T = TypeVar("T")

BACKLOG = 128

_PORTS_TRIED = 5

CALM_S = 0.05
"""How long (s) a connection waits before each read during a flood."""


class Brokers(Protocol):
    """What a network needs of a cluster: it serves one stream per connection, and accepts the address of each broker."""

    @property
    def nodes(self) -> Sequence[int]: ...

    def advertise(self, node_id: int, host: str, port: int) -> None: ...

    def is_up(self, node_id: int) -> bool:
        """Return whether the broker listens."""
        ...

    async def turned(self, node_id: int) -> None:
        """Return when `is_up` may have changed."""
        ...

    async def serve_connection(self, node_id: int, stream: trio.abc.Stream, peer: str) -> None: ...


class Entrance(Protocol):
    """The connection point of one member, so that its connections can differ from another member's."""

    @property
    def addresses(self) -> Sequence[Address]:
        """Return the member's bootstrap servers."""
        ...

    async def connect(self, host: str, port: int) -> trio.abc.Stream: ...


@runtime_checkable
class NamingEntrance(Protocol):
    """A connection point for programs that accept no client id (level 0). `names` maps a process to the client id for its requests.

    The event of a name in `arrivals` is set when its first connection has come. While a process starts (`starts`), connections wait for its name.
    """

    names: dict[int, str]
    arrivals: dict[str, trio.Event]
    starts: ProcessStarts


class Network(Protocol):
    """The connections between members and brokers, as the driver uses them. Each member has its own entrance."""

    async def entrance(self, member: str) -> Entrance: ...

    async def impair(self, step: Impair, receipt: Receipt) -> None:
        """Apply toxics from now on. Raise `BrokenEnvironment` where that cannot be done here."""
        ...

    async def mend(self, name: str) -> Mapping[str, Any]:
        """End an impairment, and return the body of its last receipt. A name that is not impaired is no error."""
        ...


class InProcessNetwork(Network, Protocol):
    """Opens an address for each broker of a cluster in this process, as long as the context lasts."""

    def opened(self, brokers: Brokers) -> AbstractAsyncContextManager[list[Address]]: ...


class LoopbackNetwork:
    """TCP on `bind` with ports chosen by the kernel (or from `first_port` on). Clients get `advertise`.

    `names` are the client ids, by process, of programs that accept none (level 0). The network writes them into their requests. While `is_flooded`
    returns True, requests are read slowly, as a broker does beyond a quota.
    """

    def __init__(self, bind: str = "127.0.0.1", advertise: str | None = None, first_port: int = 0) -> None:
        self.bind = bind
        self.advertised = advertise or bind
        self.first_port = first_port
        self.names: dict[int, str] = {}
        self.arrivals: dict[str, trio.Event] = {}
        self.starts = ProcessStarts()
        self.is_flooded: Callable[[], bool] = lambda: False
        self.addresses: list[Address] = []

    @asynccontextmanager
    async def opened(self, brokers: Brokers) -> AsyncIterator[list[Address]]:
        """Raise `BrokenEnvironment` when a port is not free."""
        with closing(Poller()) as poller:
            async with trio.open_nursery() as nursery:
                await nursery.start(poller.run)
                self._open(brokers, poller, nursery)
                yield self.addresses
                nursery.cancel_scope.cancel()

    def _open(self, brokers: Brokers, poller: Poller, nursery: trio.Nursery) -> None:
        self.addresses = []
        for index, node in enumerate(brokers.nodes):
            listener = _listener(self.bind, self.first_port + index) if self.first_port else _own_listener(self.bind)
            port = int(listener.socket.getsockname()[1])
            brokers.advertise(node, self.advertised, port)
            self.addresses.append((self.advertised, port))
            nursery.start_soon(self._listen, brokers, node, poller, listener, nursery)

    async def _listen(self, brokers: Brokers, node: int, poller: Poller, listener: trio.SocketListener, connections: trio.Nursery) -> None:
        """Accept connections for a broker. While the broker is down its port refuses them."""
        port = int(listener.socket.getsockname()[1])
        serve = partial(self._serve, partial(brokers.serve_connection, node), poller)
        while True:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(partial(trio.serve_listeners, serve, [listener], handler_nursery=connections))
                while brokers.is_up(node):
                    await brokers.turned(node)
                nursery.cancel_scope.cancel()
            while not brokers.is_up(node):
                await brokers.turned(node)
            listener = _listener(self.bind, port)

    async def entrance(self, member: str) -> Entrance:
        """Return the same entrance for every member."""
        return self

    async def impair(self, step: Impair, receipt: Receipt) -> None:
        raise BrokenEnvironment(
            f"{step.name}: no proxy stands between members and brokers here, so no connection can be impaired; run it with `chaos`"
        )

    async def mend(self, name: str) -> Mapping[str, Any]:
        return {}

    async def _serve(self, serve: Callable[[trio.abc.Stream, str], Awaitable[None]], poller: Poller, stream: trio.SocketStream) -> None:
        # A peer that closed before it was accepted has no address any more. Its connection is still served to its end.
        try:
            host, port = stream.socket.getpeername()[:2]
        except OSError:
            await serve(stream, "gone")
            return
        await self.starts.over()
        try:
            name = owner_of_connection(port, stream.socket.getsockname()[1], self.names) if self.names else None
        except OwnerGone:
            await stream.aclose()
            return
        if name in self.arrivals:
            self.arrivals.pop(name).set()
        await serve(self._throttled(stream, name, poller), f"{host}:{port}")

    def _throttled(self, stream: trio.SocketStream, name: str | None, poller: Poller) -> trio.abc.Stream:
        """Return the connection as its broker gets it. One with renamed requests is read by its own task."""
        if name is None:
            return ThrottledSocket(stream, poller, self.is_flooded)
        return ThrottledStream(RelabelledStream(stream, name), self.is_flooded)

    async def connect(self, host: str, port: int) -> trio.abc.Stream:
        return await trio.open_tcp_stream(host, port)


def _kept_port(host: str) -> int:
    """Return a port that the kernel gives to no other program for a minute, even when it is closed; 0 where that is impossible.

    A client that outlives its case, such as kafkajs when it is disconnected during a join, may connect to its broker's port that long. Another run
    with that port would take its requests for those of its own client of that name.
    """
    if ":" in host:
        return 0
    try:
        return reserve_port(host)
    except BrokenEnvironment:
        return 0


def _own_listener(host: str) -> trio.SocketListener:
    """Listen on a kept port, or on another one if it was taken before: Linux may give it to an outgoing connection of any program."""
    for _ in range(_PORTS_TRIED):
        try:
            return _listener(host, _kept_port(host))
        except BrokenEnvironment as error:
            if not isinstance(error.__cause__, OSError) or error.__cause__.errno != errno.EADDRINUSE:
                raise
    return _listener(host, 0)


def _listener(host: str, port: int) -> trio.SocketListener:
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        where = f"{host}:{port}" if port else host
        raise BrokenEnvironment(f"can't listen on {where}: {error.strerror or error}; choose another address with --bind or --port") from error
    return trio.SocketListener(trio.socket.from_stdlib_socket(sock))


class _Flood(Exception):
    """The socket must not be read for a while."""


class ThrottledSocket(Socket):
    """A socket that is read slowly during a flood, like a `ThrottledStream`. Without a flood its requests are answered where they are read."""

    def __init__(self, stream: trio.SocketStream, poller: Poller, is_flooded: Callable[[], bool]) -> None:
        super().__init__(stream, poller)
        self._is_flooded = is_flooded

    async def left(self, take: Callable[[bytes], T | None]) -> T:
        def take_calmly(data: bytes) -> T | None:
            left = take(data)
            if left is None and self._is_flooded():
                raise _Flood
            return left

        while True:
            await self._calm()
            with suppress(_Flood):
                return await super().left(take_calmly)

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        await self._calm()
        return await super().receive_some(max_bytes)

    async def _calm(self) -> None:
        if self._is_flooded():
            await trio.sleep(CALM_S)


class ThrottledStream(StreamWrapper):
    """A connection that is read slowly during a flood, so that one client without pauses costs the others no time."""

    def __init__(self, inner: trio.abc.Stream, is_flooded: Callable[[], bool]) -> None:
        super().__init__(inner)
        self._is_flooded = is_flooded

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        if self._is_flooded():
            await trio.sleep(CALM_S)
        return await super().receive_some(max_bytes)


class MemoryNetwork:
    """Streams in memory: no sockets, no bytes on a wire, and time can be virtual. Hosts are called broker-1, broker-2, …

    With `impairments` each connection can be impaired, which costs it some steps.
    """

    PORT = 9092

    def __init__(self, impairments: Impairments | None = None) -> None:
        self._impairments = impairments
        self._brokers: Brokers | None = None
        self._nodes: dict[Address, int] = {}
        self._nursery: trio.Nursery | None = None
        self._connections = 0

    @asynccontextmanager
    async def opened(self, brokers: Brokers) -> AsyncIterator[list[Address]]:
        async with trio.open_nursery() as nursery:
            self._brokers, self._nursery = brokers, nursery
            for node in brokers.nodes:
                address = (f"broker-{node}", self.PORT)
                self._nodes[address] = node
                brokers.advertise(node, *address)
            try:
                yield self.addresses
            finally:
                self._nursery, self._nodes = None, {}
                nursery.cancel_scope.cancel()

    @property
    def addresses(self) -> list[Address]:
        return list(self._nodes)

    async def entrance(self, member: str) -> Entrance:
        return _MemoryEntrance(self, member)

    async def impair(self, step: Impair, receipt: Receipt) -> None:
        self._required_impairments().impair(step, receipt)

    async def mend(self, name: str) -> Mapping[str, Any]:
        return self._required_impairments().mend(name)

    def _required_impairments(self) -> Impairments:
        if self._impairments is None:
            raise KitFailure("streams in memory are impaired only in a network that was made for it")
        return self._impairments

    async def connect(self, host: str, port: int, member: str = "") -> trio.abc.Stream:
        """Raise `ConnectionRefusedError` for an address without a listener, as a socket would, and for a connection that is down."""
        await trio.lowlevel.checkpoint()
        node = self._nodes.get((host, port))
        if node is None or self._nursery is None or self._brokers is None or not self._brokers.is_up(node):
            raise ConnectionRefusedError(f"nobody listens on {host}:{port}")
        ours, theirs = self._pair(member, node, self._nursery)
        self._connections += 1
        self._nursery.start_soon(self._brokers.serve_connection, node, theirs, f"memory:{self._connections}")
        return ours

    def _pair(self, member: str, node: int, nursery: trio.Nursery) -> tuple[trio.abc.Stream, trio.abc.Stream]:
        if self._impairments is None:
            return memory_stream_pair()
        connection = self._impairments.connection(member, node)
        nursery.start_soon(self._impairments.carry, connection)
        return connection.member_end, connection.broker_end


@dataclass(frozen=True, slots=True)
class _MemoryEntrance:
    network: MemoryNetwork
    member: str

    @property
    def addresses(self) -> Sequence[Address]:
        return self.network.addresses

    async def connect(self, host: str, port: int) -> trio.abc.Stream:
        return await self.network.connect(host, port, self.member)

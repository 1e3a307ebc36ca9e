"""The whole tap: a port for each broker that it learns of, and every connection that comes in on one of them."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol

import trio

from groupproof.coordinator.broker.interception import Interception
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.harness.subjects.networks.request_connection import Connect
from groupproof.harness.subjects.tap.addresses import named_in, with_addresses
from groupproof.harness.subjects.tap.broker_dial import BrokerDial
from groupproof.harness.subjects.tap.group_inquiry import own_settings
from groupproof.harness.subjects.tap.groups_in_frames import GroupsInFrames
from groupproof.harness.subjects.tap.link import TapLink
from groupproof.harness.subjects.tap.tapped_frame_faults import MoveGroup, TapFaults
from groupproof.harness.subjects.tap.topic_names import TopicNames
from groupproof.protocol.trace import Recorder
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import FRAME_BYTES_MAX

__all__ = ["ROUTES_MAX", "Doors", "Hub", "Route", "TcpDoors"]

ROUTES_MAX: Final = 1_000
"""The maximum number of tapped brokers: an upstream that keeps naming new addresses must not use up all ports."""

Serve = Callable[[trio.abc.Stream, str], Awaitable[None]]


@dataclass(slots=True, kw_only=True)
class Route:
    """The port at which clients reach one broker. `node` is None until a response has named it."""

    upstream: Address
    local: Address
    node: int | None = None


class Doors(Protocol):
    """Opens the addresses at which clients connect."""

    async def open(self, serve: Serve, route: Route) -> Address:
        """Serve every connection to a new address, which is returned. Raise `BrokenEnvironment` where none is available."""
        ...


@dataclass(slots=True, kw_only=True)
class TcpDoors:
    """TCP ports on `bind`, chosen by the kernel or from `first_port` on. Clients get `advertise`."""

    nursery: trio.Nursery
    bind: str = "127.0.0.1"
    advertise: str | None = None
    first_port: int = 0
    _opened: int = 0

    async def open(self, serve: Serve, route: Route) -> Address:
        port = self.first_port and self.first_port + self._opened
        try:
            listeners = await trio.open_tcp_listeners(port, host=self.bind)
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or error
            raise BrokenEnvironment(f"can't listen on {self.bind}:{port}: {why}; choose another address with --bind or --port") from error
        self._opened += 1
        # serve_listeners tolerates connections that break before they are accepted, and waits when file descriptors run out.
        self.nursery.start_soon(trio.serve_listeners, partial(_accepted, serve), listeners)
        return self.advertise or self.bind, int(listeners[0].socket.getsockname()[1])


async def _accepted(serve: Serve, stream: trio.SocketStream) -> None:
    try:
        peer = "{}:{}".format(*stream.socket.getpeername()[:2])
    except OSError:  # gone again before it was served
        peer = "unknown:0"
    await serve(stream, peer)


@dataclass(slots=True, kw_only=True)
class Hub:
    """Routes by the broker's address. `connect` reaches brokers. Implements the `Station` of its connections.

    Several hubs can stand before the same brokers; then they share `interception`, `groups` and `numbers`. `move` moves a coordinator, if that is
    possible at all. With `is_quiet` only the trace says why connections end. With `inquires` the hub asks the brokers for each consumer group's own
    configs.
    """

    recorder: Recorder
    connect: Connect
    doors: Doors
    interception: Interception
    frame_bytes_max: int = FRAME_BYTES_MAX
    frame_faults: TapFaults = field(init=False)
    routes: dict[Address, Route] = field(default_factory=dict)
    groups: GroupsInFrames = field(default_factory=GroupsInFrames)
    numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    move: MoveGroup | None = None
    is_quiet: bool = False
    inquires: bool = False
    topics: TopicNames = field(default_factory=TopicNames)
    _asked_groups: set[str] = field(default_factory=set)
    _opening: trio.Lock = field(default_factory=trio.Lock)

    def __post_init__(self) -> None:
        self.frame_faults = TapFaults(self.interception, self.groups, self.move)

    async def route_to(self, upstream: Address, node: int | None = None) -> Route:
        """Return the route to a broker, opened if it is new. Raise `BrokenEnvironment` where no port is available."""
        async with self._opening:
            route = self.routes.get(upstream)
            if route is None:
                route = await self._opened(upstream, node)
            route.node = route.node if node is None else node
            return route

    async def localized(self, api: Api, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return a response with the tap's addresses in it. Raise `BrokenEnvironment`."""
        addresses = {}
        for named in named_in(api, body):
            addresses[named.address] = (await self.route_to(named.address, named.node)).local
        return with_addresses(api, body, addresses)

    def asked(self, api: Api, group: str | None) -> None:
        self.groups.asked(api, group)

    def follow(self, api: Api, group: str | None, body: Mapping[str, Any]) -> None:
        self.groups.follow(api, group, body)
        if changed := self.topics.learn(api, body):
            topics = {name: list(topic) for name, topic in changed.items()}
            self.recorder.record("event", who="link", body={"name": "topics", "topics": topics})

    def name_of(self, topic_id: str) -> str:
        return self.topics.name_of(topic_id)

    async def meet(self, api: Api, group: str | None) -> None:
        """Ask about a consumer group before its first heartbeat goes on."""
        if not self.inquires or api is not Api.CONSUMER_GROUP_HEARTBEAT or group is None or group in self._asked_groups:
            return
        self._asked_groups.add(group)
        own = await own_settings(self.connect, next(iter(self.routes)), group)
        self.recorder.record("event", who="link", group=group, body={"name": "group_settings", **own})

    async def _opened(self, upstream: Address, node: int | None) -> Route:
        if len(self.routes) >= ROUTES_MAX:
            raise BrokenEnvironment(f"the upstream has named {ROUTES_MAX} addresses; no more are tapped")
        route = Route(upstream=upstream, local=("", 0), node=node)
        route.local = await self.doors.open(partial(self._serve, route, BrokerDial(upstream, self.connect, self.is_quiet)), route)
        self.routes[upstream] = route
        self.recorder.record("event", who="link", body={"name": "routed", "upstream": list(upstream), "local": list(route.local)})
        return route

    async def _serve(self, route: Route, reach: BrokerDial, stream: trio.abc.Stream, peer: str) -> None:
        link = TapLink(self, next(self.numbers), route.node, stream, peer, reach)
        await link.serve()

"""The reference cluster behind a tap, members in front of it, all in this process and in virtual time."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import trio
import trio.testing

from groupproof.clients.shims.reference import run_shim
from groupproof.coordinator.broker.interception import Interception
from groupproof.coordinator.machine.variant import REFERENCE, Variant
from groupproof.harness.model.plan import Member
from groupproof.harness.running.plans.member_control import subscription_of
from groupproof.harness.subjects.brokers.cluster import RunningCluster
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.harness.subjects.networks.request_connection import Connect
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.harness.subjects.tap.hub import Hub, Route, Serve
from groupproof.harness.subjects.tap.upstream import meet_upstream
from groupproof.protocol.faults import Fault
from groupproof.protocol.trace import Observation, Recorder, Trace
from groupproof.protocol.wire.message_codec import Framer, frame

__all__ = ["MemoryDoors", "Peer", "Scene", "Shop", "played"]

SETTINGS = {"group.initial.rebalance.delay.ms": 100, "group.min.session.timeout.ms": 100}


class MemoryDoors:
    """Addresses called tap-0, tap-1, …, and what reaches them."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self._nursery = nursery
        self._serve: dict[Address, Serve] = {}
        self.visits = 0

    async def open(self, serve: Serve, route: Route) -> Address:
        await trio.lowlevel.checkpoint()
        address = (f"tap-{len(self._serve)}", 9092)
        self._serve[address] = serve
        return address

    async def connect(self, host: str, port: int) -> trio.abc.Stream:
        await trio.lowlevel.checkpoint()
        if (host, port) not in self._serve:
            raise ConnectionRefusedError(f"nobody listens on {host}:{port}")
        ours, theirs = trio.testing.memory_stream_pair()
        self.visits += 1
        self._nursery.start_soon(self._serve[host, port], theirs, f"memory:{self.visits}")
        return ours


class Peer:
    """One side of a stream, in frames."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self.stream = stream
        self._framer = Framer()
        self._frames: list[bytes] = []

    async def say(self, payload: bytes) -> None:
        await self.stream.send_all(frame(payload))

    async def hear(self) -> bytes:
        """Return the next frame; b"" once the other side has closed the stream."""
        while not self._frames:
            data = await self.stream.receive_some()
            if not data:
                return b""
            self._frames += self._framer.feed(bytes(data))
        return self._frames.pop(0)


class Shop:
    """A reference member that subscribes by way of the tap."""

    def __init__(self, name: str, connect: Connect, bootstrap: str) -> None:
        self.name = name
        self.events: list[dict[str, Any]] = []
        self._bootstrap = bootstrap
        self._connect = connect
        self._say, self._lines = trio.open_memory_channel[str](10)
        self._changed = trio.Event()
        self._commands = 0

    async def run(self) -> None:
        await run_shim(aiter(self._lines), self._emit, self._connect, seed=1)

    async def _emit(self, line: str) -> None:
        await trio.lowlevel.checkpoint()
        self.events.append(json.loads(line))
        self._changed.set()
        self._changed = trio.Event()

    async def say(self, command: str, **fields: Any) -> None:
        self._commands += 1
        await self._say.send(json.dumps({"id": self._commands, "command": command, "member": self.name, **fields}))

    async def join(self, **settings: Any) -> None:
        """Subscribe, and wait for partitions."""
        await self.say("subscribe", **subscription_of(Member(name=self.name, settings=settings), self._bootstrap))
        await self.until("partitions_assigned")

    async def until(self, name: str, count: int = 1) -> None:
        with trio.fail_after(60):
            while sum(1 for event in self.events if event.get("name") == name) < count:
                await self._changed.wait()

    async def close(self) -> None:
        await self.say("close")
        await self.until("shutdown_complete")
        self._say.close()


class Scene:
    """A tap in front of the reference cluster."""

    def __init__(self, nursery: trio.Nursery, cluster: RunningCluster, faults: tuple[Fault, ...]) -> None:
        self.cluster = cluster
        self.recorder = Recorder(lambda: round(trio.current_time() * 1e9))
        self.doors = MemoryDoors(nursery)
        self.interception = Interception(self.recorder)
        for fault in faults:
            self.interception.arm(fault)
        self.hub = Hub(recorder=self.recorder, connect=cluster.connect, doors=self.doors, interception=self.interception)
        self._nursery = nursery

    async def open(self) -> None:
        upstream = await meet_upstream(self.hub.connect, self.cluster.addresses, profile=None)
        self.hub.topics.begin(upstream.topics or {})
        self.recorder.record("event", who="kit", body=upstream.to_json())
        for named in upstream.brokers:
            await self.hub.route_to(named.address, named.node)

    def shop(self, name: str) -> Shop:
        """Return a new member, whose shim runs."""
        return self._shop(name, self.doors.connect, [route.local for route in self.hub.routes.values()])

    async def pass_time(self, seconds: float) -> None:
        """Let virtual time pass."""
        await trio.sleep(seconds)

    def stranger(self, name: str) -> Shop:
        """Return a new member that goes to the brokers past the tap."""
        return self._shop(name, self.cluster.connect, self.cluster.addresses)

    def _shop(self, name: str, connect: Connect, addresses: Sequence[Address]) -> Shop:
        shop = Shop(name, connect, ",".join(f"{host}:{port}" for host, port in addresses))
        self._nursery.start_soon(shop.run)
        return shop

    @asynccontextmanager
    async def peer(self) -> AsyncIterator[Peer]:
        """Connect by hand to the first broker."""
        stream = await self.doors.connect("tap-0", 9092)
        yield Peer(stream)
        await stream.aclose()

    @property
    def trace(self) -> Trace:
        return self.recorder.trace

    def links(self, name: str) -> list[Observation]:
        return [obs for obs in self.trace if obs.who == "link" and obs.body["name"] == name]

    def stages(self, fault: str) -> list[str | None]:
        return [obs.detail for obs in self.trace if obs.kind == "fault" and obs.fault == fault]


def played(
    act: Callable[[Scene], Awaitable[None]], *faults: Fault, variant: Variant = REFERENCE, brokers: int = 2, settings: Mapping[str, Any] | None = None
) -> Trace:
    """Carry `act` out and return the trace, that of the tap's end included."""
    scenes: list[Scene] = []

    async def main() -> None:
        subject = ReferenceBrokers(profile="kafka-4.1", seed=1, variant=variant)
        async with (
            subject.cluster(settings={**SETTINGS, **(settings or {})}, brokers=brokers, topics={"t": 4}) as cluster,
            trio.open_nursery() as nursery,
        ):
            scenes.append(Scene(nursery, cluster, faults))
            await scenes[0].open()
            with trio.fail_after(600):
                await act(scenes[0])
            nursery.cancel_scope.cancel()

    run_virtually(main, seed=1)
    return scenes[0].trace

"""Each fault of a way in memory bites, as Toxiproxy's does, and without it nothing changes; all in virtual time."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
import trio
from tests.harness.subjects.shims.fakes import AlwaysUp

from groupproof.harness.model.plan import Impair
from groupproof.harness.subjects.networks.impairments import Impairments
from groupproof.harness.subjects.networks.network import MemoryNetwork
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.protocol.toxics import (
    DOWNSTREAM,
    UPSTREAM,
    Stream,
    Toxic,
    bandwidth,
    down,
    latency,
    limit_data,
    reset_peer,
    slicer,
    slow_close,
    timeout,
)

BOTH = pytest.mark.parametrize("stream", [UPSTREAM, DOWNSTREAM])
SOME = b"x" * 2_000


class Echo(AlwaysUp):
    """Two brokers that say again what they are told, and hang up at "bye"."""

    nodes = (0, 1)

    def __init__(self) -> None:
        self.heard: list[bytes] = []

    def advertise(self, node_id: int, host: str, port: int) -> None: ...

    async def serve_connection(self, node_id: int, stream: trio.abc.Stream, peer: str) -> None:
        with suppress(trio.BrokenResourceError):
            while (data := bytes(await stream.receive_some())) and data != b"bye":
                self.heard.append(data)
                await stream.send_all(data)
        await stream.aclose()


class World:
    """A network in memory with its clock, and the receipts of what was done to it."""

    def __init__(self, network: MemoryNetwork, brokers: Echo) -> None:
        self.network = network
        self.brokers = brokers
        self.receipts: list[tuple[str, dict[str, Any]]] = []

    async def impair(self, *toxics: Toxic, name: str = "i", **between: Any) -> None:
        await self.network.impair(Impair(name=name, toxics=toxics, **between), lambda stage, **body: self.receipts.append((stage, body)))

    async def connect(self, member: str = "m0", node: int = 0) -> trio.abc.Stream:
        entrance = await self.network.entrance(member)
        return await entrance.connect(*entrance.addresses[node])

    async def round_trip(self, stream: trio.abc.Stream | None = None, some: bytes = SOME) -> tuple[float, int]:
        """Return how many seconds it took until all came back or the connection ended, and how many bytes came."""
        pass_on = stream or await self.connect()
        began, came = trio.current_time(), 0
        await pass_on.send_all(some)
        while came < len(some) and (chunk := await pass_on.receive_some()):
            came += len(chunk)
        if stream is None:
            await pass_on.aclose()
        return round(trio.current_time() - began, 6), came


def world_after(story: Callable[[World], Awaitable[None]], *, seed: int = 1) -> World:
    worlds: list[World] = []

    async def main() -> None:
        network = MemoryNetwork(Impairments(random.Random(seed)))
        brokers = Echo()
        async with network.opened(brokers):
            worlds.append(World(network, brokers))
            with trio.fail_after(600):
                await story(worlds[0])

    run_virtually(main, seed=seed, steps_max=100_000)
    return worlds[0]


@BOTH
@pytest.mark.parametrize("opened_before", [True, False], ids=["on an open connection", "on a new one"])
@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda stream: latency(400, stream=stream), (0.4, 2_000)),
        (lambda stream: bandwidth(4, stream=stream), (0.5, 2_000)),
        (lambda stream: timeout(300, stream=stream), (0.3, 0)),
        (lambda stream: limit_data(500, stream=stream), (0.0, 500)),
        (lambda stream: slicer(500, delay_us=20_000, stream=stream), (0.06, 2_000)),
    ],
    ids=["latency", "bandwidth", "timeout", "limit_data", "slicer"],
)
def test_a_fault_changes_what_comes_back_and_mended_it_does_not(
    make: Callable[[Stream], Toxic], expected: tuple[float, int], stream: Stream, opened_before: bool
) -> None:
    async def story(world: World) -> None:
        before = await world.connect() if opened_before else None
        assert await world.round_trip(before) == (0.0, 2_000)
        await world.impair(make(stream))
        took, came = await world.round_trip(before)
        assert (took, came) == expected if stream == DOWNSTREAM or came else came == 0
        (receipt,) = world.receipts
        assert receipt == ("delivered", {"kind": make(stream).kind, "member": "m0", "node": 0})
        assert await world.network.mend("i") == {"connections": 1}
        assert await world.round_trip() == (0.0, 2_000)

    world_after(story)


@BOTH
def test_a_reset_is_one_for_connections_that_began_under_it_and_an_end_for_the_others(stream: Stream) -> None:
    async def story(world: World) -> None:
        before = await world.connect()
        await world.impair(reset_peer(50, stream=stream))
        assert await world.round_trip(before) == (0.05, 0)
        with pytest.raises(trio.BrokenResourceError, match="reset"):
            await world.round_trip()

    world_after(story)


def test_a_slow_close_keeps_the_end_of_a_connection_back() -> None:
    async def closing(world: World) -> float:
        stream = await world.connect()
        began = trio.current_time()
        await stream.send_all(b"bye")
        assert await stream.receive_some() == b""
        return trio.current_time() - began

    async def story(world: World) -> None:
        assert await closing(world) == 0
        await world.impair(slow_close(400))
        assert await closing(world) == pytest.approx(0.4)

    world_after(story)


def test_a_way_that_is_down_is_cut_and_refuses_and_comes_back() -> None:
    async def story(world: World) -> None:
        stream = await world.connect()
        await world.impair(down())
        assert await stream.receive_some() == b""
        with pytest.raises(ConnectionRefusedError, match="the connection from m0 to node 0 is down"):
            await world.connect()
        assert await world.network.mend("i") == {"connections": 2}
        assert await world.round_trip() == (0.0, 2_000)

    world_after(story)


@pytest.mark.parametrize("between", [{"members": ("m0",)}, {"nodes": (0,)}, {"members": ("m0",), "nodes": (0,)}])
def test_only_the_ways_that_are_named_are_impaired(between: dict[str, Any]) -> None:
    async def story(world: World) -> None:
        await world.impair(latency(400), **between)
        took = {(member, node): (await world.round_trip(await world.connect(member, node)))[0] for member in ("m0", "m1") for node in (0, 1)}
        slow = {connection for connection, seconds in took.items() if seconds}
        assert slow == {
            (member, node) for member, node in took if member in between.get("members", (member,)) and node in between.get("nodes", (node,))
        }

    world_after(story)


def test_toxicity_is_the_share_of_the_connections_that_are_befallen() -> None:
    async def story(world: World) -> None:
        await world.impair(latency(400, toxicity=0.25))
        slow = [took for took, _ in [await world.round_trip() for _ in range(200)] if took]
        assert 30 <= len(slow) <= 70
        assert await world.network.mend("i") == {"connections": len(slow)}

    world_after(story)


def test_jitter_is_drawn_by_the_seed_alone() -> None:
    def times(seed: int) -> list[float]:
        durations: list[float] = []

        async def story(world: World) -> None:
            await world.impair(latency(100, jitter_ms=50))
            durations.extend([(await world.round_trip())[0] for _ in range(5)])

        world_after(story, seed=seed)
        return durations

    assert times(1) == times(1) != times(2)
    assert all(0.05 <= took < 0.15 for took in times(1))
    assert len(set(times(1))) > 1


def test_bytes_on_their_way_do_not_wait_for_each_other_and_keep_their_order() -> None:
    async def story(world: World) -> None:
        await world.impair(latency(400))
        stream, began = await world.connect(), trio.current_time()
        came: list[tuple[bytes, float]] = []
        await stream.send_all(b"a")
        await trio.sleep(0.1)
        await stream.send_all(b"b")
        while len(came) < 2:
            came.append((bytes(await stream.receive_some()), round(trio.current_time() - began, 6)))
        assert came == [(b"a", 0.4), (b"b", 0.5)]

    world_after(story)


def test_what_is_delayed_goes_at_once_when_the_fault_is_mended() -> None:
    async def story(world: World) -> None:
        await world.impair(latency(60_000))
        await world.impair(bandwidth(0), name="stopped")
        stream = await world.connect()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_mend_both, world)
            assert await world.round_trip(stream) == (1.0, 2_000)

    async def _mend_both(world: World) -> None:
        await trio.sleep(0.5)
        await world.network.mend("i")
        await trio.sleep(0.5)
        await world.network.mend("stopped")

    world_after(story)


def test_a_black_hole_keeps_connections_open_and_ends_them_when_it_is_mended() -> None:
    async def story(world: World) -> None:
        stream = await world.connect()
        await world.impair(timeout(0))
        await stream.send_all(SOME)
        with trio.move_on_after(300) as waited:
            await stream.receive_some()
        assert waited.cancelled_caught
        await world.network.mend("i")
        assert await stream.receive_some() == b""

    world_after(story)


def test_a_timeout_ends_a_connection_that_is_idle_too() -> None:
    async def story(world: World) -> None:
        await world.impair(timeout(300))
        stream, began = await world.connect(), trio.current_time()
        assert await stream.receive_some() == b""
        assert trio.current_time() - began == pytest.approx(0.3)

    world_after(story)


def test_faults_of_one_stream_act_one_after_the_other() -> None:
    async def story(world: World) -> None:
        await world.impair(latency(100), bandwidth(4))
        await world.impair(latency(200, stream=UPSTREAM), name="up")
        assert await world.round_trip() == (0.8, 2_000)

    world_after(story)


def test_what_was_sent_before_the_end_still_comes() -> None:
    """A LeaveGroup, and then the end of the connection."""

    async def story(world: World) -> None:
        await world.impair(latency(100, stream=UPSTREAM))
        stream = await world.connect()
        await stream.send_all(b"leave")
        await stream.aclose()
        await trio.sleep(1)
        assert world.brokers.heard == [b"leave"]

    world_after(story)

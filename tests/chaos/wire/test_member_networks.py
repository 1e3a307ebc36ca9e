"""Each member's way to each broker through a tap and a real Toxiproxy: only the ways that are named are impaired, and both leave receipts."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import toxiproxy
import trio

from groupproof.chaos.wire import member_networks
from groupproof.chaos.wire.member_networks import ToxicNetwork
from groupproof.chaos.wire.toxiproxy_server import Program, running_toxiproxy
from groupproof.coordinator.broker.interception import Interception
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.model.plan import Impair
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers
from groupproof.harness.subjects.networks.request_connection import Asker, asking
from groupproof.harness.subjects.tap.addresses import NamedBroker
from groupproof.harness.subjects.tap.hub import Hub
from groupproof.protocol.faults import Fault, Hold, Selector
from groupproof.protocol.toxics import Toxic, down, latency, limit_data, timeout
from groupproof.protocol.trace import Recorder
from groupproof.protocol.vocabulary import Api

SLOW_S = 0.3
"""What is late takes longer, however quick the machine is."""


class World:
    """The reference cluster behind taps and Toxiproxies."""

    def __init__(self, network: ToxicNetwork, interception: Interception, recorder: Recorder) -> None:
        self.network, self.interception, self.recorder = network, interception, recorder
        self.receipts: list[tuple[str, dict[str, Any]]] = []

    async def impair(self, *toxics: Toxic, name: str = "i", **between: Any) -> None:
        step = Impair(name=name, toxics=toxics, **between)
        await self.network.impair(step, lambda stage, **body: self.receipts.append((stage, body)))

    async def stream(self, member: str, broker: int = 0) -> trio.abc.Stream:
        entrance = await self.network.entrance(member)
        return await entrance.connect(*entrance.addresses[broker])

    async def took(self, member: str, broker: int = 0) -> float:
        """Return how long a question takes on a new connection."""
        async with asking(await self.stream(member, broker)) as asker:
            return await question(asker)

    async def is_cut(self, member: str, broker: int = 0) -> bool:
        """Tell whether a question on a new connection ends it."""
        try:
            await self.took(member, broker)
        except (trio.BrokenResourceError, EOFError):
            return True
        return False


async def question(asker: Asker) -> float:
    began = trio.current_time()
    await asker.ask(Api.METADATA, {"topics": ()}, newest=8)
    return trio.current_time() - began


@pytest.fixture
def on_the_wire(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return what runs a story with a network; without `impaired` no Toxiproxy is started. What surely comes is waited for, on a busy machine too."""
    for bound in ("_ENDING_S", "_COUNTED_S"):
        monkeypatch.setattr(member_networks, bound, 50.0)

    async def whole(story: Callable[[World], Awaitable[None]], program: Program | None) -> None:
        recorder = Recorder(lambda: round(trio.current_time() * 1e9))
        interception, numbers = Interception(recorder), itertools.count(1)
        async with ReferenceBrokers(profile="kafka-4.1", seed=1).cluster(settings={}, brokers=2, topics={}) as cluster:
            brokers = [NamedBroker(node=node, address=address) for node, address in enumerate(cluster.addresses)]
            make = lambda doors: Hub(recorder=recorder, connect=cluster.connect, doors=doors, interception=interception, numbers=numbers)  # noqa: E731 (one use)
            async with trio.open_nursery() as nursery:
                network = partial(ToxicNetwork, make_hub=make, brokers=brokers, recorder=recorder, nursery=nursery, key="c1")
                if program is None:
                    await story(World(network(server=None), interception, recorder))
                else:
                    async with running_toxiproxy(program, cache=tmp_path, logs=tmp_path, seed=1) as server:
                        async with (through := network(server=server)).opened():
                            with trio.fail_after(60):
                                await story(World(through, interception, recorder))
                        assert await server.call("list proxies", lambda: toxiproxy.Toxiproxy().proxies()) == {}
                nursery.cancel_scope.cancel()

    def run(story: Callable[[World], Awaitable[None]], *, impaired: bool = True) -> None:
        trio.run(whole, story, request.getfixturevalue("program") if impaired else None)

    return run


@pytest.mark.slow
def test_only_the_ways_that_are_named_are_impaired_new_ones_too(on_the_wire: Callable[..., None]) -> None:
    async def story(world: World) -> None:
        await world.network.entrance("m0")
        await world.impair(limit_data(1), members=("m0", "m2"), nodes=(0,))
        cut = {(member, broker) for member in ("m0", "m1", "m2") for broker in (0, 1) if await world.is_cut(member, broker)}

        assert cut == {("m0", 0), ("m2", 0)}
        assert world.receipts == [("delivered", {"kind": "limit_data", "member": "m0", "node": 0})]
        assert await world.network.mend("i") == {"connections": 2}
        assert not await world.is_cut("m0")

    on_the_wire(story)


@pytest.mark.slow
def test_an_open_connection_is_impaired_and_the_addresses_in_answers_are_the_member_s_own(on_the_wire: Callable[..., None]) -> None:
    async def story(world: World) -> None:
        entrance = await world.network.entrance("m0")
        async with asking(await world.stream("m0")) as asker:
            answer = await asker.ask(Api.METADATA, {"topics": ()}, newest=8)
            assert [(broker["host"], broker["port"]) for broker in answer["brokers"]] == entrance.addresses
            assert entrance.addresses != (await world.network.entrance("m1")).addresses
            await world.impair(latency(400), members=("m0",))
            assert world.receipts
            assert await question(asker) > SLOW_S

    on_the_wire(story)


@pytest.mark.slow
def test_a_frame_is_held_while_bytes_are_late_and_both_are_proven_and_counted(on_the_wire: Callable[..., None]) -> None:
    async def story(world: World) -> None:
        world.interception.arm(Fault(name="f", selector=Selector(api="Metadata", direction="response"), action=Hold(ms=400)))
        await world.impair(latency(400), members=("m0",))
        assert await world.took("m0") > 0.7
        await world.network.mend("i")
        await world.network.record_traffic()

        stages = [obs.detail for obs in world.recorder.trace if obs.kind == "fault"]
        assert stages == ["armed", "triggered", "delivered", "released"]
        assert [stage for stage, _ in world.receipts] == ["delivered"]
        counted = {obs.node: obs.body for obs in world.recorder.trace if obs.body.get("name") == "traffic"}
        assert counted[0]["received"] == counted[0]["sent"]
        assert counted[0]["sent"]["downstream"] > counted[0]["sent"]["upstream"] > 0
        assert counted[1]["sent"] == {"upstream": 0, "downstream": 0}

    on_the_wire(story)


@pytest.mark.slow
def test_bytes_that_vanish_are_missing_in_the_counters(on_the_wire: Callable[..., None]) -> None:
    async def story(world: World) -> None:
        await world.impair(timeout(200))
        with pytest.raises((trio.BrokenResourceError, EOFError)):
            await world.took("m0")
        await world.network.mend("i")
        await world.network.record_traffic()

        (counted,) = (obs.body for obs in world.recorder.trace if obs.body.get("name") == "traffic" and obs.node == 0)
        assert counted["received"]["downstream"] > 0
        assert counted["sent"]["downstream"] == 0

    on_the_wire(story)


@pytest.mark.slow
def test_a_way_that_is_down_twice_is_up_when_both_are_mended(on_the_wire: Callable[..., None]) -> None:
    async def story(world: World) -> None:
        async with asking(await world.stream("m0")) as asker:
            await world.impair(down(), name="one", members=("m0",))
            await world.impair(down(), name="two", nodes=(0,))
            assert [stage for stage, _ in world.receipts] == ["delivered"]
            with pytest.raises((trio.BrokenResourceError, EOFError)):
                await question(asker)
        await world.network.mend("one")
        with pytest.raises(OSError, match="all attempts to connect"):
            await world.took("m0")
        await world.network.mend("two")
        assert not await world.is_cut("m0")

    on_the_wire(story)


def test_a_program_without_a_client_id_is_recognised_by_its_members_client_id(on_the_wire: Callable[..., None]) -> None:
    async def story(world: World) -> None:
        (await world.network.entrance("m0")).names[1] = "m0"
        await world.took("m0")
        await world.took("m1")

        asked = [obs.client for obs in world.recorder.trace if obs.kind == "request" and obs.api == "Metadata"]
        assert asked == ["m0", "groupproof"]

    on_the_wire(story, impaired=False)


def test_without_a_toxiproxy_members_come_in_by_the_tap_alone(on_the_wire: Callable[..., None]) -> None:
    async def story(world: World) -> None:
        assert not await world.is_cut("m0")
        assert await world.network.mend("i") == {}
        await world.network.record_traffic()
        assert [obs for obs in world.recorder.trace if obs.body.get("name") == "traffic"] == []
        with pytest.raises(BrokenEnvironment, match="i: no Toxiproxy was started for this plan"):
            await world.impair(latency(5))

    on_the_wire(story, impaired=False)

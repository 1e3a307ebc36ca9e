from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
import trio.testing

from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.subjects.brokers.cluster import CannotStop, RunningCluster
from groupproof.harness.subjects.brokers.readiness import wait_until_coordinating
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers, as_variant
from groupproof.harness.subjects.brokers.running_broker import AddressedBrokers
from groupproof.harness.subjects.networks.client_properties import Security
from groupproof.harness.subjects.networks.request_connection import Asker, asking
from groupproof.protocol.vocabulary import Api

BROKERS = ReferenceBrokers(profile="kafka-4.1")


def _with(work: Callable[[RunningCluster], Awaitable[None]], **more: Any) -> None:
    async def main() -> None:
        async with BROKERS.cluster(**{"settings": {}, "brokers": 2, "topics": {"t": 4}, **more}) as running:
            await work(running)

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


async def _coordinator(asker: Asker, group: str) -> tuple[str, int]:
    found = (await asker.ask(Api.FIND_COORDINATOR, {"key_type": 0, "coordinator_keys": (group,)}))["coordinators"][0]
    return found["host"], found["port"]


def test_it_coordinates_groups_and_has_its_topics() -> None:
    async def work(running: RunningCluster) -> None:
        await wait_until_coordinating(running.connect, running.addresses[0], 5, running.deaths)
        async with asking(await running.connect(*running.addresses[0])) as asker:
            answer = await asker.ask(Api.METADATA, {"topics": ({"name": "t"},)})
            assert len(answer["topics"][0]["partitions"]) == 4
        assert (running.provided_by, running.logs()) == ("in process", [])

    _with(work)
    assert BROKERS.is_virtual


def test_a_setting_that_it_does_not_take_is_unmet() -> None:
    async def work(running: RunningCluster) -> None:
        assert set(running.unmet) == {"no.such.setting"}

    _with(work, settings={"no.such.setting": 1, "group.max.size": 3, "socket.request.max.bytes": 1000})


def test_a_stopped_brokers_connections_end_and_its_groups_move() -> None:
    async def work(running: RunningCluster) -> None:
        first, second = running.addresses
        stream = await running.connect(*first)
        await running.stop(0)
        assert await stream.receive_some() == b""
        with pytest.raises(ConnectionRefusedError):
            await running.connect(*first)
        assert running.addresses == [second]
        async with asking(await running.connect(*second)) as asker:
            assert {await _coordinator(asker, f"g{number}") for number in range(20)} == {second}

    _with(work)


def test_the_last_broker_and_one_that_is_not_there_cannot_be_stopped() -> None:
    async def work(running: RunningCluster) -> None:
        with pytest.raises(CannotStop, match="no broker 7"):
            await running.stop(7)
        await running.stop(1)
        with pytest.raises(CannotStop, match="the last one"):
            await running.stop(0)
        with pytest.raises(CannotStop, match="no broker 1"):
            await running.stop(1)

    _with(work)


def test_a_variant_is_shown_by_its_name_and_another_subject_has_none() -> None:
    varied = as_variant(BROKERS, "generation-stays")

    assert (varied.name, varied.variant.name) == ("groupproof:generation-stays", "generation-stays")
    with pytest.raises(WrongUsage, match="did you mean generation-stays"):
        as_variant(BROKERS, "generation-stay")
    with pytest.raises(WrongUsage, match="not ours to change"):
        as_variant(AddressedBrokers(bootstrap=[("h", 1)], security=Security(), say=print, spec="h:1", asked_profile=None), "generation-stays")

"""Brokers that tell their proxies' addresses: the reference here, a real Kafka in the soak; what a client does goes through the proxies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import trio

from groupproof.chaos.fronting import fronts
from groupproof.chaos.toxiproxy_server import Program, running_toxiproxy
from groupproof.clients.store import default_cache
from groupproof.coordinator.cluster import Cluster
from groupproof.harness.brokers.apache_kafka import ApacheKafka
from groupproof.harness.brokers.question import asking
from groupproof.harness.network import Address, LoopbackNetwork
from groupproof.protocol.toxics import latency
from groupproof.protocol.trace import Recorder
from groupproof.protocol.vocabulary import Api

SLOW_S = 0.3


async def told(address: Address) -> tuple[list[Address], Address, float]:
    """Return the brokers that Metadata names, the coordinator of a group, and how long the first took."""
    async with asking(await trio.open_tcp_stream(*address)) as asker:
        began = trio.current_time()
        brokers = (await asker.ask(Api.METADATA, {"topics": ()}, newest=8))["brokers"]
        took = trio.current_time() - began
        (found,) = (await asker.ask(Api.FIND_COORDINATOR, {"coordinator_keys": ("g",), "key_type": 0}))["coordinators"]
    return sorted((each["host"], each["port"]) for each in brokers), (found["host"], found["port"]), took


async def check_all_comes_through(proxies: Sequence[Address], slow: Address) -> None:
    for proxy in proxies:
        brokers, coordinator, took = await told(proxy)
        assert brokers == sorted(proxies)
        assert coordinator in proxies
        assert (took > SLOW_S) == (proxy == slow)


def test_the_reference_behind_proxies_leads_its_clients_through_them(program: Program, tmp_path: Path) -> None:
    async def main() -> None:
        cluster = Cluster(recorder=Recorder(lambda: 0, keeps=False))
        async with (
            running_toxiproxy(program, cache=tmp_path, logs=tmp_path) as server, fronts(server, "k") as before, LoopbackNetwork().opened(cluster) as own,
        ):  # fmt: skip
            for node, address in enumerate(own):
                cluster.advertise(node, *await before(node, address))
            proxies = [proxy.address for proxy in before.proxies.values()]
            assert not set(proxies) & set(own)
            async with before.proxies[1].under(latency(400)):
                await check_all_comes_through(proxies, before.proxies[1].address)

    trio.run(main)


@pytest.mark.soak
@pytest.mark.parametrize("release", ["2.8.2", "4.1.0"])
def test_a_real_kafka_behind_proxies_leads_its_clients_through_them(program: Program, tmp_path: Path, release: str) -> None:
    async def main() -> None:
        async with running_toxiproxy(program, cache=tmp_path, logs=tmp_path) as server, fronts(server, "k") as before:
            kafka = ApacheKafka(release=release, cache=default_cache(), say=print, provider="maven", logs=tmp_path, advertise=before)
            async with kafka.cluster(settings={}, brokers=2, topics={"t": 2}):
                proxies = [proxy.address for proxy in before.proxies.values()]
                async with before.proxies[1].under(latency(1_000)):
                    await check_all_comes_through(proxies, before.proxies[1].address)

    trio.run(main)

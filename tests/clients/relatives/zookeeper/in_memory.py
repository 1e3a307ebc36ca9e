"""Brokers of this project over streams in memory, in virtual time, and a client's connections to them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import trio
import trio.testing

from groupproof.clients.consumer.broker_connections import Brokers
from groupproof.coordinator.broker.reference_cluster import Cluster
from groupproof.harness.subjects.networks.network import MemoryNetwork
from groupproof.protocol.trace import Recorder

__all__ = ["RECORDS", "brokers_of", "in_virtual_time", "reference_cluster", "wait_for_a_second", "wait_until"]

RECORDS = 10


@asynccontextmanager
async def reference_cluster(partitions: int = 2, brokers: int = 2) -> AsyncIterator[tuple[Cluster, MemoryNetwork]]:
    """A topic `t` with ten records in each partition."""
    cluster = Cluster(
        profile="kafka-4.1", settings={}, brokers=brokers, topics={"t": partitions}, records=RECORDS, seed=1,
        recorder=Recorder(lambda: 0, keeps=False),
    )  # fmt: skip
    network = MemoryNetwork()
    async with trio.open_nursery() as nursery:
        await nursery.start(cluster.run)
        async with network.opened(cluster):
            yield cluster, network
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def brokers_of(network: MemoryNetwork) -> AsyncIterator[Brokers]:
    async with trio.open_nursery() as nursery:
        yield Brokers(
            network.connect, network.addresses, nursery, client_id="c", versions={}, shares_connections=False, timeout_s=30, lost=lambda *_: None
        )
        nursery.cancel_scope.cancel()


async def wait_until(is_so: Callable[[], bool]) -> None:
    """Return when it is so, looked at each 10 ms; raise `trio.TooSlowError` after a minute."""
    with trio.fail_after(60):
        while True:
            if is_so():
                return
            await trio.sleep(0.01)


async def wait_for_a_second() -> None:
    await trio.sleep(1)


def in_virtual_time(live: Callable[[], Awaitable[None]]) -> None:
    trio.run(live, clock=trio.testing.MockClock(autojump_threshold=0))

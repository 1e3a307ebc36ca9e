from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from tests.clients.relatives.zookeeper.in_memory import RECORDS, reference_cluster, wait_until
from tests.clients.relatives.zookeeper.real_world import NEEDS_JAVA, RealClient, RealWorld, real_zookeeper

from groupproof.clients.outputs import Node
from groupproof.clients.relatives.zookeeper.consumer_driver import ZooKeeperConsumer
from groupproof.clients.relatives.zookeeper.consumer_outputs import (
    Notification,
    OffsetsStored,
    OwnerNodesCreated,
    OwnerNodesDeleted,
    ShutdownResult,
    StreamsReady,
)
from groupproof.clients.relatives.zookeeper.group_settings import ConsumerSettings
from groupproof.clients.relatives.zookeeper.paths import broker_data, broker_path, consumer_id, topic_data, topic_path
from groupproof.harness.subjects.brokers.apache.zookeeper import RunningZooKeeper
from groupproof.harness.subjects.networks.network import MemoryNetwork
from groupproof.protocol.relatives.zookeeper_messages import Answer, Children, Create, Get

pytestmark = [pytest.mark.java, pytest.mark.network, pytest.mark.slow, NEEDS_JAVA]

PARTITIONS = 4


class Group:
    """Consumers with one thread each; what they told and took by name."""

    def __init__(self, hosts: str, network: MemoryNetwork, nursery: trio.Nursery, server: RunningZooKeeper) -> None:
        self.server = server
        self.consumers: dict[str, ZooKeeperConsumer] = {}
        self.tellings: dict[str, list[Notification]] = {}
        self.took: dict[str, list[tuple[int, int]]] = {}
        self._hosts, self._network, self._nursery = hosts, network, nursery

    async def begin(self, name: str, storage: str = "zookeeper") -> ZooKeeperConsumer:
        entries, took = self.tellings.setdefault(name, []), self.took.setdefault(name, [])
        settings = ConsumerSettings(
            group="g", topics={"t": 1}, auto_offset_reset="smallest", zookeeper_session_timeout_ms=1_000, offsets_storage=storage,
            rebalance_backoff_ms=300,
        )  # fmt: skip
        made = self.consumers[name] = ZooKeeperConsumer(
            settings, consumer_id=consumer_id("g", name, 0, 0), hosts=self._hosts, connect=self._network.connect, bootstrap=self._network.addresses,
            report=entries.append, delivered=lambda record: took.append((record.partition, record.offset)),
        )  # fmt: skip
        await self._nursery.start(made.run)
        return made

    def owns(self, **counts: int) -> bool:
        return {name: len(self.consumers[name].machine.owned) for name in counts} == counts and all(
            consumer.machine.is_idle for consumer in (self.consumers[name] for name in counts)
        )


@asynccontextmanager
async def a_group(logs: Path) -> AsyncIterator[tuple[Group, RealClient]]:
    """A ZooKeeper in which the brokers of this project stand as Kafka's would, and someone who looks at it."""
    async with (
        real_zookeeper(logs) as server,
        RealWorld.begun(server.address, "/kafka") as world,
        reference_cluster(PARTITIONS) as (cluster, network),
    ):
        looker = await world.open()
        for path in ("/consumers", "/brokers", "/brokers/ids", "/brokers/topics"):
            await looker.ask(Create(path))
        for node in cluster.nodes:
            await looker.ask(Create(broker_path(node), broker_data(Node(node_id=node, host=f"broker-{node}", port=9092), 0), is_ephemeral=True))
        await looker.ask(Create(topic_path("t"), topic_data({number: [cluster.nodes[0]] for number in range(PARTITIONS)})))
        async with trio.open_nursery() as nursery:
            yield Group(f"{server.address[0]}:{server.address[1]}/kafka", network, nursery, server), looker
            nursery.cancel_scope.cancel()


async def _asked(looker: RealClient, operation: Get | Children) -> Answer:
    await looker.ask(operation)
    answer = looker.events[-1]
    assert isinstance(answer, Answer)
    return answer


@pytest.mark.requirement("ZK-05", "ZK-07", "ZK-14", "ZK-23", "ZK-24", "ZK-26", "ZK-27", "ZK-42")
def test_records_flow_and_a_successor_continues_at_the_offset_that_was_committed(tmp_path: Path) -> None:
    async def live() -> None:
        async with a_group(tmp_path) as (group, looker):
            await group.begin("a")
            await wait_until(lambda: len(group.took["a"]) == PARTITIONS * RECORDS)
            assert StreamsReady() in group.tellings["a"]
            assert sorted(group.took["a"]) == [(partition, offset) for partition in range(PARTITIONS) for offset in range(RECORDS)]

            b = await group.begin("b")
            await wait_until(lambda: group.owns(a=2, b=2))
            assert [item.partitions for item in group.tellings["a"] if isinstance(item, OwnerNodesDeleted)] == [
                frozenset({("t", number) for number in range(PARTITIONS)})
            ]
            # What a had consumed it committed before it let go: b begins behind it.
            assert [item.offsets for item in group.tellings["a"] if isinstance(item, OffsetsStored)] == [
                {("t", number): RECORDS for number in range(PARTITIONS)}
            ]
            assert (await _asked(looker, Get("/consumers/g/offsets/t/3"))).data == str(RECORDS).encode()
            assert (await _asked(looker, Get("/consumers/g/owners/t/3"))).data == f"{b.machine.consumer_id}-0".encode()
            assert group.took["b"] == []

            b.vanish()
            await wait_until(lambda: group.owns(a=PARTITIONS))
            assert (await _asked(looker, Children("/consumers/g/ids"))).children == (group.consumers["a"].machine.consumer_id,)
            await group.consumers["a"].close()
            assert isinstance(group.tellings["a"][-1], ShutdownResult)
            assert (await _asked(looker, Children("/consumers/g/ids"))).children == ()
            assert len(group.took["a"]) == PARTITIONS * RECORDS

    trio.run(live)


def test_offsets_in_kafka_take_the_place_of_those_in_zookeeper(tmp_path: Path) -> None:
    async def live() -> None:
        async with a_group(tmp_path) as (group, looker):
            a = await group.begin("a", storage="kafka")
            await wait_until(lambda: len(group.took["a"]) == PARTITIONS * RECORDS)
            a.commit()
            await wait_until(lambda: any(isinstance(item, OffsetsStored) for item in group.tellings["a"]))
            assert {item.store for item in group.tellings["a"] if isinstance(item, OffsetsStored)} <= {"kafka", "zookeeper"}
            await a.close()
            await group.begin("b", storage="kafka")
            await wait_until(lambda: any(isinstance(item, OwnerNodesCreated) and len(item.partitions) == PARTITIONS for item in group.tellings["b"]))
            assert group.took["b"] == []
            assert (await _asked(looker, Children("/consumers/g/ids"))).children == (group.consumers["b"].machine.consumer_id,)

    trio.run(live)


@pytest.mark.soak
def test_a_zookeeper_that_is_killed_and_started_again_finds_its_consumers_at_work(tmp_path: Path) -> None:
    async def live() -> None:
        async with a_group(tmp_path) as (group, looker):
            a, b = await group.begin("a"), await group.begin("b")
            await wait_until(lambda: group.owns(a=2, b=2))
            owned = {"a": a.machine.owned, "b": b.machine.owned}
            await group.server.order("kill")
            await wait_until(lambda: "disconnected" in looker.events)
            # Nobody rebalances without ZooKeeper, and nobody stops reading.
            assert {"a": a.machine.owned, "b": b.machine.owned} == owned
            await group.server.order("start")
            await group.server.wait_until_up()
            await wait_until(lambda: looker.events[-1] == "connected")
            await wait_until(lambda: group.owns(a=2, b=2))
            assert len((await _asked(looker, Children("/consumers/g/ids"))).children) == 2
            assert (await _asked(looker, Children("/consumers/g/owners/t"))).children == ("0", "1", "2", "3")

    trio.run(live)

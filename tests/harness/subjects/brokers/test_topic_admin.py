"""Topics are filled and grown over the wire, on the reference cluster in virtual time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest
import trio

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers import topic_admin
from groupproof.harness.subjects.brokers.cluster import RunningCluster
from groupproof.harness.subjects.brokers.readiness import create_topics
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers
from groupproof.harness.subjects.brokers.topic_admin import fill_topics, grow_topic, has_partitions
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.harness.subjects.networks.request_connection import Connect, asking
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.records import read_batches


def on_two_brokers(story: Callable[[RunningCluster], Awaitable[None]]) -> None:
    async def main() -> None:
        subject = ReferenceBrokers(profile="kafka-4.1", seed=1)
        async with subject.cluster(settings={}, brokers=2, topics={}) as cluster:
            await story(cluster)

    run_virtually(main, seed=1, steps_max=100_000)


async def fetched(cluster: RunningCluster, node: int, topic: str, index: int) -> list[bytes | None]:
    async with asking(await cluster.connect(*cluster.addresses[node])) as asker:
        part = {"partition": index, "fetch_offset": 0, "partition_max_bytes": 1_000_000}
        body: dict[str, Any] = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1_000_000, "topics": ({"topic": topic, "partitions": (part,)},)}
        answer = await asker.ask(Api.FETCH, body, newest=12)
    blob = answer["responses"][0]["partitions"][0]["records"]
    return [record.value for batch in read_batches(blob) for record in batch.records()]


def test_every_partition_has_its_records_wherever_it_is_led() -> None:
    async def story(cluster: RunningCluster) -> None:
        topics = {"t": 3, "u": 1}
        await create_topics(cluster.connect, cluster.addresses[0], topics, replicas=1)
        await fill_topics(cluster.connect, cluster.addresses[0], topics, 3)

        assert await fetched(cluster, 1, "t", 1) == [b"t-1-0", b"t-1-1", b"t-1-2"]
        assert await fetched(cluster, 0, "u", 0) == [b"u-0-0", b"u-0-1", b"u-0-2"]

    on_two_brokers(story)


def test_a_partition_whose_leader_is_another_by_now_is_filled_at_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    append = topic_admin._append
    turns: list[int] = []

    async def refused_once(connect: Connect, leader: Address, led: set[tuple[str, int]], records: int, at_ms: int) -> dict[tuple[str, int], int]:
        turns.append(len(led))
        return {("t", 0): 6} if ("t", 0) in led and len(turns) <= 2 else await append(connect, leader, led, records, at_ms)

    async def story(cluster: RunningCluster) -> None:
        await create_topics(cluster.connect, cluster.addresses[0], {"t": 1}, replicas=1)
        monkeypatch.setattr(topic_admin, "_append", refused_once)
        await fill_topics(cluster.connect, cluster.addresses[0], {"t": 1}, 2)

        assert turns == [1, 1, 1]
        assert await fetched(cluster, 0, "t", 0) == [b"t-0-0", b"t-0-1"]

    on_two_brokers(story)


def test_no_records_need_no_broker() -> None:
    asked: list[str] = []

    async def nowhere(host: str, port: int) -> trio.abc.Stream:
        asked.append(host)
        raise ConnectionRefusedError("nobody listens")

    run_virtually(lambda: fill_topics(nowhere, ("nowhere", 1), {"t": 1}, 0), seed=1)
    assert asked == []


def test_a_broker_that_is_not_there_is_reported() -> None:
    async def nowhere(host: str, port: int) -> trio.abc.Stream:
        raise ConnectionRefusedError("nobody listens")

    async def main() -> None:
        with pytest.raises(BrokenEnvironment, match="2 partitions could not be filled with records within 20 s: nobody listens"):
            await fill_topics(nowhere, ("nowhere", 1), {"t": 2}, 3)
        with pytest.raises(BrokenEnvironment, match="topic t can't be given 4 partitions: nobody listens"):
            await grow_topic(nowhere, ("nowhere", 1), "t", 4)

    run_virtually(main, seed=1)


def test_a_cluster_that_grows_no_topic_by_the_wire_is_reported() -> None:
    async def story(cluster: RunningCluster) -> None:
        with pytest.raises(BrokenEnvironment, match="topic t can't be given 4 partitions: it does not speak CreatePartitions"):
            await grow_topic(cluster.connect, cluster.addresses[0], "t", 4)

    on_two_brokers(story)


def test_a_topic_that_is_to_have_no_partitions_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    refusals: list[list[str]] = [[], ["topic t: 29"]]

    async def refused(connect: Connect, bootstrap: Address, names: list[str]) -> list[str]:
        return refusals.pop(0)

    async def story(cluster: RunningCluster) -> None:
        await create_topics(cluster.connect, cluster.addresses[0], {"t": 1}, replicas=1)
        await has_partitions(cluster, "t", 0, is_new=False)
        with pytest.raises(ValueError, match="there is no topic t to delete"):
            await has_partitions(cluster, "t", 0, is_new=False)
        monkeypatch.setattr(topic_admin, "delete_topics", refused)
        over_the_wire: Any = SimpleNamespace(connect=cluster.connect, addresses=cluster.addresses)
        await has_partitions(over_the_wire, "t", 0, is_new=False)
        with pytest.raises(BrokenEnvironment, match="it cannot be deleted: topic t: 29"):
            await has_partitions(over_the_wire, "t", 0, is_new=False)

    on_two_brokers(story)

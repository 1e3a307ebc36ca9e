from __future__ import annotations

from collections.abc import Mapping

from tests.clients.relatives.zookeeper.in_memory import brokers_of, in_virtual_time, reference_cluster, wait_until

from groupproof.clients.relatives.zookeeper.kafka_offsets import KafkaOffsets
from groupproof.protocol.vocabulary import TopicPartition

StoredOffsets = Mapping[TopicPartition, int] | None


def test_what_is_committed_is_fetched_and_what_is_not_is_minus_one() -> None:
    async def live() -> None:
        async with reference_cluster() as (_, network), brokers_of(network) as brokers:
            offsets = KafkaOffsets(brokers, "g")
            found: list[None] = []
            await offsets.find(found.append)
            entries: list[StoredOffsets] = []
            offsets.commit({("t", 1): 7}, entries.append)
            offsets.fetch((("t", 0), ("t", 1)), entries.append)
            await wait_until(lambda: len(entries) == 2)
            assert found == [None]
            assert entries == [{("t", 1): 0}, {("t", 0): -1, ("t", 1): 7}]

    in_virtual_time(live)


def test_a_manager_that_is_gone_is_reported_as_no_answer_and_another_is_found() -> None:
    async def live() -> None:
        async with reference_cluster() as (cluster, network), brokers_of(network) as brokers:
            offsets = KafkaOffsets(brokers, "g")
            await offsets.find(lambda _: None)
            cluster.kill(cluster.coordinator_node("g"))
            entries: list[StoredOffsets] = []
            offsets.commit({("t", 0): 1}, entries.append)
            await wait_until(lambda: len(entries) == 1)
            await offsets.find(lambda _: None)
            offsets.commit({("t", 0): 1}, entries.append)
            await wait_until(lambda: len(entries) == 2)
            assert entries == [None, {("t", 0): 0}]

    in_virtual_time(live)

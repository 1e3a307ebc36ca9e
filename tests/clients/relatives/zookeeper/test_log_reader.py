from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tests.clients.relatives.zookeeper.in_memory import RECORDS, brokers_of, in_virtual_time, reference_cluster, wait_for_a_second, wait_until

from groupproof.clients.outputs import Node
from groupproof.clients.relatives.zookeeper.consumer_streams import Fetched
from groupproof.clients.relatives.zookeeper.log_reader import Leaders, LogReader
from groupproof.protocol.vocabulary import TopicPartition

A, B = ("t", 0), ("t", 1)


class Host:
    """Takes everything in, as long as there is room."""

    def __init__(self, at: Mapping[TopicPartition, int]) -> None:
        self.at = dict(at)
        self.full: set[TopicPartition] = set()
        self.offsets: dict[TopicPartition, list[int]] = {A: [], B: []}
        self.lost: set[TopicPartition] = set()

    def room(self, partition: TopicPartition) -> bool:
        return partition not in self.full

    def fetch_offset(self, partition: TopicPartition) -> int | None:
        return self.at.get(partition)

    def chunk(self, partition: TopicPartition, records: Sequence[Fetched]) -> None:
        self.offsets[partition] += [offset for offset, _ in records]
        self.at[partition] = records[-1][0] + 1

    def reset(self, partition: TopicPartition, offset: int) -> None:
        self.at[partition] = offset

    def unfetchable(self, partitions: Iterable[TopicPartition]) -> None:
        self.lost |= set(partitions)


async def _leaders(reader: LogReader) -> dict[TopicPartition, Node]:
    """Ask until a broker answers, as the finder does."""
    while True:
        entries: list[Leaders] = []
        reader.find_leaders(frozenset({"t"}), entries.append)
        await wait_until(lambda entry=entries: bool(entry))  # type: ignore[misc]  # bound as it is now
        if entries[0] is not None:
            return dict(entries[0])


def test_records_come_from_the_leader_from_the_offset_on() -> None:
    async def live() -> None:
        async with reference_cluster() as (_, network), brokers_of(network) as brokers:
            host = Host({A: 0, B: 4})
            reader = LogReader(host, brokers, bytes_max=1 << 20, offset_reset="smallest")
            for partition, leader in (await _leaders(reader)).items():
                reader.fetch(leader, [partition])
            await wait_until(lambda: host.at == {A: RECORDS, B: RECORDS})
            assert host.offsets == {A: list(range(RECORDS)), B: list(range(4, RECORDS))}
            assert not host.lost

    in_virtual_time(live)


def test_what_has_no_offset_or_one_out_of_range_begins_where_the_reset_says() -> None:
    async def live() -> None:
        async with reference_cluster() as (_, network), brokers_of(network) as brokers:
            host = Host({A: -1, B: 99})
            reader = LogReader(host, brokers, bytes_max=1 << 20, offset_reset="smallest")
            for partition, leader in (await _leaders(reader)).items():
                reader.fetch(leader, [partition])
            await wait_until(lambda: host.at == {A: RECORDS, B: RECORDS})
            assert host.offsets == {A: list(range(RECORDS)), B: list(range(RECORDS))}

            latest = Host({A: -1})
            reader = LogReader(latest, brokers, bytes_max=1 << 20, offset_reset="largest")
            reader.fetch((await _leaders(reader))[A], [A])
            await wait_until(lambda: latest.at == {A: RECORDS})
            assert latest.offsets[A] == []

    in_virtual_time(live)


def test_nothing_comes_without_room_or_after_a_stop() -> None:
    async def live() -> None:
        async with reference_cluster() as (_, network), brokers_of(network) as brokers:
            host = Host({A: 0, B: 0})
            host.full = {B}
            reader = LogReader(host, brokers, bytes_max=1 << 20, offset_reset="smallest")
            for partition, leader in (await _leaders(reader)).items():
                reader.fetch(leader, [partition])
            await wait_until(lambda: host.at[A] == RECORDS)
            assert host.offsets[B] == []

            host.full = set()
            reader.pursue()
            reader.stop()
            reader.pursue()
            await wait_for_a_second()
            assert host.offsets[B] == []

    in_virtual_time(live)


def test_a_leader_that_has_gone_is_reported_and_the_new_one_is_found() -> None:
    async def live() -> None:
        async with reference_cluster() as (cluster, network), brokers_of(network) as brokers:
            host = Host({A: 0})
            reader = LogReader(host, brokers, bytes_max=1 << 20, offset_reset="smallest")
            first = (await _leaders(reader))[A]
            cluster.kill(first.node_id)
            reader.fetch(first, [A])
            await wait_until(lambda: host.lost == {A})
            second = (await _leaders(reader))[A]
            reader.fetch(second, [A])
            await wait_until(lambda: host.at[A] == RECORDS)
            assert second.node_id != first.node_id

    in_virtual_time(live)

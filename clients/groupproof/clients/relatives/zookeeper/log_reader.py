"""The records of the ZooKeeper consumer: leaders from Metadata, and one Fetch in flight to each (kafka.consumer.ConsumerFetcherThread)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from groupproof.clients.consumer.broker_connections import ANY, FETCH, Brokers
from groupproof.clients.consumer.fetch_positions import grouped
from groupproof.clients.outputs import Node
from groupproof.clients.relatives.zookeeper.consumer_streams import Fetched
from groupproof.protocol.vocabulary import Api, TopicPartition
from groupproof.protocol.wire.records import RecordsError, read_batches

__all__ = ["FETCH_WAIT_MS", "LogReader", "LogReaderHost"]

FETCH_WAIT_MS: Final = 100
"""fetch.wait.max.ms: how long a broker may hold an empty Fetch."""

_OFFSET_OUT_OF_RANGE: Final = 1
_RESETS: Final = {"smallest": -2, "largest": -1}

Body = dict[str, Any]
Leaders = Mapping[TopicPartition, Node] | None


class LogReaderHost(Protocol):
    """The consumer that the log reader serves."""

    def room(self, partition: TopicPartition) -> bool: ...

    def fetch_offset(self, partition: TopicPartition) -> int | None: ...

    def chunk(self, partition: TopicPartition, records: Sequence[Fetched]) -> None: ...

    def reset(self, partition: TopicPartition, offset: int) -> None: ...

    def unfetchable(self, partitions: Iterable[TopicPartition]) -> None: ...


class LogReader:
    """Reads records. `pursue` sends every possible Fetch: after a request to fetch, after a chunk, and when there is room again."""

    def __init__(self, host: LogReaderHost, brokers: Brokers, *, bytes_max: int, offset_reset: str, wait_ms: int = FETCH_WAIT_MS) -> None:
        self._host, self._brokers = host, brokers
        self._bytes_max, self._wait_ms, self._timestamp = bytes_max, wait_ms, _RESETS[offset_reset]
        self._wanted: dict[Node, set[TopicPartition]] = {}
        self._in_flight: set[Node] = set()
        self._held: dict[Node, deque[tuple[TopicPartition, list[Fetched]]]] = {}
        self._stops = 0

    def find_leaders(self, topics: frozenset[str], answered: Callable[[Leaders], None]) -> None:
        """Ask any broker for the leaders of these topics' partitions."""

        def take(body: Body | None) -> None:
            answered(None if body is None else self._leaders(body))

        asked = {"topics": tuple({"name": topic} for topic in sorted(topics)), "allow_auto_topic_creation": False}
        self._brokers.send(None, ANY, Api.METADATA, asked, take)

    def _leaders(self, body: Body) -> dict[TopicPartition, Node]:
        self._brokers.learn({broker["node_id"]: (broker["host"], broker["port"]) for broker in body["brokers"]})
        pairs = (
            ((topic["name"], partition["partition_index"]), partition["leader_id"]) for topic in body["topics"] for partition in topic["partitions"]
        )
        return {partition: node for partition, leader in pairs if (node := self._brokers.node(leader)) is not None}

    def fetch(self, leader: Node, partitions: Iterable[TopicPartition]) -> None:
        """Also fetch these partitions from that leader."""
        self._wanted.setdefault(leader, set()).update(partitions)
        self.pursue()

    def stop(self) -> None:
        """Stop fetching. Answers still under way are dropped."""
        self._stops += 1
        self._wanted.clear()
        self._in_flight.clear()
        self._held.clear()

    def pursue(self) -> None:
        for leader, partitions in list(self._wanted.items()):
            if leader in self._in_flight or not self._is_handed_in(leader):
                continue
            at = {
                partition: offset
                for partition in sorted(partitions)
                if self._host.room(partition) and (offset := self._host.fetch_offset(partition)) is not None
            }
            if unset := [partition for partition, offset in at.items() if offset < 0]:
                self._reset(leader, unset)
            elif at:
                self._send(leader, at)

    def _is_handed_in(self, leader: Node) -> bool:
        """Pass the chunks of an answer to the host in order. A full queue blocks all later chunks, as it blocks Kafka's fetcher."""
        held = self._held.get(leader)
        while held and self._host.room(held[0][0]):
            self._host.chunk(*held.popleft())
        return not held

    def _send(self, leader: Node, at: Mapping[TopicPartition, int]) -> None:
        asked = [
            (partition, {"partition": partition[1], "fetch_offset": offset, "partition_max_bytes": self._bytes_max})
            for partition, offset in at.items()
        ]
        body = {
            "max_wait_ms": self._wait_ms, "min_bytes": 1, "max_bytes": 50 * self._bytes_max, "session_epoch": -1,
            "topics": tuple({"topic": topic, "partitions": tuple(parts)} for topic, parts in grouped(asked)),
        }  # fmt: skip
        self._ask(leader, Api.FETCH, body, lambda answer: self._take(leader, at, answer))

    def _ask(self, leader: Node, api: Api, body: Body, take: Callable[[Body | None], None]) -> None:
        stops = self._stops

        def answered(answer: Body | None) -> None:
            if stops == self._stops:
                self._in_flight.discard(leader)
                take(answer)
                self.pursue()

        self._in_flight.add(leader)
        self._brokers.send(leader, FETCH, api, body, answered)

    def _take(self, leader: Node, at: Mapping[TopicPartition, int], answer: Body | None) -> None:
        if answer is None or answer["error_code"]:
            self._give_up(leader, at)
            return
        by_partition = {
            (topic["topic"], partition["partition_index"]): partition for topic in answer["responses"] for partition in topic["partitions"]
        }
        lost = [partition for partition, result in by_partition.items() if result["error_code"] not in (0, _OFFSET_OUT_OF_RANGE)]
        self._give_up(leader, lost)
        if out_of_range := [partition for partition, result in by_partition.items() if result["error_code"] == _OFFSET_OUT_OF_RANGE]:
            self._reset(leader, out_of_range)
        self._held[leader] = deque(
            (partition, records) for partition, result in by_partition.items() if (records := _records(result["records"] or b"", at[partition]))
        )

    def _give_up(self, leader: Node, partitions: Iterable[TopicPartition]) -> None:
        if given_up := set(partitions):
            self._wanted[leader] -= given_up
            self._host.unfetchable(given_up)

    def _reset(self, leader: Node, partitions: Sequence[TopicPartition]) -> None:
        """Start at the offset of auto.offset.reset (handleOffsetOutOfRange)."""
        asked = [(partition, {"partition_index": partition[1], "timestamp": self._timestamp}) for partition in partitions]
        topics = tuple({"name": topic, "partitions": tuple(parts)} for topic, parts in grouped(asked))
        self._ask(leader, Api.LIST_OFFSETS, {"replica_id": -1, "topics": topics}, lambda answer: self._take_listed(leader, partitions, answer))

    def _take_listed(self, leader: Node, asked: Iterable[TopicPartition], answer: Body | None) -> None:
        pairs = (
            []
            if answer is None
            else [((topic["name"], partition["partition_index"]), partition) for topic in answer["topics"] for partition in topic["partitions"]]
        )
        found = {partition: result["offset"] for partition, result in pairs if not result["error_code"]}
        for partition, offset in found.items():
            self._host.reset(partition, offset)
        self._give_up(leader, set(asked) - found.keys())


def _records(blob: bytes, start: int) -> list[Fetched]:
    """Return the records from `start` on. Records after a broken or compressed batch are left out."""
    found: list[Fetched] = []
    try:
        for batch in read_batches(blob):
            found += [(record.offset, record.value or b"") for record in batch.records() if record.offset >= start]
    except RecordsError:
        pass
    return found

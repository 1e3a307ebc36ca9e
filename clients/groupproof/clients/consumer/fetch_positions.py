"""Positions and buffered records: which offsets to fetch and which records to deliver. Pure.

Kafka's `SubscriptionState` and `Fetcher`, for offsets only: record values are not decoded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from groupproof.protocol.vocabulary import TopicPartition
from groupproof.protocol.wire.records import RecordsError, read_batches

__all__ = ["Delivery", "Fetching", "grouped"]

_PARTITION_BYTES_MAX: Final = 1 << 20
_OFFSET_OUT_OF_RANGE: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """Records of one partition that the application received: offsets `first` to `last`."""

    partition: TopicPartition
    first: int
    last: int

    @property
    def count(self) -> int:
        return self.last - self.first + 1


class Fetching:
    """Positions and the buffer. `positions` are the next offsets that the application reads. Buffered records are lost with their partition."""

    def __init__(self) -> None:
        self.positions: dict[TopicPartition, int] = {}
        self._ends: dict[TopicPartition, int] = {}
        self._buffered: deque[Delivery] = deque()
        self._in_flight: dict[int, dict[TopicPartition, int]] = {}

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Forget the positions of newly assigned partitions."""
        for partition in partitions:
            self.forget(partition)

    def forget(self, partition: TopicPartition) -> None:
        self.positions.pop(partition, None)
        self._ends.pop(partition, None)
        self._buffered = deque(delivery for delivery in self._buffered if delivery.partition != partition)

    def stand(self, partition: TopicPartition, offset: int) -> None:
        """Set the position of a partition without one. A later answer does not move it."""
        if partition not in self.positions:
            self.positions[partition] = self._ends[partition] = offset

    def unpositioned(self, owned: Iterable[TopicPartition]) -> frozenset[TopicPartition]:
        return frozenset(partition for partition in owned if partition not in self.positions)

    def requests(
        self, owned: Iterable[TopicPartition], leaders: Mapping[TopicPartition, int], max_wait_ms: int
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield a Fetch body for each leader without a Fetch in flight. Yield nothing while the buffer has records."""
        if self._buffered:
            return
        by_node: dict[int, list[TopicPartition]] = {}
        for partition in sorted(owned):
            node = leaders.get(partition)
            if node is not None and node not in self._in_flight and partition in self._ends:
                by_node.setdefault(node, []).append(partition)
        for node, partitions in by_node.items():
            self._in_flight[node] = {partition: self._ends[partition] for partition in partitions}
            yield node, self._body(partitions, max_wait_ms)

    def _body(self, partitions: list[TopicPartition], max_wait_ms: int) -> dict[str, Any]:
        asked = [
            (partition, {"partition": partition[1], "fetch_offset": self._ends[partition], "partition_max_bytes": _PARTITION_BYTES_MAX})
            for partition in partitions
        ]
        topics = tuple({"topic": topic, "partitions": tuple(parts)} for topic, parts in grouped(asked))
        return {"max_wait_ms": max_wait_ms, "min_bytes": 1, "max_bytes": 50 * _PARTITION_BYTES_MAX, "session_epoch": -1, "topics": topics}

    def answered(self, node: int, body: Mapping[str, Any] | None) -> bool:
        """Buffer the records of a Fetch. Return whether metadata or a position must be looked up again."""
        asked = self._in_flight.pop(node)
        if body is None or body["error_code"]:
            return True
        pairs = (((topic["topic"], entry["partition_index"]), entry) for topic in body["responses"] for entry in topic["partitions"])
        # An answer from before a new assignment of the partition no longer counts.
        results = [self._take(partition, entry) for partition, entry in pairs if asked.get(partition) == self._ends.get(partition)]
        return not all(results)

    def _take(self, partition: TopicPartition, result: Mapping[str, Any]) -> bool:
        if result["error_code"]:
            if result["error_code"] == _OFFSET_OUT_OF_RANGE:
                self.forget(partition)
            return False
        try:
            batches = list(read_batches(result["records"] or b""))
        except RecordsError:
            return False
        for batch in batches:
            start = self._ends.get(partition)
            if start is not None and batch.last_offset >= start:
                self._buffered.append(Delivery(partition=partition, first=max(start, batch.base_offset), last=batch.last_offset))
                self._ends[partition] = batch.last_offset + 1
        return True

    def deliver(self, owned: frozenset[TopicPartition], records_max: int) -> list[Delivery]:
        """Return at most `records_max` records of `owned`, and advance the positions past them."""
        delivered: list[Delivery] = []
        left = records_max
        while self._buffered and left > 0:
            delivery = self._buffered.popleft()
            if delivery.partition not in owned:
                continue
            last = min(delivery.last, delivery.first + left - 1)
            if last < delivery.last:
                self._buffered.appendleft(Delivery(partition=delivery.partition, first=last + 1, last=delivery.last))
            delivered.append(Delivery(partition=delivery.partition, first=delivery.first, last=last))
            self.positions[delivery.partition] = last + 1
            left -= last - delivery.first + 1
        return delivered


def grouped(asked: Iterable[tuple[TopicPartition, Any]]) -> list[tuple[str, list[Any]]]:
    """Return the values by topic, in their order."""
    topics: dict[str, list[Any]] = {}
    for (topic, _), value in asked:
        topics.setdefault(topic, []).append(value)
    return list(topics.items())

"""Records from fetchers to the application: a bounded queue of chunks per consumer thread, with an iterator (FetchedDataChunk, ConsumerIterator)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from groupproof.clients.relatives.zookeeper.registration import Registration, thread_ids
from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["OwnedPartition", "Record", "Stream", "by_topic_and_thread", "streams_of"]

Fetched = tuple[int, bytes]
"""A record's offset and value, as in the log."""


class Record(NamedTuple):
    """A record for the application."""

    topic: str
    partition: int
    offset: int
    value: bytes


class OwnedPartition:
    """A partition in the topic registry: its stream, and its fetched and consumed offsets (PartitionTopicInfo)."""

    __slots__ = ("consumed", "fetched", "partition", "stream")

    def __init__(self, partition: TopicPartition, stream: Stream | None, offset: int) -> None:
        self.partition = partition
        self.stream = stream
        self.consumed = self.fetched = offset  # ZK-47

    def has_room(self) -> bool:
        return self.stream is not None and self.stream.has_room()

    def put(self, records: Sequence[Fetched]) -> None:
        """Queue a chunk of at least one record."""
        assert self.stream is not None
        self.stream.put(self, records)
        self.fetched = records[-1][0] + 1

    def reset(self, offset: int) -> None:
        """Start fetching at `offset`, because the committed offset is missing or out of range."""
        self.consumed = self.fetched = offset


class Stream:
    """One consumer thread's queue and iterator. Several partitions may feed it (ZK-11). `chunks_max` bounds it (queued.max.message.chunks)."""

    def __init__(self, chunks_max: int) -> None:
        self.chunks_max = chunks_max
        self._chunks: deque[tuple[OwnedPartition, Sequence[Fetched]]] = deque()
        self._current: tuple[OwnedPartition, deque[Fetched]] | None = None

    def __len__(self) -> int:
        """Return the number of queued chunks, without the current one."""
        return len(self._chunks)

    def has_room(self) -> bool:
        return len(self._chunks) < self.chunks_max

    def put(self, source: OwnedPartition, records: Sequence[Fetched]) -> None:
        """Queue a chunk. The caller must check for room: Kafka's fetcher thread would block here."""
        assert self.has_room(), "the queue is full"
        assert records, "a chunk holds a record at least"
        self._chunks.append((source, records))

    def take(self) -> Record | None:
        """Return the next record and count it as consumed, or return None. Skip records that were consumed already."""
        while True:
            if self._current is None or not self._current[1]:
                if not self._chunks:
                    return None
                source, records = self._chunks.popleft()
                self._current = source, deque(records)
                source.consumed = max(source.consumed, records[0][0])
            source, rest = self._current
            offset, value = rest.popleft()
            if offset >= source.consumed:
                source.consumed = offset + 1
                return Record(*source.partition, offset, value)

    def clear(self) -> None:
        """Drop the queued chunks."""
        self._chunks.clear()

    def clear_current(self) -> None:
        """Drop the rest of the current chunk (ZK-43)."""
        self._current = None


def streams_of(registration: Registration, chunks_max: int) -> dict[str, tuple[Stream, ...]]:
    """Return the streams of createMessageStreams: for each topic one per requested thread (ZK-09). All topics of a pattern share theirs."""
    return {topic: tuple(Stream(chunks_max) for _ in range(threads)) for topic, threads in registration.topics}


def by_topic_and_thread(
    consumer: str, registration: Registration, streams: dict[str, tuple[Stream, ...]], topics: Iterable[str]
) -> dict[tuple[str, str], Stream]:
    """Return the stream for each thread of each topic. With a pattern, all topics feed the same streams."""
    shared = next(iter(streams.values()), ()) if registration.is_by_pattern else None
    found: dict[tuple[str, str], Stream] = {}
    for topic in topics:
        own = streams.get(topic, ()) if shared is None else shared
        found |= {(topic, thread): stream for thread, stream in zip(thread_ids(consumer, len(own)), own, strict=True)}
    return found

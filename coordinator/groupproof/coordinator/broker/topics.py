"""Topics and their partitions' logs, in memory and bounded, so that clients can really consume and produce. Pure."""

from __future__ import annotations

import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from groupproof.coordinator.machine.recorded_topics import RecordedTopic
from groupproof.coordinator.machine.topics_image import TopicImage
from groupproof.protocol.wire.records import Record, RecordsError, encode_batch, placed, read_batches

__all__ = ["LOG_BYTES_MAX", "Log", "OutOfRange", "Topic", "Topics", "topic_id_of"]

LOG_BYTES_MAX = 16 * 1024 * 1024
"""The size limit of one partition, in bytes. Beyond it the oldest batches are removed, as by log.retention.bytes."""

FIRST_TIMESTAMP_MS = 1_704_067_200_000
"""The timestamp in ms of the first record of every filled partition (2024-01-01). Each later record is a millisecond newer."""

_BATCH_RECORDS = 10
_TOPIC_IDS = uuid.UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")


class OutOfRange(ValueError):
    """An offset below the log's start or above its end."""


class _Chunk(NamedTuple):
    base_offset: int
    last_offset: int
    data: bytes


@dataclass(slots=True)
class Log:
    """The records of one partition, as the batches that were appended."""

    bytes_max: int = LOG_BYTES_MAX
    start_offset: int = 0
    end_offset: int = 0
    _chunks: deque[_Chunk] = field(default_factory=deque)
    _bytes: int = 0

    def append(self, blob: bytes) -> int:
        """Append the batches of `blob` and return the offset of their first record; raise `RecordsError` where there is no valid batch."""
        batches = list(read_batches(blob))
        if not batches:
            raise RecordsError(f"{len(blob)} bytes hold no whole record batch")
        base = self.end_offset
        data = placed(blob, base)
        self.end_offset = base + sum(batch.last_offset - batch.base_offset + 1 for batch in batches)
        self._chunks.append(_Chunk(base, self.end_offset - 1, data))
        self._bytes += len(data)
        while self._bytes > self.bytes_max and len(self._chunks) > 1:
            self._bytes -= len(self._chunks.popleft().data)
            self.start_offset = self._chunks[0].base_offset
        return base

    def read(self, offset: int, bytes_max: int, *, at_least_one: bool = True) -> bytes:
        """Return whole batches from the one with `offset` on, within `bytes_max`. With `at_least_one` the first is returned in any case.

        Raises `OutOfRange`. The result is empty at the end of the log.
        """
        if not self.start_offset <= offset <= self.end_offset:
            raise OutOfRange(f"offset {offset} is not within {self.start_offset} to {self.end_offset}")
        found: list[bytes] = []
        size = 0
        for chunk in self._chunks:
            if chunk.last_offset < offset:
                continue
            if size + len(chunk.data) > bytes_max and (found or not at_least_one):
                break
            found.append(chunk.data)
            size += len(chunk.data)
        return b"".join(found)

    def first_since(self, timestamp_ms: int) -> Record | None:
        """Return the first record that is not older than `timestamp_ms`, or None. Compressed batches are skipped."""
        return next((record for record in self._records() if record.timestamp_ms >= timestamp_ms), None)

    def newest(self) -> Record | None:
        """Return the record with the highest timestamp, the first one in a tie, or None."""
        return max(self._records(), key=lambda record: record.timestamp_ms, default=None)

    def _records(self) -> Iterator[Record]:
        for chunk in self._chunks:
            for batch in read_batches(chunk.data):
                if not batch.is_compressed:
                    yield from batch.records()


@dataclass(slots=True)
class Topic:
    """A topic. Node i modulo the number of nodes leads partition i."""

    name: str
    topic_id: str
    partitions: list[Log]

    def leader_of(self, index: int, nodes: int) -> int:
        return index % nodes

    def log(self, index: int) -> Log | None:
        return self.partitions[index] if 0 <= index < len(self.partitions) else None


@lru_cache(maxsize=1_000)
def topic_id_of(name: str) -> str:
    """Return the id of a topic with this name, the same in every cluster of the kit, so that runs can be reproduced."""
    return str(uuid.uuid5(_TOPIC_IDS, name))


class Topics:
    """The topics of a cluster by name and by id.

    New partitions start with `records` records. `on_change` is called when a topic is created, grown or deleted.
    """

    def __init__(self, records: int, on_change: Callable[[], None] = lambda: None) -> None:
        self._records = records
        self._on_change = on_change
        self.changes = 0
        """The number of creations, growths and deletions."""
        self._topics: dict[str, Topic] = {}
        self._names: dict[str, str] = {}
        self._deleted: Counter[str] = Counter()

    def all(self) -> tuple[Topic, ...]:
        return tuple(self._topics.values())

    def named(self, name: str | None) -> Topic | None:
        return self._topics.get(name) if name is not None else None

    def by_id(self, topic_id: str | None) -> Topic | None:
        return self.named(self._names.get(topic_id)) if topic_id is not None else None

    def name_of(self, topic_id: str) -> str:
        """Return the name of the topic with this id, or the id where there is none."""
        return self._names.get(topic_id, topic_id)

    def grow(self, name: str, partitions: int, records: int | None = None) -> Topic:
        """Grow topic `name` to that many partitions, or create it; raise `ValueError` where it has more."""
        topic = self._topics.get(name) or self._create(name)
        if partitions < len(topic.partitions):
            raise ValueError(f"topic {name} has {len(topic.partitions)} partitions and cannot shrink to {partitions}")
        for index in range(len(topic.partitions), partitions):
            topic.partitions.append(_filled(name, index, self._records if records is None else records))
        self._has_changed()
        return topic

    def restore(self, recorded: RecordedTopic) -> None:
        """Create a topic for which groups have committed offsets elsewhere. Its partitions have their records from the highest commit on."""
        topic = self._create(recorded.name, recorded.topic_id)
        for index in range(recorded.partitions):
            topic.partitions.append(_filled(recorded.name, index, self._records, *recorded.commits.get(index, (0, 0))))
        self._has_changed()

    def delete(self, name: str) -> None:
        """Delete `name`; raise `ValueError` where it does not exist. The next topic of that name has another id."""
        topic = self._topics.pop(name, None)
        if topic is None:
            raise ValueError(f"there is no topic {name} to delete")
        del self._names[topic.topic_id]
        self._deleted[name] += 1
        self._has_changed()

    def image(self) -> dict[str, TopicImage]:
        """Return the topics in the coordinator's form."""
        return {name: TopicImage(topic.topic_id, len(topic.partitions)) for name, topic in self._topics.items()}

    def append(self, name: str, records: int) -> None:
        """Append `records` records to each partition of `name`; raise `ValueError` where it does not exist."""
        topic = self._topics.get(name)
        if topic is None:
            raise ValueError(f"there is no topic {name} to append to")
        for index, log in enumerate(topic.partitions):
            offsets = range(log.end_offset, log.end_offset + records)
            log.append(encode_batch([_record(name, index, offset) for offset in offsets]))

    def _has_changed(self) -> None:
        self.changes += 1
        self._on_change()

    def _create(self, name: str, topic_id: str | None = None) -> Topic:
        topic = Topic(name, topic_id or topic_id_of(f"{name}#{times}" if (times := self._deleted[name]) else name), [])
        self._topics[name] = topic
        self._names[topic.topic_id] = name
        return topic


def _filled(name: str, index: int, records: int, start_offset: int = 0, first_offset: int = 0) -> Log:
    """Return a log with `records` records from `first_offset` on. Earlier ones, from `start_offset`, are gone, as after compaction."""
    log = Log(start_offset=start_offset, end_offset=first_offset)
    end_offset = first_offset + records
    for first in range(first_offset, end_offset, _BATCH_RECORDS):
        offsets = range(first, min(first + _BATCH_RECORDS, end_offset))
        log.append(encode_batch([_record(name, index, offset) for offset in offsets]))
    return log


def _record(name: str, index: int, offset: int) -> Record:
    value = f"{name}-{index}-{offset}".encode()
    return Record(offset=offset, timestamp_ms=FIRST_TIMESTAMP_MS + offset, key=str(offset).encode(), value=value)

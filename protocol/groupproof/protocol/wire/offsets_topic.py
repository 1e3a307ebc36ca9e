"""Converts a log of `__consumer_offsets` to observations of a trace: each record is an event, and so are unreadable bytes.

The topic has only what a coordinator stores. It has no requests, so the observations have neither API nor connection. It does not tell who sent a
commit, or why a member left. Compaction removes older records of a key: `Tally.missing` counts the missing offsets. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from groupproof.protocol.trace import Observation
from groupproof.protocol.wire.coordinator_records import OFFSET_COMMIT, CoordinatorRecord, UnreadableRecord, decode_commit, decode_record
from groupproof.protocol.wire.log_batches import BrokenBatch, LogBatch, LogRecord

__all__ = ["CLOCK", "MARKER", "RECORD", "TOPIC", "UNREADABLE", "OffsetsTopic", "Tally", "TopicCommit"]

TOPIC: Final = "__consumer_offsets"

RECORD: Final = "record"
"""The name of the event that is a record of the topic."""

MARKER: Final = "marker"
"""The name of the event that ends a transaction."""

UNREADABLE: Final = "unreadable"
"""The name of the event that is a record, or a batch, that cannot be read."""

CLOCK: Final = "clock"


@dataclass(slots=True)
class Tally:
    """The counts of a log.

    `records` are by name, `tombstones` are those without a value, `unreadable` are by reason, `missing` are offsets without a record.
    """

    records: Counter[str] = field(default_factory=Counter)
    tombstones: int = 0
    markers: int = 0
    unreadable: Counter[str] = field(default_factory=Counter)
    missing: int = 0

    @property
    def read(self) -> int:
        return self.records.total()

    def count(self, obs: Observation) -> None:
        """Count an observation that was made from the topic earlier."""
        name = obs.body.get("name")
        if name == RECORD:
            self.records[obs.body["record"]] += 1
            self.tombstones += obs.body["value"] is None
        elif name == UNREADABLE:
            self.unreadable[obs.body["reason"]] += 1
        self.markers += name == MARKER

    def to_json(self) -> dict[str, Any]:
        return {
            "records": dict(sorted(self.records.items())), "tombstones": self.tombstones, "markers": self.markers,
            "unreadable": dict(sorted(self.unreadable.items())), "missing": self.missing,
        }  # fmt: skip


class TopicCommit(NamedTuple):
    """A commit, and its place: the partition of the offsets topic, and the offset there."""

    group: str
    topic: str
    partition: int
    offset: int
    at_ms: int
    log_partition: int
    log_offset: int


class OffsetsTopic:
    """Converts batches to observations, from several partitions in any mixture. Times count from `begin_ms` (since 1970); older ones become 0."""

    def __init__(self, begin_ms: int, run: str = "") -> None:
        self.tally = Tally()
        self._begin_ms = begin_ms
        self._run = run
        self._seq = 0
        self._next: dict[int, int] = {}

    def next_offset(self, partition: int) -> int:
        """Return the offset after the last followed batch."""
        return self._next.get(partition, 0)

    def begin(self) -> Observation:
        """Return the observation with the start of the trace's time."""
        self._seq += 1
        return Observation(seq=self._seq - 1, at_ns=0, run=self._run, who="kit", kind="event", body={"name": CLOCK, "epoch_ms": self._begin_ms})

    def follow(self, partition: int, batch: LogBatch | BrokenBatch) -> Iterator[Observation]:
        """Yield the observations of a partition's next batch."""
        if isinstance(batch, BrokenBatch):
            yield self._unreadable(partition, batch.offset, 0, "cut off" if batch.is_cut else "broken batch", batch.why)
            return
        self._count_missing(partition, batch)
        if batch.marker is not None:
            self.tally.markers += 1
            body = {"name": MARKER, "marker": batch.marker, "producer_id": batch.producer_id}
            yield self._event(partition, batch.base_offset, batch.timestamp_ms, body, {})
        for record in batch.records:
            yield self._record(partition, record, batch)

    def follow_tersely(self, partition: int, batch: LogBatch | BrokenBatch) -> Iterator[Observation | TopicCommit]:
        """Yield the same, but a commit outside a transaction as a `TopicCommit`. It is faster for readers of millions of records."""
        if isinstance(batch, BrokenBatch) or batch.is_transactional or batch.marker is not None:
            yield from self.follow(partition, batch)
            return
        self._count_missing(partition, batch)
        commits = 0
        for record in batch.records:
            offset, at_ms, key, value = record
            commit = decode_commit(key, value)
            if commit is None:
                yield self._record(partition, record, batch)
            else:
                commits += 1
                yield TopicCommit(*commit, at_ms, partition, offset)
        self.tally.records[OFFSET_COMMIT] += commits

    def _count_missing(self, partition: int, batch: LogBatch) -> None:
        """Count the offsets before and in the batch that have no record: compaction removed it, or there never was one."""
        self.tally.missing += max(0, batch.base_offset - self._next.get(partition, batch.base_offset))
        self.tally.missing += batch.last_offset - batch.base_offset + 1 - (len(batch.records) or batch.marker is not None)
        self._next[partition] = batch.last_offset + 1

    def _record(self, partition: int, record: LogRecord, batch: LogBatch) -> Observation:
        offset, timestamp_ms, key, value = record
        try:
            decoded = decode_record(key, value)
        except UnreadableRecord as error:
            return self._unreadable(partition, offset, timestamp_ms, error.reason, str(error))
        self.tally.records[decoded.name] += 1
        self.tally.tombstones += value is None
        body: dict[str, Any] = {"name": RECORD, "record": decoded.name, "key": decoded.key, "value": decoded.value, "batch": batch.base_offset}
        if batch.is_transactional:
            body["producer_id"] = batch.producer_id
        columns = _commit_columns(decoded) if decoded.name == OFFSET_COMMIT else _group_columns(decoded)
        return self._event(partition, offset, timestamp_ms, body, columns)

    def _unreadable(self, partition: int, offset: int, timestamp_ms: int, reason: str, text: str) -> Observation:
        self.tally.unreadable[reason] += 1
        return self._event(partition, offset, timestamp_ms, {"name": UNREADABLE, "reason": reason, "text": text}, {})

    def _event(self, partition: int, offset: int, timestamp_ms: int, body: dict[str, Any], columns: dict[str, Any]) -> Observation:
        body |= {"partition": partition, "offset": offset, "timestamp_ms": timestamp_ms}
        at_ms = max(0, timestamp_ms - self._begin_ms)
        self._seq += 1
        return Observation(seq=self._seq - 1, at_ns=at_ms * 1_000_000, run=self._run, kind="event", body=body, **columns)


def _commit_columns(record: CoordinatorRecord) -> dict[str, Any]:
    key, value = record.key, record.value
    if value is None:
        return {"group": key["group"], "partitions": ((key["topic"], key["partition"]),)}
    return {"group": key["group"], "version": record.version, "offsets": ((key["topic"], key["partition"], value["offset"]),)}


def _group_columns(record: CoordinatorRecord) -> dict[str, Any]:
    key, value = record.key, record.value or {}
    return {
        "group": key.get("group_id", key.get("group")), "version": record.version, "member": key.get("member_id"), "instance": value.get("instance_id"),
        "client": value.get("client_id"), "generation": value.get("generation"), "member_epoch": value.get("member_epoch"),
    }  # fmt: skip

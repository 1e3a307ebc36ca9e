"""A log of `__consumer_offsets` as observations of the one trace: each record is an event, and so is what cannot be read.

The topic holds what a coordinator had to store. It holds no request, so that the observations have neither api nor connection; who sent a commit, and why a member went,
stands nowhere in it. Compaction takes older records of a key away: `Tally.missing` says how many offsets are not there. Pure.
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
    """What was read. `records` counts by name, `tombstones` those of them without a value, `unreadable` by reason; `missing` are offsets without a record."""

    records: Counter[str] = field(default_factory=Counter)
    tombstones: int = 0
    markers: int = 0
    unreadable: Counter[str] = field(default_factory=Counter)
    missing: int = 0

    @property
    def read(self) -> int:
        return self.records.total()

    def count(self, obs: Observation) -> None:
        """Count an observation that was made of the topic before."""
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
    """A commit, and its place: which partition of the offsets topic, at which offset of that."""

    group: str
    topic: str
    partition: int
    offset: int
    at_ms: int
    log_partition: int
    log_offset: int


class OffsetsTopic:
    """Makes observations of batches, partition after partition in any mixture. Times count from `begin_ms` (since 1970); what is older stands at 0."""

    def __init__(self, begin_ms: int, run: str = "") -> None:
        self.tally = Tally()
        self._begin_ms = begin_ms
        self._run = run
        self._seq = 0
        self._next: dict[int, int] = {}

    def next_offset(self, partition: int) -> int:
        """Return the offset behind the last batch that was followed."""
        return self._next.get(partition, 0)

    def begin(self) -> Observation:
        """Return the observation that says when the trace's time begins."""
        self._seq += 1
        return Observation(seq=self._seq - 1, at_ns=0, run=self._run, who="kit", kind="event", body={"name": CLOCK, "epoch_ms": self._begin_ms})

    def follow(self, partition: int, batch: LogBatch | BrokenBatch) -> Iterator[Observation]:
        """Yield what the next batch of a partition holds."""
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
        """Yield the same, but a commit outside of a transaction as what it says alone: of most records no more is wanted, by whoever reads millions."""
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
        """Count the offsets before the batch and in it that hold nothing: compaction took them, or nothing was ever there."""
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

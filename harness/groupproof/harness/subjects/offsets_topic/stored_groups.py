"""Reads the groups of a production cluster from copied segments of `__consumer_offsets`, for a coordinator that continues them."""

from __future__ import annotations

from pathlib import Path

from groupproof.coordinator.machine.topic_records import TopicRecords
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.subjects.offsets_topic.segment_files import read_segments, segments_in
from groupproof.protocol.wire.coordinator_records import UnreadableRecord, decode_record
from groupproof.protocol.wire.log_batches import BrokenBatch, LogBatch
from groupproof.protocol.wire.offsets_topic import TOPIC

__all__ = ["read_stored_groups"]

_UNREADABLE = "unreadable"


def read_stored_groups(folder: Path) -> TopicRecords:
    """Return the records of the segments below a folder. Raise `WrongUsage` for a folder without segments. Unreadable records are counted as left
    out."""
    segments = segments_in(folder)
    if not segments:
        raise WrongUsage(f"{folder} holds no segment of {TOPIC}: copy folders {TOPIC}-N with their .log files from a broker's log.dirs into it")
    records = TopicRecords()
    for _, partition, batch in read_segments(segments):
        if isinstance(batch, BrokenBatch):
            if not batch.is_cut:  # the end of a segment that was being written is cut off
                _leave_out(records)
        else:
            _take_batch(records, partition, batch)
    return records


def _take_batch(records: TopicRecords, partition: int, batch: LogBatch) -> None:
    if batch.marker is not None:
        records.end_transaction(partition, batch.producer_id, is_committed=batch.marker == "COMMIT")
    for _, _, key, value in batch.records:
        try:
            decoded = decode_record(key, value)
        except UnreadableRecord:
            _leave_out(records)
            continue
        if batch.is_transactional:
            records.take(partition, decoded, batch.producer_id)
        else:
            records.take(partition, decoded)


def _leave_out(records: TopicRecords) -> None:
    records.left_out[_UNREADABLE] = records.left_out.get(_UNREADABLE, 0) + 1

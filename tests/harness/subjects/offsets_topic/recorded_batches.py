"""Batches of real offsets topics, as their brokers wrote them, with Kafka's own reading of each record beside: what the gate holds our decoder against.

    python -m tests.harness.subjects.offsets_topic.recorded_batches FOLDER FILE

keeps from a harvest in FOLDER, of each kind of record, tombstones apart, the first few batches that hold it.
"""

from __future__ import annotations

import base64
import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.harness.subjects.offsets_topic.kafkas_own import lines_of

from groupproof.harness.subjects.offsets_topic.segment_files import partition_of_segment, segments_in
from groupproof.protocol.wire.log_batches import LogBatch, read_log

__all__ = ["RECORDED", "RecordedBatch", "recorded_batches"]

RECORDED: Final = Path(__file__).with_name("recorded")
_OF_A_KIND: Final = 3
_RECORDS_MAX: Final = 80
_LENGTH_ENDS: Final = 12


class RecordedBatch(NamedTuple):
    """The bytes of a batch, and what Kafka read in it."""

    blob: bytes
    reading: list[dict[str, Any]]


def recorded_batches(release: str) -> list[RecordedBatch]:
    """Return what is kept of a release's topic."""
    with gzip.open(RECORDED / f"kafka-{release}.ndjson.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [RecordedBatch(base64.b64decode(row["batch"]), row["kafka"]) for row in rows]


def _kept(folder: Path) -> Iterator[dict[str, Any]]:
    reading = {(line["p"], line["o"]): line for line in lines_of(folder / "kafka.ndjson")}
    counts: Counter[str] = Counter()
    for segment in segments_in(folder / "segments"):
        for batch, blob in _batches(segment.read_bytes()):
            lines = [reading[partition_of_segment(segment), offset] for offset, _, _, _ in batch.records]
            kinds = {_kind(line) for line in lines}
            if len(lines) <= _RECORDS_MAX and any(counts[kind] < _OF_A_KIND for kind in kinds):
                counts.update(kinds)
                yield {"batch": base64.b64encode(blob).decode(), "kafka": lines}


def _kind(line: dict[str, Any]) -> str:
    key, value = line.get("key") or {}, line.get("value")
    return f"{key.get('name', key.get('version'))} {None if value is None else value['version']}"


def _batches(blob: bytes) -> Iterator[tuple[LogBatch, bytes]]:
    at = 0
    while at < len(blob):
        after = at + _LENGTH_ENDS + int.from_bytes(blob[at + 8 : at + _LENGTH_ENDS], "big")
        for batch in read_log(blob[at:after]):
            if isinstance(batch, LogBatch) and batch.records:
                yield batch, blob[at:after]
        at = after


if __name__ == "__main__":
    with gzip.GzipFile(sys.argv[2], "wb", mtime=0) as file:
        for row in _kept(Path(sys.argv[1])):
            file.write(json.dumps(row, separators=(",", ":")).encode() + b"\n")

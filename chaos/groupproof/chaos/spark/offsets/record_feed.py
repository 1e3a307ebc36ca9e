"""The files for Spark's file source: one small file at a time with the new records of all partitions, in the order of the files' times.

Spark reads the files by time, notes them in its checkpoint, and deletes those whose facts are written. The positions are written after each file;
if the process fails in between, the file itself shows them.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from groupproof.chaos.spark.offsets.kept_records import table_of, write_whole
from groupproof.protocol.wire.log_batches import LogRecord

__all__ = ["FEED", "RecordFeed"]

FEED: Final = "feed"
_PLACES: Final = "feed.json"
_ROWS_MAX: Final = 50_000
"""A file has about so many records. Spark reads a fixed number of files at once, which bounds a batch."""


class RecordFeed:
    """Writes records to files in the folder `feed`; `positions` are the next offsets to read."""

    def __init__(self, folder: Path, *, rows_max: int = _ROWS_MAX) -> None:
        self.folder = folder / FEED
        self.folder.mkdir(parents=True, exist_ok=True)
        self._places = folder / _PLACES
        self._rows_max = rows_max
        self._held: dict[int, list[LogRecord]] = {}
        self._count = 0
        state: dict[str, Any] = {"file": 0, "at_ms": 0, "positions": {}}
        if self._places.is_file():
            state = json.loads(self._places.read_text(encoding="utf-8"))
        self.positions: dict[int, int] = {int(partition): offset for partition, offset in state["positions"].items()}
        self._number: int = state["file"]
        self._at_ms: int = state["at_ms"]
        for path in sorted(self.folder.glob("[!._]*.parquet")):
            self._at_ms = max(self._at_ms, path.stat().st_mtime_ns // 1_000_000)
            if int(path.stem) > self._number:
                self._number = int(path.stem)
                self.positions |= _places_behind(path)

    def take(self, partition: int, rows: Sequence[LogRecord]) -> None:
        """Hold the rows that were not yet fed."""
        after = self.positions.get(partition, 0)
        fresh = rows if rows[0][0] >= after else [row for row in rows if row[0] >= after]
        if fresh:
            self._held.setdefault(partition, []).extend(fresh)
            self._count += len(fresh)
            self.positions[partition] = fresh[-1][0] + 1
        if self._count >= self._rows_max:
            self.flush()

    def flush(self) -> None:
        """Write the held rows as the next file, and then the positions."""
        if not self._count:
            return
        tables = [_placed(partition, rows) for partition, rows in sorted(self._held.items())]
        self._held, self._count, self._number = {}, 0, self._number + 1
        # Spark sorts only by time, in ms: files of one ms, or after a clock was set back, would come in any order.
        self._at_ms = max(self._at_ms + 1, round(time.time() * 1_000))
        target = self.folder / f"{self._number:012}.parquet"
        write_whole(pa.concat_tables(tables), target, at_ms=self._at_ms)
        _write_text(self._places, json.dumps({"file": self._number, "at_ms": self._at_ms, "positions": self.positions}))


def _places_behind(path: Path) -> dict[int, int]:
    """Return the offsets after the records in a file. A partition's offsets rise in it."""
    table = pq.ParquetFile(path).read(columns=["partition", "offset"])
    return {row["partition"]: row["offset"] + 1 for row in table.to_pylist()}


def _placed(partition: int, rows: Sequence[LogRecord]) -> pa.Table:
    return table_of(rows).add_column(0, pa.field("partition", pa.int32()), pa.array([partition] * len(rows), pa.int32()))


def _write_text(target: Path, text: str) -> None:
    begun = target.with_name(f".{target.name}")
    begun.write_text(text, encoding="utf-8")
    os.replace(begun, target)

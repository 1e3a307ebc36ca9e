"""Keeps the topic's records as Parquet by partition. The file names are the checkpoint: a file's first offset, and the offset after its last.

    records/partition=7/00000000000000001000-00000000000000002048.parquet

A file gets its name when it is complete. So every named file counts, and after an interruption reading continues after the last one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from groupproof.harness.model.errors import WrongUsage
from groupproof.protocol.wire.log_batches import BrokenBatch, LogBatch, LogRecord

__all__ = ["PLACE", "KeptPiece", "KeptRecords", "pieces_in", "rows_of", "table_of", "write_whole"]

PLACE: Final = "partition={}"
_FOLDER: Final = re.compile(PLACE.format(r"(\d+)"))
_NAME: Final = re.compile(r"(\d{20})-(\d{20})\.parquet")
_SCHEMA: Final = pa.schema([("offset", pa.int64()), ("at_ms", pa.int64()), ("key", pa.binary()), ("value", pa.binary())])
_CLUSTER: Final = "_cluster_id"
"""Spark does not read a file with such a name as records."""

_HELD_MAX: Final = 300_000
"""The maximum number of records in memory; beyond it, the partition with most of them is written."""


class KeptPiece(NamedTuple):
    """A file, its partition, its first offset, and the offset after its last."""

    partition: int
    first: int
    after: int
    path: Path


def pieces_in(folder: Path) -> list[KeptPiece]:
    """Return the files in a folder, by partition and offset."""
    found = ((_FOLDER.fullmatch(path.parent.name), _NAME.fullmatch(path.name), path) for path in folder.glob("*/*.parquet"))
    return sorted(KeptPiece(int(place[1]), int(name[1]), int(name[2]), path) for place, name, path in found if place and name)


def rows_of(batch: LogBatch | BrokenBatch) -> list[LogRecord]:
    """Return a batch's records. An unreadable one becomes a record without a key, which this topic never has; its value is the reason."""
    if isinstance(batch, BrokenBatch):
        return [(batch.offset, 0, None, batch.why.encode())]
    return batch.records


def write_whole(table: pa.Table, target: Path, *, at_ms: int | None = None) -> None:
    """Write a file completely or not at all, even if the process or the host fails; `at_ms` is its time, if not now."""
    target.parent.mkdir(parents=True, exist_ok=True)
    begun = target.with_name(f".{target.name}")
    with begun.open("wb") as file:
        pq.write_table(table, file, compression="zstd")
        file.flush()
        os.fsync(file.fileno())
    if at_ms is not None:
        os.utime(begun, ns=(at_ms * 1_000_000, at_ms * 1_000_000))
    begun.replace(target)


class KeptRecords:
    """Keeps new records in the order of their offsets; `positions` are the next offsets to read, `begins` the first offsets ever read."""

    def __init__(self, folder: Path, *, held_max: int = _HELD_MAX) -> None:
        self._folder = folder
        self._held_max = held_max
        self._held: dict[int, list[LogRecord]] = {}
        self._count = 0
        self.positions: dict[int, int] = {}
        self.begins: dict[int, int] = {}
        for piece in pieces_in(folder):
            self.positions[piece.partition] = max(piece.after, self.positions.get(piece.partition, 0))
            self.begins.setdefault(piece.partition, piece.first)

    def begin_cluster(self, cluster_id: str) -> None:
        """Store the cluster's id; raise `WrongUsage` where the kept records are another cluster's. A cluster without an id matches any."""
        place = self._folder / _CLUSTER
        before = place.read_text("utf-8") if place.exists() else ""
        if before and cluster_id and before != cluster_id:
            raise WrongUsage(f"{self._folder} has the records of cluster {before}, and this is cluster {cluster_id}; name another --output")
        if cluster_id and not before:
            self._folder.mkdir(parents=True, exist_ok=True)
            place.write_text(cluster_id, "utf-8")

    def take(self, partition: int, rows: Sequence[LogRecord]) -> None:
        """Keep the rows that are not yet kept."""
        after = self.positions.get(partition, 0)
        held = self._held.setdefault(partition, [])
        before = len(held)
        held += rows if rows[0][0] >= after else [row for row in rows if row[0] >= after]
        if len(held) > before:
            self._count += len(held) - before
            self.begins.setdefault(partition, held[0][0])
            self.positions[partition] = held[-1][0] + 1
        while self._count > self._held_max:
            self._write(max(self._held, key=lambda number: len(self._held[number])))

    def flush(self) -> None:
        """Write the records in memory."""
        for partition in [partition for partition, held in self._held.items() if held]:
            self._write(partition)

    def _write(self, partition: int) -> None:
        rows = self._held.pop(partition)
        self._count -= len(rows)
        write_whole(table_of(rows), self._folder / PLACE.format(partition) / f"{rows[0][0]:020}-{rows[-1][0] + 1:020}.parquet")


def table_of(rows: Sequence[LogRecord]) -> pa.Table:
    """Return records as a table."""
    columns: Iterator[Sequence[object]] = zip(*rows, strict=True)
    return pa.Table.from_arrays([pa.array(column, kind) for column, kind in zip(columns, _SCHEMA.types, strict=True)], schema=_SCHEMA)

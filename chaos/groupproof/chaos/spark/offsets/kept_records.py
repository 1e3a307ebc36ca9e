"""The records of the topic that are kept, as Parquet by partition. The files' names are the checkpoint: which offset one begins with, and where reading goes on behind it.

    records/partition=7/00000000000000001000-00000000000000002048.parquet

A file gets its name when it is whole. So one that has its name counts, and reading that was cut short goes on where the last one ends.
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
"""Spark reads no file of such a name as one of records."""

_HELD_MAX: Final = 300_000
"""So many records wait in memory at most; then those of the partition that has most of them are written."""


class KeptPiece(NamedTuple):
    """A file, its partition, its first offset, and the one behind its last."""

    partition: int
    first: int
    after: int
    path: Path


def pieces_in(folder: Path) -> list[KeptPiece]:
    """Return what is kept in a folder, by partition and offset."""
    found = ((_FOLDER.fullmatch(path.parent.name), _NAME.fullmatch(path.name), path) for path in folder.glob("*/*.parquet"))
    return sorted(KeptPiece(int(place[1]), int(name[1]), int(name[2]), path) for place, name, path in found if place and name)


def rows_of(batch: LogBatch | BrokenBatch) -> list[LogRecord]:
    """Return a batch's records. One that cannot be read is a record without a key, which no broker takes into this topic; its value says why."""
    if isinstance(batch, BrokenBatch):
        return [(batch.offset, 0, None, batch.why.encode())]
    return batch.records


def write_whole(table: pa.Table, target: Path, *, at_ms: int | None = None) -> None:
    """Write a file that is there whole or not at all, whatever ends this process or the machine; `at_ms` is its time, if not now."""
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
    """Takes records in the order of their offsets and keeps those that are new; `positions` are where reading goes on, `begins` the first offsets that were ever read."""

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
        """Note whose records these are; raise `WrongUsage` where those that are kept are another cluster's. A cluster without an id is taken for any."""
        place = self._folder / _CLUSTER
        before = place.read_text("utf-8") if place.exists() else ""
        if before and cluster_id and before != cluster_id:
            raise WrongUsage(f"{self._folder} has the records of cluster {before}, and this is cluster {cluster_id}; name another --output")
        if cluster_id and not before:
            self._folder.mkdir(parents=True, exist_ok=True)
            place.write_text(cluster_id, "utf-8")

    def take(self, partition: int, rows: Sequence[LogRecord]) -> None:
        """Keep the rows behind what is kept already."""
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
        """Write what waits."""
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

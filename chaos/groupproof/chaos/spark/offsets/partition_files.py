"""The files of one partition of the topic: kept records in Parquet, or a broker's segments. A task reads those of its partition by itself.

A group lives in one partition (Kafka's `GroupMetadataManager.partitionFor`), in the order of the offsets. So nothing is shuffled, and no row goes
through the JVM.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from groupproof.chaos.spark.offsets.record_fold import batch_of
from groupproof.harness.subjects.offsets_topic.segment_files import batches_of, partition_of_segment, segments_in
from groupproof.protocol.wire.log_batches import BrokenBatch, LogBatch, LogRecord

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SINK_LOG", "PartitionFiles", "kept_files", "segment_files"]

_COLUMNS: Final = ("offset", "at_ms", "key", "value")
_PLACE: Final = re.compile(r"/partition=(\d+)/[^/]*$")
_ROWS: Final = 20_000

SINK_LOG: Final = "_spark_metadata"
"""The folder where a Spark query that writes files lists the valid ones."""


class _RowGroup(NamedTuple):
    """A part of a Parquet file, with its first and last offset."""

    first: int
    last: int
    file: pq.ParquetFile
    number: int


class PartitionFiles(NamedTuple):
    """The files of one partition: Parquet by address in any order, or segments in the order of their names."""

    partition: int
    files: tuple[str, ...]
    size: int
    are_segments: bool = False

    def chunks(self) -> Iterator[list[LogBatch | BrokenBatch]]:
        """Yield the batches in the order of the offsets, every record once, in chunks so large that a changing group is usually reported once."""
        chunk: list[LogBatch | BrokenBatch] = []
        records = 0
        for batch in _in_segments(self.files) if self.are_segments else _in_parquet(self.files):
            chunk.append(batch)
            records += len(batch.records) if isinstance(batch, LogBatch) else 1
            if records >= _ROWS:
                yield chunk
                chunk, records = [], 0
        if chunk:
            yield chunk


def kept_files(spark: SparkSession, folders: Iterable[Path]) -> list[PartitionFiles]:
    """Return the complete files of records below folders: those named by `KeptRecords`, or those that a Spark query lists."""
    found: dict[int, list[str]] = {}
    for folder in (folder.absolute() for folder in folders):
        is_sink = (folder / SINK_LOG).is_dir()
        for uri in spark.read.parquet(str(folder)).inputFiles() if is_sink else [path.as_uri() for path in sorted(folder.glob("*/[!._]*.parquet"))]:
            place = _PLACE.search(unquote(uri))
            if place is not None:
                found.setdefault(int(place[1]), []).append(uri)
    return [PartitionFiles(partition, tuple(uris), sum(map(_size_of, uris))) for partition, uris in sorted(found.items())]


def segment_files(folders: Iterable[Path]) -> list[PartitionFiles]:
    """Return the topic's segments below folders, copied from brokers' disks."""
    found: dict[int, set[Path]] = {}
    for path in (path for folder in folders for path in segments_in(folder)):
        found.setdefault(partition_of_segment(path), set()).add(path.absolute())
    return [
        PartitionFiles(
            partition, tuple(str(path) for path in sorted(paths, key=lambda path: (path.name, path))), sum(path.stat().st_size for path in paths),
            are_segments=True,
        )
        for partition, paths in sorted(found.items())
    ]  # fmt: skip


# Parquet


def _in_parquet(uris: Sequence[str]) -> Iterator[LogBatch | BrokenBatch]:
    groups = sorted((group for uri in uris for group in _row_groups(uri)), key=lambda group: group[:2])
    for overlapping in _clusters(groups):
        table = pa.concat_tables(group.file.read_row_group(group.number, columns=list(_COLUMNS)) for group in overlapping)
        for batch in _ordered(table).to_batches(max_chunksize=_ROWS):
            rows = list(zip(*(batch.column(name).to_pylist() for name in _COLUMNS), strict=True))
            yield from _runs(rows) if batch.column("key").null_count else [batch_of(rows)] * bool(rows)


def _runs(rows: Sequence[LogRecord]) -> Iterator[LogBatch | BrokenBatch]:
    """Yield the readable batches and the unreadable ones, which `KeptRecords` keeps as records without a key."""
    for is_broken, run in groupby(rows, key=lambda row: row[2] is None):
        if is_broken:
            yield from (BrokenBatch(offset, 0, (why or b"").decode()) for offset, _, _, why in run)
        else:
            yield batch_of(list(run))


def _row_groups(uri: str) -> Iterator[_RowGroup]:
    system, path = _place_of(uri)
    file = pq.ParquetFile(system.open_input_file(path))
    column = file.schema_arrow.get_field_index("offset")
    for number in range(file.metadata.num_row_groups):
        statistics = file.metadata.row_group(number).column(column).statistics
        yield _RowGroup(statistics.min, statistics.max, file, number)


def _size_of(uri: str) -> int:
    system, path = _place_of(uri)
    return int(system.get_file_info(path).size)


def _place_of(uri: str) -> tuple[fs.FileSystem, str]:
    system, path = fs.FileSystem.from_uri(uri)
    return system, unquote(path)


def _clusters(groups: Iterable[_RowGroup]) -> Iterator[list[_RowGroup]]:
    """Yield the parts that must be sorted together, in order: usually one part of one file."""
    cluster: list[_RowGroup] = []
    last = -1
    for group in groups:
        if cluster and group.first > last:
            yield cluster
            cluster = []
        cluster.append(group)
        last = max(last, group.last)
    if cluster:
        yield cluster


def _ordered(table: pa.Table) -> pa.Table:
    """Return the table sorted, without duplicates."""
    if _rises(table):
        return table
    table = table.sort_by("offset")
    if _rises(table):
        return table
    offsets = table.column("offset").combine_chunks()
    return table.filter(pa.concat_arrays([pa.array([True]), pc.not_equal(offsets[1:], offsets[:-1])]))


def _rises(table: pa.Table) -> bool:
    offsets = table.column("offset").combine_chunks()
    return len(offsets) < 2 or bool(pc.all(pc.greater(offsets[1:], offsets[:-1])).as_py())


# Segments


def _in_segments(files: Sequence[str]) -> Iterator[LogBatch | BrokenBatch]:
    """Yield the batches. A partition's replicas may have other segment boundaries, so batches that came before are skipped."""
    after = 0
    for file in files:
        for batch in batches_of(Path(file)):
            if isinstance(batch, LogBatch):
                if batch.last_offset < after:
                    continue
                after = batch.last_offset + 1
            yield batch

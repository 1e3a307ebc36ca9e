"""The files of one partition: records come in the order of their offsets and once, however they were kept; replicas' segments are one log."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.chaos.spark.offsets.test_record_fold import storm_records
from tests.harness.subjects.offsets_topic.topic_logs import TopicLogs, commit

from groupproof.chaos.spark.offsets.partition_files import PartitionFiles, kept_files, segment_files
from groupproof.chaos.spark.offsets.record_fold import StoredRecord
from groupproof.chaos.spark.offsets.record_tables import HistoryOrder, folded
from groupproof.protocol.wire.log_batches import LogBatch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SCHEMA = pa.schema([("offset", pa.int64()), ("at_ms", pa.int64()), ("key", pa.binary()), ("value", pa.binary())])


def keep(folder: Path, name: str, records: Sequence[StoredRecord], *, group_rows: int = 1 << 20) -> None:
    """Write records as `keep_records` does: a folder for each partition."""
    for partition in {record.partition for record in records}:
        place = folder / f"partition={partition}"
        place.mkdir(parents=True, exist_ok=True)
        rows = [record._asdict() for record in records if record.partition == partition]
        pq.write_table(pa.Table.from_pylist(rows, schema=_SCHEMA), place / f"{name}.parquet", row_group_size=group_rows)


def _records(offsets: Sequence[int]) -> list[StoredRecord]:
    return [StoredRecord(3, offset, *commit(offset, "g", 0, offset)) for offset in offsets]


def offsets_of(part: PartitionFiles) -> list[int]:
    return [record[0] for chunk in part.chunks() for batch in chunk if isinstance(batch, LogBatch) for record in batch.records]


def _of(folder: Path) -> PartitionFiles:
    return PartitionFiles(3, tuple(file.as_uri() for file in folder.rglob("*.parquet")), 0)


@pytest.mark.parametrize(
    "files",
    [
        {"a": [0, 1, 2], "b": [5, 6]},
        {"b": [0, 1, 2], "a": [5, 6]},
        {"a": [2, 1, 0], "b": [6, 5]},
        {"a": [0, 2, 5], "b": [1, 6]},
        {"a": [0, 1, 2, 5], "b": [1, 2, 5, 6]},
    ],
    ids=["in order", "named otherwise", "each backwards", "mixed", "kept twice"],
)
@pytest.mark.parametrize("group_rows", [2, 100])
def test_records_come_once_and_in_the_order_of_their_offsets(files: dict[str, list[int]], group_rows: int, tmp_path: Path) -> None:
    for name, offsets in files.items():
        keep(tmp_path, name, _records(offsets), group_rows=group_rows)

    assert offsets_of(_of(tmp_path)) == [0, 1, 2, 5, 6]


def test_an_address_with_a_space_is_read(tmp_path: Path) -> None:
    keep(tmp_path / "last night", "a", _records([0]))

    assert offsets_of(_of(tmp_path)) == [0]


def test_segments_of_two_replicas_are_one_log(tmp_path: Path) -> None:
    logs = TopicLogs()
    logs.append(3, *(commit(offset, "g", 0, offset) for offset in range(8)))
    logs.write(tmp_path / "broker-1")
    shutil.copytree(tmp_path / "broker-1", tmp_path / "broker-2")
    logs.begins[3], logs.batches[3] = 8, []
    logs.append(3, *(commit(offset, "g", 0, offset) for offset in range(8, 10)))
    logs.write(tmp_path / "later")

    (part,) = segment_files([tmp_path])
    assert (part.partition, len(part.files), part.are_segments) == (3, 3, True)
    assert offsets_of(part) == list(range(10))


@pytest.mark.java
@pytest.mark.slow
def test_spark_says_which_files_count(spark: SparkSession, tmp_path: Path) -> None:
    for year in ("2025", "2026 b"):
        keep(tmp_path / year, "a", _records([int(year[3])]))

    (part,) = kept_files(spark, [tmp_path / "2025", tmp_path / "2026 b"])
    assert (part.partition, len(part.files), part.size > 0) == (3, 2, True)
    assert offsets_of(part) == [5, 6]


def test_kept_records_and_segments_come_to_the_same_facts(tmp_path: Path) -> None:
    logs = TopicLogs()
    stored = [record._replace(partition=3) for record in storm_records(range(1, 8))]
    logs.append(3, *(record[2:] for record in stored))
    logs.write(tmp_path)
    keep(tmp_path, "a", stored)
    task = pa.record_batch([pa.array([0])], names=["id"])

    kept, segments = ([row for batch in folded(HistoryOrder(folder=tmp_path), [part], [task]) for row in batch.to_pylist()]
                      for part in (_of(tmp_path), *segment_files([tmp_path])))  # fmt: skip
    assert kept == segments
    assert sorted(row["kind"] for row in kept) == ["rebalance"] * 7 + ["storm", "tally"]

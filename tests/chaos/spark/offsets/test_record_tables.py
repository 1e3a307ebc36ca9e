"""The offsets topic in Spark: a stream with a state for each group, and a table that is read at once, tell the same as one fold in one process; every record is kept once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.chaos.spark.offsets.test_record_fold import newest
from tests.harness.judging.topic_history.stories import member
from tests.harness.subjects.offsets_topic.topic_logs import Stored, commit, generation

from groupproof.chaos.spark.checkers.trace_watch import stopped
from groupproof.chaos.spark.offsets.record_fold import Fact, RecordFold, StoredRecord
from groupproof.chaos.spark.offsets.record_tables import FACTS, RECORDS, HistoryOrder, facts_of, keep_records, kept_records, newest_facts, watch_facts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.java, pytest.mark.slow]

_SCHEMA = pa.schema([("partition", pa.int32()), ("offset", pa.int64()), ("at_ms", pa.int64()), ("key", pa.binary()), ("value", pa.binary())])


def _records() -> list[StoredRecord]:
    """Two groups in each of two partitions, that rebalance every minute and commit."""
    return [
        StoredRecord(partition, offset, *stored)
        for partition in range(2)
        for offset, stored in enumerate(record for group in range(2) for record in _life(f"g-{partition}-{group}"))
    ]


def _life(group: str) -> Iterator[Stored]:
    for minute in range(8):
        owners = (member("a-1", (0,)), member(f"b-{minute}", (1,), client="b"))
        yield generation(minute * 60_000, group, 2 * minute + 1, owners[: 1 + minute % 2])
        yield commit(minute * 60_000 + 5_000, group, 0, minute)
        yield generation(minute * 60_000 + 30_000, group, 2 * minute + 2)


def keep(folder: Path, name: str, records: list[StoredRecord]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist([record._asdict() for record in records], schema=_SCHEMA), folder / f"{name}.parquet")


def _told(rows: list[Any]) -> dict[tuple[str, str, int], tuple[int, str]]:
    return newest(Fact(*row) for row in rows)


def _stream(spark: SparkSession, folder: Path) -> DataFrame:
    return (
        spark.readStream.schema("partition int, offset long, at_ms long, key binary, value binary")
        .option("maxFilesPerTrigger", 1)
        .parquet(str(folder))
    )


def test_a_stream_in_batches_and_a_table_tell_what_one_fold_tells(spark: SparkSession, tmp_path: Path) -> None:
    records = _records()
    expected = newest(RecordFold().take(records))
    for number in range(3):
        part = [record for record in records if record.offset % 48 // 16 == number]
        keep(tmp_path / "in", f"{number}", list(reversed(part)))
    order, heard = HistoryOrder(folder=tmp_path, trigger_ms=100, begins={0: 0, 1: 0}), list[Fact]()

    query = watch_facts(_stream(spark, tmp_path / "in"), order, heard.append)
    query.processAllAvailable()
    stopped(query)
    streamed = spark.read.parquet(str(tmp_path / FACTS)).select(*Fact._fields)

    assert len(expected) > 40
    assert newest(heard) == expected
    assert _told(newest_facts(streamed).collect()) == expected
    assert _told(facts_of(kept_records(spark, [tmp_path / "in"]), order).collect()) == expected


def test_records_are_kept_once_and_only_what_is_new_is_read_again(spark: SparkSession, tmp_path: Path) -> None:
    records, order = _records(), HistoryOrder(folder=tmp_path)
    counts = []
    for number, part in enumerate((records[:30], records[30:])):
        keep(tmp_path / "in", str(number), part)
        keep_records(_stream(spark, tmp_path / "in"), order).awaitTermination()
        counts.append(kept_records(spark, [tmp_path / RECORDS]).count())

    assert counts == [30, len(records)]
    assert sorted(map(tuple, kept_records(spark, [tmp_path / RECORDS]).select("partition", "offset").collect())) == [
        (record.partition, record.offset) for record in records
    ]

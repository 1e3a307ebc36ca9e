"""The offsets topic in Spark: a stream with a state for each group, and a table that is read at once, tell the same as one fold in one process; every record is kept once."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.chaos.spark.offsets.test_partition_files import keep
from tests.chaos.spark.offsets.test_record_fold import newest
from tests.harness.judging.topic_history.stories import member
from tests.harness.subjects.offsets_topic.topic_logs import Stored, commit, generation

from groupproof.chaos.spark.checkers.trace_watch import stopped
from groupproof.chaos.spark.offsets.partition_files import kept_files
from groupproof.chaos.spark.offsets.record_fold import TALLY, Fact, RecordFold, StoredRecord
from groupproof.chaos.spark.offsets.record_tables import FACTS, RECORDS, HistoryOrder, facts_of, keep_records, newest_facts, topic_names, watch_facts
from groupproof.protocol.wire.log_batches import LogBatch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.java, pytest.mark.slow]


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
        for file in (tmp_path / "in").rglob(f"{number}.parquet"):
            os.utime(file, (number, number))  # the source takes the oldest first
    order, heard = HistoryOrder(folder=tmp_path, trigger_ms=100, begins={0: 0, 1: 0}), list[Fact]()

    query = watch_facts(_stream(spark, tmp_path / "in"), order, heard.append)
    query.processAllAvailable()
    stopped(query)
    streamed = spark.read.parquet(str(tmp_path / FACTS)).select(*Fact._fields)

    assert len(expected) > 40
    assert newest(heard) == expected
    assert _told(newest_facts(streamed).collect()) == expected
    table = facts_of(spark, kept_files(spark, [tmp_path / "in"]), order).collect()
    assert _told([row for row in table if row.kind != TALLY]) == expected
    assert [json.loads(row.text)["records"] for row in table if row.kind == TALLY] == [{"GroupMetadata": 32, "OffsetCommit": 16}] * 2


def test_records_are_kept_once_and_only_what_is_new_is_read_again(spark: SparkSession, tmp_path: Path) -> None:
    records, order = _records(), HistoryOrder(folder=tmp_path)
    counts = []
    for number, part in enumerate((records[:30], records[30:])):
        keep(tmp_path / "in", str(number), part)
        keep_records(_stream(spark, tmp_path / "in"), order).awaitTermination()
        counts.append(spark.read.parquet(str(tmp_path / RECORDS)).count())

    assert counts == [30, len(records)]
    kept = [
        (part.partition, record[0])
        for part in kept_files(spark, [tmp_path / RECORDS])
        for chunk in part.chunks()
        for batch in chunk
        if isinstance(batch, LogBatch)
        for record in batch.records
    ]
    assert kept == [(record.partition, record.offset) for record in records]


def test_the_names_of_topics_are_kept_beside_the_records(tmp_path: Path) -> None:
    HistoryOrder(folder=tmp_path, names={"id-1": "orders"}).keep_names()
    order = HistoryOrder(folder=tmp_path, names={"id-2": "payments"}).keep_names()

    assert order.names == topic_names([tmp_path, tmp_path / "nowhere"]) == {"id-1": "orders", "id-2": "payments"}

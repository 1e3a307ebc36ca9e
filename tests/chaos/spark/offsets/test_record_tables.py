"""The offsets topic in Spark: a stream with a state for each group, and a table that is read at once, tell the same as one fold in one process; every record is kept once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from tests.chaos.spark.offsets.test_partition_files import keep
from tests.chaos.spark.offsets.test_record_fold import newest, two_lives
from tests.harness.judging.topic_history.stories import member
from tests.harness.subjects.offsets_topic.topic_logs import Stored, commit, generation

from groupproof.chaos.spark.checkers.trace_watch import stopped
from groupproof.chaos.spark.offsets.partition_files import SINK_LOG, kept_files
from groupproof.chaos.spark.offsets.record_feed import RecordFeed
from groupproof.chaos.spark.offsets.record_fold import TALLY, Fact, RecordFold, StoredRecord
from groupproof.chaos.spark.offsets.record_tables import (
    FACTS,
    RECORDS,
    HistoryOrder,
    check_reader,
    facts_of,
    feed_source,
    keep_records,
    newest_facts,
    topic_names,
    watch_facts,
)
from groupproof.harness.model.errors import WrongUsage
from groupproof.protocol.wire.log_batches import LogBatch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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


def _newest_facts(rows: list[Any]) -> dict[tuple[str, str, int], tuple[int, str]]:
    return newest(Fact(*row) for row in rows)


def _stream(spark: SparkSession, folder: Path) -> DataFrame:
    return (
        spark.readStream.schema("partition int, offset long, at_ms long, key binary, value binary")
        .option("maxFilesPerTrigger", 1)
        .parquet(str(folder))
    )


def _feed(folder: Path, records: list[StoredRecord]) -> RecordFeed:
    """Feed the records in three files, the last of which has some that were fed before: whoever fed them had been cut short."""
    feed = RecordFeed(folder)
    for offsets in (range(16), range(16, 32), range(20, 48)):
        feed.positions = {}
        for partition in range(3):
            feed.take(
                partition,
                [
                    (record.offset, record.at_ms, record.key, record.value)
                    for record in records
                    if record.partition == partition and record.offset in offsets
                ],
            )
        feed.flush()
    return feed


@pytest.mark.java
@pytest.mark.slow
def test_a_stream_in_batches_and_a_table_give_the_result_of_one_checker(spark: SparkSession, tmp_path: Path) -> None:
    records = _records() + [record._replace(partition=2) for record in two_lives()]
    expected = newest(RecordFold().take(records))
    keep(tmp_path / "in", "0", records)
    order, heard = HistoryOrder(folder=tmp_path, trigger_ms=100, begins={0: 0, 1: 0, 2: 0}), list[Fact]()
    feed = _feed(tmp_path, records)
    assert sum(pq.ParquetFile(file).metadata.num_rows for file in feed.folder.glob("*.parquet")) > len(records)

    query = watch_facts(feed_source(spark, feed.folder, files_at_once=1), order, heard.append)
    query.processAllAvailable()
    stopped(query)
    progress: Any = query.lastProgress
    assert progress["stateOperators"][0]["numRowsTotal"] == 4, "the group that was deleted twice has no state"
    assert len(list(feed.folder.glob("*.parquet"))) <= 1
    streamed = spark.read.parquet(str(tmp_path / FACTS)).select(*Fact._fields)

    assert len(expected) > 40
    assert newest(heard) == expected
    assert _newest_facts(newest_facts(streamed).collect()) == expected
    table = facts_of(spark, kept_files(spark, [tmp_path / "in"]), order).collect()
    assert _newest_facts([row for row in table if row.kind != TALLY]) == expected
    assert [json.loads(row.text)["records"] for row in table if row.kind == TALLY] == [
        *([{"GroupMetadata": 32, "OffsetCommit": 16}] * 2),
        {"GroupMetadata": 16, "OffsetCommit": 4},
    ]


@pytest.mark.java
@pytest.mark.slow
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


@pytest.mark.parametrize("is_spark", [False, True])
def test_a_folder_belongs_to_one_reader(is_spark: bool, tmp_path: Path) -> None:
    check_reader(tmp_path, is_spark=is_spark)
    keep(tmp_path, "a", _records())
    if not is_spark:
        (tmp_path / SINK_LOG).mkdir()

    check_reader(tmp_path, is_spark=not is_spark)
    with pytest.raises(WrongUsage, match=f"was kept with --source {'wire' if is_spark else 'spark'}"):
        check_reader(tmp_path, is_spark=is_spark)


def test_the_names_of_topics_are_kept_beside_the_records(tmp_path: Path) -> None:
    HistoryOrder(folder=tmp_path, names={"id-1": "orders"}).keep_names()
    order = HistoryOrder(folder=tmp_path, names={"id-2": "payments"}).keep_names()

    assert order.names == topic_names([tmp_path, tmp_path / "nowhere"]) == {"id-1": "orders", "id-2": "payments"}

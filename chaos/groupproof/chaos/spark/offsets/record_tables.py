"""The offsets topic in Spark: facts of groups as a stream with a state for each group, and the same facts of all kept records.

Records come from the feed and the files of `topic_reader`, or from Spark's own Kafka source. A group's order is that of its offsets, and every
record counts, however old: there is no watermark. A repeated record is skipped by its offset. Facts are written by batch under the batch's
number, so that a repeated batch overwrites itself.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from groupproof.chaos.spark.offsets.partition_files import SINK_LOG, PartitionFiles
from groupproof.chaos.spark.offsets.record_fold import Fact, RecordFold, StoredRecord, newest_of
from groupproof.chaos.spark.streaming.streaming_query import DEPRECATED
from groupproof.harness.model.errors import WrongUsage
from groupproof.protocol.wire.offsets_topic import TOPIC

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = [
    "FACTS", "RECORDS", "HistoryOrder", "check_reader", "facts_of", "feed_source", "folded", "keep_records", "newest_facts", "topic_names",
    "topic_source", "watch_facts",
]  # fmt: skip

RECORDS, FACTS, _CHECKPOINTS, _NAMES = "records", "facts", "checkpoints", "topics.json"
_COLUMNS: Final = ("partition", "offset", "at_ms", "key", "value")
_FED: Final = "partition int, offset long, at_ms long, key binary, value binary"
_FILES_AT_ONCE: Final = 16
_FILES_PURGED: Final = "6h"
"""How long Spark remembers the files that it has read; they are deleted within seconds."""
_FACT_ROW: Final = "group string, kind string, number long, at_ms long, offset long, text string"
_FACT_TYPES: Final = (pa.string(), pa.string(), pa.int64(), pa.int64(), pa.int64(), pa.string())
_GROUP: Final = "decode(substring(key, 5, CAST(conv(hex(substring(key, 3, 2)), 16, 10) AS INT)), 'UTF-8')"
"""Every key begins with its type and the group: two bytes, a length of two, and the name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryOrder:
    """The topic and the output: `kafka` are settings of Spark's source, `names` are topic names by id, `begins` the partitions' first offsets."""

    folder: Path
    bootstrap: str = ""
    kafka: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    begins: Mapping[int, int] = field(default_factory=dict)
    consumer_session_ms: int = 45_000
    trigger_ms: int = 1_000

    def fold(self) -> RecordFold:
        return RecordFold(self.names, self.begins, consumer_session_ms=self.consumer_session_ms)

    def for_tasks(self) -> HistoryOrder:
        """Return the order for tasks, without the cluster's address and passwords."""
        return replace(self, bootstrap="", kafka={})

    def checkpoint(self, name: str) -> str:
        return str((self.folder / _CHECKPOINTS / name).absolute())

    def keep_names(self) -> HistoryOrder:
        """Write the topics' names beside the records, because newer releases store ids in them; return the order with earlier names, too."""
        names = topic_names([self.folder]) | dict(self.names)
        (self.folder / _NAMES).write_text(json.dumps(names, indent=1), encoding="utf-8")
        return replace(self, names=names)


def topic_names(folders: Iterable[Path]) -> dict[str, str]:
    """Return the topic names by id that were stored in folders."""
    files = [folder / _NAMES for folder in folders if (folder / _NAMES).is_file()]
    return {name: topic for file in files for name, topic in json.loads(file.read_text(encoding="utf-8")).items()}


def check_reader(records: Path, *, is_spark: bool) -> None:
    """Raise `WrongUsage` where the other reader kept the records: each knows only its own files."""
    by_spark = (records / SINK_LOG).is_dir()
    if by_spark is not is_spark and any(records.glob("*/*.parquet")):
        raise WrongUsage(f"{records} was kept with --source {'spark' if by_spark else 'wire'}; continue with that source, or choose another --output")


def feed_source(spark: SparkSession, folder: Path, *, files_at_once: int = _FILES_AT_ONCE) -> DataFrame:
    """Return the feed as a stream by Spark's file source: in the order of times; files are deleted after their facts are written."""
    # After so many batches Spark rewrites its list of all files; the default, every tenth batch, would be every ten seconds here.
    spark.conf.set("spark.sql.streaming.fileSource.log.compactInterval", "300")
    spark.conf.set("spark.sql.streaming.fileSource.cleaner.numThreads", "0")  # there are only one or two files to delete
    reader = spark.readStream.schema(_FED).option("maxFilesPerTrigger", files_at_once).option("maxFileAge", _FILES_PURGED)
    return reader.option("cleanSource", "delete").parquet(str(folder.absolute()))


def topic_source(spark: SparkSession, order: HistoryOrder) -> DataFrame:
    """Return the topic as a stream of records, by Spark's own Kafka source.

    Its partitions are listed, and a consumer asks for their offsets, because Spark's AdminClient skips internal topics.
    """
    spark.conf.set(DEPRECATED, "true")
    partitions = json.dumps({TOPIC: sorted(order.begins)})
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", order.bootstrap).option("assign", partitions)
    # Commits of an aborted transaction never count. Compaction and retention may remove records at any time: that is no loss of data.
    reader = reader.option("startingOffsets", "earliest").option("kafka.isolation.level", "read_committed").option("failOnDataLoss", "false")
    # KIP-714: a consumer asks whether the cluster wants its metrics, which reading does not need.
    reader = reader.option("kafka.enable.metrics.push", "false")
    reader = reader.options(**{f"kafka.{name}": value for name, value in order.kafka.items()})
    return reader.load().selectExpr("partition", "offset", "unix_millis(timestamp) AS at_ms", "key", "value")


def keep_records(stream: DataFrame, order: HistoryOrder) -> StreamingQuery:
    """Append the topic's new records to the kept ones, and end."""
    written = stream.writeStream.format("parquet").partitionBy("partition").option("path", str((order.folder / RECORDS).absolute()))
    return written.option("checkpointLocation", order.checkpoint(RECORDS)).queryName("groupproof records").trigger(availableNow=True).start()


def facts_of(spark: SparkSession, parts: Sequence[PartitionFiles], order: HistoryOrder) -> DataFrame:
    """Return all facts of the groups in partitions of any size, and the counts of each partition. The largest partitions begin first."""
    largest_first = sorted(parts, key=lambda part: -part.size)
    tasks = spark.range(0, len(largest_first), numPartitions=max(1, len(largest_first)))
    return newest_facts(tasks.mapInArrow(partial(folded, order.for_tasks(), largest_first), _FACT_ROW))


def newest_facts(facts: DataFrame) -> DataFrame:
    """Return the last version of each fact."""
    from pyspark.sql import functions

    newest = functions.max_by(functions.struct("at_ms", "offset", "text"), functions.struct("offset", "text")).alias("newest")
    return facts.groupBy("group", "kind", "number").agg(newest).select("group", "kind", "number", "newest.*")


def watch_facts(stream: DataFrame, order: HistoryOrder, say: Callable[[Fact], None]) -> StreamingQuery:
    """Follow the topic: facts come by batch, each written once; then `say` is called with each."""
    from pyspark.sql import functions
    from pyspark.sql.streaming.state import GroupStateTimeout

    named = stream.where("key IS NOT NULL").withColumn("group", functions.expr(_GROUP))
    facts = named.groupBy("group").applyInPandasWithState(
        partial(_followed, order.for_tasks()), _FACT_ROW, "fold binary", "append", GroupStateTimeout.NoTimeout
    )
    writing = facts.writeStream.foreachBatch(partial(_write, order.folder / FACTS, say)).option("checkpointLocation", order.checkpoint(FACTS))
    return writing.queryName("groupproof facts").trigger(processingTime=f"{order.trigger_ms} milliseconds").start()


def folded(order: HistoryOrder, parts: Sequence[PartitionFiles], tasks: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Fold whole partitions of the topic, from their first record."""
    for number in (number for batch in tasks for number in batch.column(0).to_pylist()):
        partition = parts[number].partition
        fold = order.fold()
        for chunk in parts[number].chunks():
            yield _rows(newest_of(fold.take_log((partition, batch) for batch in chunk)))
        yield _rows([fold.count(partition)])


def _rows(facts: list[Fact]) -> pa.RecordBatch:
    columns = list(zip(*facts, strict=True)) or [()] * len(_FACT_TYPES)
    return pa.RecordBatch.from_arrays([pa.array(column, kind) for column, kind in zip(columns, _FACT_TYPES, strict=True)], names=list(Fact._fields))


def _followed(order: HistoryOrder, _key: tuple[str], frames: Iterable[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
    """Continue one group. A batch may have its records in any order; across batches their offsets rise, and a repeated record has no effect."""
    fold: RecordFold = pickle.loads(state.get[0]) if state.exists else order.fold()
    fold.history.name_topics(order.names)
    rows = {row[:2]: StoredRecord(*row) for frame in frames for row in frame[list(_COLUMNS)].itertuples(index=False, name=None)}
    records = [rows[place] for place in sorted(rows) if not fold.has_taken(rows[place])]
    facts = fold.take(record._replace(key=bytes(record.key), value=None if record.value is None else bytes(record.value)) for record in records)
    if fold.is_over:  # a cluster has thousands of groups that existed for an hour
        state.remove()
    else:
        fold.forget_names(order.names)  # otherwise every state would have all of them
        state.update((pickle.dumps(fold),))
    import pandas as pd  # only in a Spark worker: it takes half a second

    yield pd.DataFrame(facts, columns=list(Fact._fields))


def _write(folder: Path, say: Callable[[Fact], None], facts: DataFrame, batch: int) -> None:
    """Write a batch's facts at once, under its number. They are only a few rows: a Spark job would take longer than all else."""
    rows = [Fact(*row) for row in facts.collect()]
    if not rows:
        return
    target = folder / f"batch={batch}"
    target.mkdir(parents=True, exist_ok=True)
    begun = target / ".part-0.parquet"
    pq.write_table(pa.Table.from_batches([_rows(rows)]), begun)
    begun.replace(target / "part-0.parquet")
    for fact in rows:
        say(fact)

"""A query on Spark's own Kafka source: its start, progress, stop and reads. All calls block; use threads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from groupproof.chaos.spark.streaming.streaming_reads import Batch, QueryReads

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["DEPRECATED", "LOG_LEVEL", "MEMBER", "QueryConfig", "RunningQuery"]

DEPRECATED: Final = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"

MEMBER: Final = {"kafka.session.timeout.ms": "10000", "kafka.heartbeat.interval.ms": "500", "kafka.metadata.max.age.ms": "5000"}
"""The settings of the driver's consumer, so that a course takes seconds; by default Spark uses Kafka's, which take minutes."""

LOG_LEVEL: Final = "ERROR"
"""Spark's warnings, one per batch, say no more than the report."""

_ROW: Final = "partition INT, offset BIGINT, at TIMESTAMP"
_FAILURE_CHARS: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryConfig:
    """A query on `topic`, with `group` as its `kafka.group.id`; `is_deprecated` selects its path, `folder` is for output and checkpoint."""

    name: str
    bootstrap: str
    topic: str
    group: str
    is_deprecated: bool
    fails_on_loss: bool
    folder: Path
    trigger_ms: int = 500
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def rows(self) -> Path:
        """The folder of the rows that it read: partition, offset and the time of the batch."""
        return self.folder / "reads" / f"query={self.name}"


class RunningQuery:
    """One query; its checkpoint has its positions, and the folder of its rows what it read."""

    def __init__(self, spark: SparkSession, query: QueryConfig) -> None:
        self._spark, self.order = spark, query
        spark.conf.set(DEPRECATED, str(query.is_deprecated).lower())
        rows = _source(spark, query).selectExpr("partition", "offset", "current_timestamp() AS at")
        written = rows.writeStream.queryName(query.name).format("parquet").option("path", str(query.rows))
        written = written.option("checkpointLocation", str(query.folder / "checkpoints" / query.name))
        self._query: StreamingQuery = written.trigger(processingTime=f"{query.trigger_ms} milliseconds").start()

    @property
    def batches(self) -> int:
        """Return the number of batches with rows."""
        return sum(_progress(progress)["numInputRows"] > 0 for progress in self._query.recentProgress)

    @property
    def positions(self) -> dict[int, int]:
        """Return its position in each partition of its last batch."""
        last = self._query.lastProgress
        end = None if last is None else _progress(last)["sources"][0]["endOffset"]
        offsets = json.loads(end) if isinstance(end, str) else end
        return {int(partition): at for partition, at in (offsets or {}).get(self.order.topic, {}).items()}

    @property
    def failed(self) -> str | None:
        """Return why it ended, in a line; None while it runs."""
        error = self._query.exception()
        return None if error is None else _reason(str(error))

    def stop(self) -> None:
        """End it. A running batch is abandoned, about which Spark logs a lot."""
        log = self._spark.sparkContext
        log.setLogLevel("OFF")
        try:
            with suppress(Exception):  # `failed` has the query's own error
                self._query.stop()
        finally:
            log.setLogLevel(LOG_LEVEL)

    def read(self, began_s: float, due: Mapping[int, int]) -> QueryReads:
        """Return its reads; `began_s` is the begin of the course, in seconds of the wall clock."""
        found = self._rows(began_s) if (self.order.rows / "_spark_metadata").is_dir() else []
        offsets: dict[tuple[int, int], int] = {}
        for partition, offset, _ in found:
            offsets[partition, offset] = offsets.get((partition, offset), 0) + 1
        return QueryReads(query=self.order.name, batches=tuple(_batches(found)), offsets=offsets, due=dict(due), failed=self.failed)

    def _rows(self, began_s: float) -> list[tuple[int, int, float]]:
        frame = self._spark.read.schema(_ROW).parquet(str(self.order.rows)).selectExpr("partition", "offset", "CAST(at AS DOUBLE) AS at")
        return [(row["partition"], row["offset"], row["at"] - began_s) for row in frame.collect()]


def _source(spark: SparkSession, query: QueryConfig) -> Any:
    options = {
        "kafka.bootstrap.servers": query.bootstrap, "subscribe": query.topic, "startingOffsets": "earliest", "kafka.group.id": query.group,
        "failOnDataLoss": str(query.fails_on_loss).lower(), **MEMBER, **query.options,
    }  # fmt: skip
    return spark.readStream.format("kafka").options(**options).load()


def _progress(progress: Any) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(progress.json) if hasattr(progress, "json") else progress
    return read


def _batches(rows: list[tuple[int, int, float]]) -> list[Batch]:
    grouped: dict[tuple[float, int], list[int]] = {}
    for partition, offset, at_s in rows:
        grouped.setdefault((at_s, partition), []).append(offset)
    return [
        Batch(partition=partition, at_s=at_s, first=min(offsets), last=max(offsets), rows=len(offsets))
        for (at_s, partition), offsets in sorted(grouped.items())
    ]


def _reason(message: str) -> str:
    """Return the line with the reason, without Spark's wrapping."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    text = next((line for line in lines if not line.startswith(("at ", "===", "Identifier", "Current", "Driver stacktrace"))), "it does not say why")
    return text if len(text) <= _FAILURE_CHARS else text[:_FAILURE_CHARS] + "…"

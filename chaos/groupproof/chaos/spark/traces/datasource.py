"""A trace as a Spark source: `spark.read.format("groupproof").load(PATH)`, and `spark.readStream…` for one still being written.

Spark finds it where groupproof is installed (`pyspark_groupproof.py`); elsewhere call `register(spark)`. Its rows are observations, with the
contract's columns. A query's checkpoint keeps the stream's position, and the stream can be read again from there.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from groupproof.chaos.spark.traces.growing_trace import Growing, Piece, read_piece
from groupproof.chaos.spark.traces.trace_rows import spark_schema
from groupproof.harness.model.errors import WrongUsage
from groupproof.protocol.trace_columns import to_batch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["FORMAT", "TraceSource", "register"]

FORMAT: Final = "groupproof"
_ROWS: Final = 4_096


def register(spark: SparkSession) -> None:
    """Register the format in a session whose Python does not have groupproof installed as a package; do nothing if it is registered."""
    from pyspark.errors import AnalysisException

    try:
        spark.dataSource.register(TraceSource)
    except AnalysisException as error:
        if "DATA_SOURCE_ALREADY_EXISTS" not in str(error):
            raise


@dataclass
class _Part(InputPartition):
    """The part of a trace for one task."""

    piece: Piece


class TraceSource(DataSource):
    """The data source; its one option is `path`: a trace in NDJSON or Parquet, a folder of them, a load's folder, or a tap's output."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        schema: StructType = spark_schema()
        return schema

    def reader(self, schema: StructType) -> DataSourceReader:
        return _Reader(self._path())

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return _StreamReader(self._path())

    def _path(self) -> Path:
        named = self.options.get("path")
        if not named:
            raise WrongUsage(f'name the trace: .format("{FORMAT}").load(PATH)')
        return Path(named.removeprefix("file://")).absolute()


class _Reader(DataSourceReader):
    """Reads the trace as it is when the query is planned."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def partitions(self) -> Sequence[InputPartition]:
        growing = Growing(self._path)
        return [_Part(piece) for piece in growing.pieces({}, growing.position())] or [_Part(_NOTHING)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _batches(partition)


class _StreamReader(DataSourceStreamReader):
    """Reads the trace as it grows. Spark stores offsets as JSON, in its own order of keys; here they are one text, so that Spark finds equal ones
    equal.

    An offset also names the reader: thus a query that continues from its checkpoint has a first batch even if nothing new has come. Without a batch
    Spark checks no timeout, and the waiting state would never end.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reader = uuid.uuid4().hex

    def initialOffset(self) -> dict[str, Any]:
        return {"stand": "{}", "reader": ""}

    def latestOffset(self) -> dict[str, Any]:
        return {"stand": json.dumps(Growing(self._path).position(), sort_keys=True), "reader": self._reader}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        pieces = Growing(self._path).pieces(json.loads(start["stand"]), json.loads(end["stand"]))
        return [_Part(piece) for piece in pieces] or [_Part(_NOTHING)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _batches(partition)


_NOTHING: Final = Piece("", "")


def _batches(partition: InputPartition) -> Iterator[pa.RecordBatch]:
    assert isinstance(partition, _Part)
    if partition.piece == _NOTHING:
        yield to_batch(())  # Spark does not accept a source without a partition
        return
    for some in read_piece(partition.piece, _ROWS):
        yield to_batch(some)

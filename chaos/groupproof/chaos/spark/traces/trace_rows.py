"""Observations as rows of a Spark DataFrame: traces in files and folders, NDJSON and Parquet, with the trace's columns and each row's file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

from groupproof.harness.model.errors import BrokenEnvironment, WrongUsage
from groupproof.harness.running.trace_files import is_parquet, reading
from groupproof.protocol.trace import Observation
from groupproof.protocol.trace_columns import DEFAULTS, NotColumns, from_batch, parquet_files, to_batch, trace_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["PLACE", "check_columns", "frame_of", "placed_schema", "readable", "spark_schema"]

PLACE: Final = ("segment", "block", "row")
"""A row's place: its file in a folder's trace, the part of it that a task read, and a rising number within."""

_FILE: Final = "file"


@contextmanager
def readable() -> Iterator[None]:
    """Turn a task's error in a trace into one line for the user (`WrongUsage`), and missing parts of Spark into another (`BrokenEnvironment`)."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        if (match := _UNREADABLE.search(str(error))) is not None:
            raise WrongUsage(f"a trace can't be read: {match[0]}") from error
        if (lacks := _LACKS.search(str(error))) is not None:
            raise BrokenEnvironment(
                f"Spark can't go on: {lacks[0]}; look at the disk and the memory that it has (spark.local.dir, spark.driver.memory)"
            ) from error
        raise


_UNREADABLE: Final = re.compile(
    r"(?<=ValueError: )a line is no observation: [^\n]*|(?<=NotColumns: )[^\n]*|(?<=WrongUsage: )[^\n]*|\[(?:CAST|FAILED_READ)_[A-Z_.]+\] [^\n]*"
)
_LACKS: Final = re.compile(
    r"No space left on device|Disk quota exceeded|java\.lang\.OutOfMemoryError[^\n]*|java\.(?:nio\.file|io)\.\w+Exception: [^\n]*|SparkContext was shut down"
)


def frame_of(spark: SparkSession, files: Sequence[Path], *, is_placed: bool = False) -> DataFrame:
    """Return the observations of files as rows with the trace's columns and the `file`, and with their `PLACE` if `is_placed`.

    Raise `WrongUsage` for a file that is no trace.
    """
    lines = [file for file in files if not is_parquet(file)]
    frames = [_parquet(spark, file) for file in files if file not in lines] + ([_lines(spark, lines)] if lines else [])
    whole = frames[0]
    for rows in frames[1:]:
        whole = whole.unionByName(rows)
    return whole if is_placed else whole.drop(*PLACE)


def _parquet(spark: SparkSession, path: Path) -> DataFrame:
    from pyspark.sql import functions as f

    files = parquet_files(path)
    is_ours = all([_has_our_types(check_columns(file)) for file in files])
    spark.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")  # a run may be called 007
    if not files:
        return spark.createDataFrame([], placed_schema())
    reader = spark.read.schema(spark_schema()) if is_ours else spark.read.option("mergeSchema", "true")  # which needs a job of its own
    found = reader.parquet(str(path))
    there = set(found.columns)
    columns = [_column(item.name, item.dataType.simpleString(), is_there=item.name in there) for item in spark_schema()]
    placed = found.selectExpr(*columns, *_PLACED)  # as text, because each call into the JVM costs a fifth of a millisecond
    return placed.withColumn(_FILE, f.lit(str(path.resolve())))


_PLACED: Final = ("_metadata.file_path AS segment", "0L AS block", "_metadata.row_index AS row")


def _column(name: str, of_type: str, *, is_there: bool) -> str:
    value = f"CAST({f'`{name}`' if is_there else 'NULL'} AS {of_type})"
    filled = f"coalesce({value}, {DEFAULTS[name]!r})" if name in DEFAULTS else value
    return f"{filled} AS `{name}`"


def _has_our_types(schema: pa.Schema) -> bool:
    ours = trace_schema()
    return all(item.type == ours.field(item.name).type for item in schema if item.name in ours.names)


def check_columns(file: Path) -> pa.Schema:
    """Return a file's schema, from its end: so an incomplete file or one with other content is found before a job begins.

    Raise `WrongUsage`.
    """
    with reading(file):
        try:
            schema = pq.read_schema(file)
            list(from_batch(pa.RecordBatch.from_pylist([], schema=schema)))
            return schema
        except NotColumns as error:
            raise NotColumns(f"{file} holds no trace: {error}") from error
        except pa.ArrowException as error:
            raise NotColumns(f"{file} can't be read as Parquet: {' '.join(str(error).split())}") from error


def _lines(spark: SparkSession, files: Sequence[Path]) -> DataFrame:
    from pyspark.sql import functions as f

    for file in files:
        with reading(file), file.open("rb"):
            pass
    text = spark.read.text([str(file) for file in files]).select(
        "value",
        f.col("_metadata.file_path").alias("segment"),
        f.col("_metadata.file_block_start").alias("block"),
        f.monotonically_increasing_id().alias("row"),
    )
    return text.mapInArrow(_parsed, placed_schema())


def _parsed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        kept = batch.filter(pa.array([bool(line.strip()) for line in batch.column(0).to_pylist()], pa.bool_()))
        observed = to_batch(_observation(line) for line in kept.column(0).to_pylist())
        observed = observed.append_column(_FILE, pa.array([unquote(urlsplit(file).path) for file in kept.column(1).to_pylist()], pa.string()))
        for name in PLACE:
            observed = observed.append_column(name, kept.column(name))
        yield observed


def _observation(line: str) -> Observation:
    try:
        return Observation.from_json(json.loads(line))
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"a line is no observation: {error}: {line[:80]}") from error


@cache
def spark_schema() -> Any:
    """Return the trace's schema in Spark's types; every column may be empty there."""
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(struct_field.name, struct_field.dataType) for struct_field in from_arrow_schema(trace_schema())])


@cache
def placed_schema() -> Any:
    """Return the schema of rows with their file and place."""
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    place = [StructField("segment", StringType()), StructField("block", LongType()), StructField("row", LongType())]
    return StructType([*spark_schema(), StructField(_FILE, StringType()), *place])

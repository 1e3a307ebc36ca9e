from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JError
from tests.harness.judging.checkers.fleets import planted_fleet

from groupproof.harness.model.errors import BrokenEnvironment, WrongUsage
from groupproof.protocol.trace import write_trace
from groupproof.protocol.trace_columns import write_parquet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    ("complaint", "kind", "text"),
    [
        (
            "An error occurred.\n: java.nio.file.NoSuchFileException: /tmp/blocks/0e\n\tat java.base",
            BrokenEnvironment,
            "NoSuchFileException: /tmp/blocks/0e; look at",
        ),
        ("Job aborted: java.io.IOException: No space left on device", BrokenEnvironment, "look at the disk"),
        ("java.lang.OutOfMemoryError: Java heap space", BrokenEnvironment, "Java heap space; look at"),
        ("ValueError: a line is no observation: {\nat x", WrongUsage, "can't be read: a line is no observation: {"),
        ("ValueError: something else", Py4JError, "something else"),
    ],
)
def test_what_is_no_trace_and_what_spark_lacks_are_distinguished(complaint: str, kind: type[Exception], text: str) -> None:
    from groupproof.chaos.spark.traces.trace_rows import readable

    with pytest.raises(kind, match=re.escape(text)), readable():
        raise Py4JError(complaint)


@pytest.mark.java
@pytest.mark.slow
def test_rows_tell_the_file_and_where_in_it_they_stand(spark: SparkSession, tmp_path: Path) -> None:
    from groupproof.chaos.spark.traces.trace_rows import PLACE, frame_of

    trace = planted_fleet()
    half = len(trace) // 2
    write_parquet(tmp_path / "first.parquet", trace[:half])
    lines = tmp_path / "rest.ndjson"
    lines.write_text("\n".join(write_trace(trace[half:])) + "\n\n")

    frame = frame_of(spark, [tmp_path / "first.parquet", lines], is_placed=True)
    rows = sorted(frame.select("seq", "file", *PLACE).collect(), key=lambda row: (row["file"], row["segment"], row["block"], row["row"]))

    assert [row["seq"] for row in rows] == [obs.seq for obs in trace]
    assert {Path(row["file"]).name for row in rows} == {"first.parquet", "rest.ndjson"}
    assert set(PLACE).isdisjoint(frame_of(spark, [lines]).columns)


@pytest.mark.java
@pytest.mark.slow
def test_columns_of_other_types_or_none_are_read_as_the_traces(spark: SparkSession, tmp_path: Path) -> None:
    from groupproof.chaos.spark.traces.trace_rows import frame_of, spark_schema

    trace = planted_fleet()
    write_parquet(tmp_path / "whole.parquet", trace)
    whole = pq.read_table(tmp_path / "whole.parquet")
    narrow = pa.table({name: whole.column(name) for name in whole.column_names if name not in ("fault", "who")})
    at = narrow.schema.get_field_index("correlation")
    narrow = narrow.set_column(at, "correlation", narrow.column(at).cast(pa.int32()))
    pq.write_table(narrow, tmp_path / "narrow.parquet")
    pq.write_table(narrow.drop_columns(["correlation"]), tmp_path / "narrower.parquet")

    frames = [frame_of(spark, [tmp_path / f"{name}.parquet"]).drop("file") for name in ("whole", "narrow", "narrower")]
    rows = [[row.asDict() for row in frame.orderBy("seq").collect()] for frame in frames]

    assert [frame.dtypes for frame in frames] == [[(item.name, item.dataType.simpleString()) for item in spark_schema()]] * 3
    assert rows[1] == [{**row, "fault": None, "who": "coordinator"} for row in rows[0]]
    assert rows[2] == [{**row, "correlation": None} for row in rows[1]]


@pytest.mark.java
@pytest.mark.slow
def test_a_folder_without_rows_is_read_as_none(spark: SparkSession, tmp_path: Path) -> None:
    from groupproof.chaos.spark.traces.trace_rows import frame_of, placed_schema

    frame = frame_of(spark, [tmp_path], is_placed=True)

    assert frame.collect() == []
    assert frame.columns == placed_schema().names

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.harness.folds.fleets import planted_fleet

from groupproof.protocol.columns import write_parquet
from groupproof.protocol.trace import write_trace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.java, pytest.mark.slow]


def test_rows_tell_the_file_and_where_in_it_they_stand(spark: SparkSession, tmp_path: Path) -> None:
    from groupproof.chaos.spark.rows import PLACE, frame_of

    trace = planted_fleet()
    half = len(trace) // 2
    write_parquet(tmp_path / "first.parquet", trace[:half])
    lines = tmp_path / "rest.ndjson"
    lines.write_text("\n".join(write_trace(trace[half:])) + "\n\n")

    frame = frame_of(spark, [tmp_path / "first.parquet", lines], is_placed=True)
    rows = sorted(frame.select("seq", "file", *PLACE).collect(), key=lambda row: (row["file"], row["segment"], row["block"], row["row"]))

    assert [row["seq"] for row in rows] == [seen.seq for seen in trace]
    assert {Path(row["file"]).name for row in rows} == {"first.parquet", "rest.ndjson"}
    assert set(PLACE).isdisjoint(frame_of(spark, [lines]).columns)


def test_a_folder_without_rows_is_read_as_none(spark: SparkSession, tmp_path: Path) -> None:
    from groupproof.chaos.spark.rows import frame_of, placed_schema

    frame = frame_of(spark, [tmp_path], is_placed=True)

    assert frame.collect() == []
    assert frame.columns == placed_schema().names

"""That Spark answers within its share of DuckDB's time; on all rows in the soak, alone on the machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.benchmarks.queries import RATIO_MAX, measured, written


def test_a_fleet_is_as_large_as_is_asked(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")

    written(tmp_path, 4_000)

    ((rows, groups, answers),) = duckdb.sql(
        f"""SELECT count(*), count(DISTINCT "group"), count(error) FROM read_parquet('{tmp_path}/*.parquet')"""
    ).fetchall()
    assert (rows, groups, answers) == (4_000, 100, 2_000)


@pytest.mark.soak
@pytest.mark.java
def test_group_by_and_window_take_at_most_eight_times_as_long_as_in_duckdb(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    from groupproof.chaos.spark.session import session

    written(tmp_path, 10_000_000)

    found = list(measured(session("groupproof benchmark", master="local[*]", is_long=True), tmp_path, 2))

    assert all(spark_s <= RATIO_MAX * duck_s for _, duck_s, spark_s in found), found

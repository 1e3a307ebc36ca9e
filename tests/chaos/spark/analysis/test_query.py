from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groupproof.chaos.spark.analysis.query import ALL, CASE, KINDS, Measure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.java, pytest.mark.slow]


def test_figures_are_printed_for_all_for_each_run_and_for_each_value(spark: SparkSession) -> None:
    from groupproof.chaos.spark.analysis.query import figures_by

    facts = spark.createDataFrame(
        [("1", "c", "g", "old", 1.0), ("1", "c", "h", "old", 3.0), ("2", "c", "g", None, 5.0)],
        "run string, case string, group string, release string, x double",
    )
    measures = [Measure(name=kind, kind=kind, of="x").column() for kind in KINDS]

    rows = {(row["dimension"], row["value"], row["run"]): row for row in figures_by(facts, ("group", "release"), (), measures).collect()}

    assert set(rows) == {
        (ALL, None, None), (CASE, None, "1"), (CASE, None, "2"), ("group", "g", "1"), ("group", "h", "1"), ("group", "g", "2"), ("release", "old", None),
        ("release", None, None),
    }  # fmt: skip
    every = rows[ALL, None, None]
    assert {kind: every[kind] for kind in ("count", "distinct", "sum", "max", "mean", "p50")} == {
        "count": 3, "distinct": 3, "sum": 9.0, "max": 5.0, "mean": 3.0, "p50": 3.0,
    }  # fmt: skip
    assert every["p99"] == pytest.approx(4.96)
    assert rows["release", "old", None]["spread"] == 1.0

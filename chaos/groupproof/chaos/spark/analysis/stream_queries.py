"""The stream itself: which observations came late, twice, or out of their order, file by file. What came twice counts once; late and displaced ones count in their place."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from groupproof.chaos.spark.analysis.query import Measure, Query
from groupproof.chaos.spark.analysis.tables import RUN, Tables
from groupproof.chaos.spark.traces.trace_rows import PLACE

__all__ = ["LATE_MS", "STREAM"]

LATE_MS: Final = 10_000
"""An observation is late that stands behind one which was made so much after it: where a live run is followed, such a one would be too late for its watermark."""


def stream(tables: Tables) -> DataFrame:
    """Return of each side of each run how many rows it has, and how many stood twice, behind a later number, or late."""
    before = Window.partitionBy("segment", *RUN).orderBy(*PLACE[1:]).rowsBetween(Window.unboundedPreceding, -1)
    first = Window.partitionBy("side", *RUN, "seq").orderBy("file", *PLACE)
    placed = tables.raw.select("side", *RUN, "seq", "at_ns", "file", *PLACE)
    ranked = placed.withColumn("highest", f.max("seq").over(before)).withColumn("newest_ns", f.max("at_ns").over(before))
    counted = ranked.withColumn("copy", f.row_number().over(first)).groupBy("side", *RUN).agg(
        f.count(f.lit(1)).alias("rows"), f.count_if(f.expr("copy > 1")).alias("twice"), f.count_if(f.expr("seq < highest")).alias("displaced"),
        f.count_if(f.expr(f"at_ns < newest_ns - {LATE_MS} * 1000000L")).alias("late"),
    )  # fmt: skip
    return counted


STREAM: Final = Query(
    name="stream", answers="What arrived late, twice or out of order.", facts=stream, by=(), keys=("side",), worst="rows", measures=tuple(
        Measure(name=name, kind="sum", of=name) for name in ("rows", "twice", "displaced", "late")
    ),
)  # fmt: skip

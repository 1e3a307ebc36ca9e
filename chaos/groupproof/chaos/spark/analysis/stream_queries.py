"""Defects of the stream itself: observations that are late, repeated or out of order, by file. A repeated one counts once, the others as usual."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from groupproof.chaos.spark.analysis.query import Measure, Query
from groupproof.chaos.spark.analysis.tables import RUN, Tables
from groupproof.chaos.spark.traces.trace_rows import PLACE

__all__ = ["LATE_MS", "STREAM"]

LATE_MS: Final = 10_000
"""An observation is late if it follows one that was made so much later. A query that follows a live run would drop it because of its watermark."""


def stream(tables: Tables) -> DataFrame:
    """Return for each side of each run its rows, and how many are repeated, after a higher number, or late."""
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

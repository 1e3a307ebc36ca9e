"""What queries cost on Spark beside DuckDB, on the same Parquet, with as many threads, when both are warm: a group-by and a window over 10 million observations.

The group-by counts answers by run, request and error; the window is the whole query of heartbeats, interval by interval, with its figures by group. Both engines read the files anew
each time and answer the same, which is checked.

python -m tests.benchmarks.queries [--rows 10000000] [--repeats 3]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import duckdb

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["RATIO_MAX", "WARM_S", "Row", "main", "measured", "written"]

RATIO_MAX: Final = 8.0
FILES: Final = 4
WARM_S: Final = 15.0

Row = tuple[str, float, float]
"""A query, and the fastest seconds of DuckDB and of Spark."""

_MADE: Final = """
COPY (
  SELECT 2 * i + side AS seq, i * 10000 + side * (200000 + (hash(i) % 800000)::BIGINT) AS at_ns, 'load-' || (i % 4)::VARCHAR AS run, '' AS "case", 1::BIGINT AS seed, 'wall' AS clock,
         'coordinator' AS who, 0 AS node, i % 10000 AS connection, 'm' || (i % 10000)::VARCHAR AS client, CASE side WHEN 0 THEN 'request' ELSE 'response' END AS kind,
         CASE WHEN hash(i // 10000) % 20 = 0 THEN 'OffsetCommit' ELSE 'Heartbeat' END AS api, 4 AS version, i // 10000 AS correlation, 'g' || (i % 100)::VARCHAR AS "group",
         'm' || (i % 10000)::VARCHAR || '-id' AS member, 1 + (i // 1000000)::INT AS generation, CASE WHEN side = 1 THEN CASE WHEN hash(i) % 50 = 0 THEN 27 ELSE 0 END END AS error,
         '{{}}' AS body
  FROM range({first}, {last}) r(i), (VALUES (0), (1)) s(side) ORDER BY seq
) TO '{path}' (FORMAT parquet, COMPRESSION snappy)
"""

_COUNTED: Final = (
    """SELECT run, api, error, count(*), avg(at_ns), max(at_ns) FROM read_parquet('{folder}/*.parquet') WHERE kind = 'response' GROUP BY ALL"""
)

_BEATS: Final = """
WITH b AS (SELECT run, "group", at_ns, generation, lag(at_ns) OVER w AS last_ns, lag(generation) OVER w AS last_generation FROM read_parquet('{folder}/*.parquet')
           WHERE api = 'Heartbeat' AND kind = 'request' AND "group" IS NOT NULL AND member IS NOT NULL WINDOW w AS (PARTITION BY run, "case", "group", member ORDER BY seq)),
i AS (SELECT run, "group", (at_ns - last_ns) // 1000000 AS ms FROM b WHERE last_ns IS NOT NULL AND generation IS NOT DISTINCT FROM last_generation)
SELECT run, "group", count(*), avg(ms), stddev_pop(ms), quantile_cont(ms, 0.5), quantile_cont(ms, 0.99), max(ms) FROM i GROUP BY ALL
"""


def written(folder: Path, rows: int) -> None:
    """Write a fleet of 10,000 members in 100 groups that beat and commit, as many observations as are asked for."""
    pairs = rows // 2
    edges = [pairs * number // FILES for number in range(FILES + 1)]
    duck = duckdb.connect(config={"threads": _threads()})
    for number in range(FILES):
        duck.execute(_MADE.format(first=edges[number], last=edges[number + 1], path=folder / f"{number}.parquet"))


def measured(spark: SparkSession, folder: Path, repeats: int) -> Iterator[Row]:
    """Yield the seconds of each query on both engines; raise `AssertionError` where their answers differ."""
    duck = duckdb.connect(config={"threads": _threads()})
    asked: dict[str, tuple[str, Callable[[], list[Any]]]] = {
        "group-by": (_COUNTED, lambda: _counted(spark, folder)), "window": (_BEATS, lambda: _beats(spark, folder)),
    }  # fmt: skip
    for name, (sql, by_spark) in asked.items():
        text = sql.format(folder=folder)
        duck_s, theirs = _fastest(lambda text=text: duck.execute(text).fetchall(), repeats)  # type: ignore[misc]  # a default binds it now
        spark_s, ours = _fastest(by_spark, repeats + 1)
        assert _plain(ours) == _plain(theirs), f"the engines differ on the {name}"
        yield name, duck_s, spark_s


def _counted(spark: SparkSession, folder: Path) -> list[Any]:
    from pyspark.sql import functions as f

    from groupproof.chaos.spark.traces.trace_rows import frame_of

    answers = frame_of(spark, [folder]).where("kind = 'response'")
    return list(answers.groupBy("run", "api", "error").agg(f.count(f.lit(1)), f.avg("at_ns"), f.max("at_ns")).collect())


def _beats(spark: SparkSession, folder: Path) -> list[Any]:
    from groupproof.chaos.spark.analysis.member_queries import HEARTBEATS
    from groupproof.chaos.spark.analysis.query import figures_by
    from groupproof.chaos.spark.analysis.sources import Source, raw_of
    from groupproof.chaos.spark.analysis.tables import Tables

    tables = Tables(raw_of(spark, [Source(path=folder)]), is_repeated=False, keep=lambda _, frame: frame)
    columns = {measure.name: measure.column() for measure in HEARTBEATS.measures}
    figures = figures_by(HEARTBEATS.facts(tables), ("group",), (), list(columns.values())).where("dimension = 'group'")
    order = ("intervals", "interval_ms_mean", "interval_ms_spread", "interval_ms_p50", "interval_ms_p99", "interval_ms_max")
    return list(figures.select("run", "value", *order).collect())


def _fastest(ask: Callable[[], list[Any]], repeats: int) -> tuple[float, list[Any]]:
    """Return the fastest of some calls after a first that warms up, at least for as long as a compiler takes to be done, and what was answered."""
    answer, took = ask(), list[float]()
    while len(took) < repeats or sum(took) < WARM_S:
        began = time.perf_counter()
        answer = ask()
        took.append(time.perf_counter() - began)
    return min(took), answer


def _plain(rows: Iterable[Iterable[Any]]) -> list[tuple[str, ...]]:
    return sorted(tuple(f"{value:.9g}" if isinstance(value, float) else str(value) for value in row) for row in rows)


def _threads() -> int:
    return os.cpu_count() or 1


def main() -> int:
    """Print the times and their ratio; return 1 where Spark takes more than `RATIO_MAX` times as long."""
    from groupproof.chaos.spark.session import session

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        written(Path(folder), options.rows)
        spark = session("groupproof benchmark", master=f"local[{_threads()}]", is_long=True)
        is_fast = True
        for name, duck_s, spark_s in measured(spark, Path(folder), options.repeats):
            share, rate = spark_s / duck_s, options.rows / spark_s / 1e6
            is_fast = is_fast and share <= RATIO_MAX
            print(f"{name:9} DuckDB {duck_s:6.2f} s  Spark {spark_s:6.2f} s  {share:4.1f} x (at most {RATIO_MAX:g})  {rate:.1f} M rows/s", flush=True)
        spark.stop()
    return 0 if is_fast else 1


if __name__ == "__main__":
    sys.exit(main())

"""Compares what Spark and the oracle answer, as rows in any order; figures are the same to nine places."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tests.chaos.spark.analysis.oracle import Oracle, Side

from groupproof.chaos.spark.analysis.queries import QUERIES
from groupproof.chaos.spark.analysis.query import Query, figures_of
from groupproof.chaos.spark.analysis.stream_queries import STREAM
from groupproof.chaos.spark.analysis.tables import Tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["agreed", "kept", "raw_of_sides"]

Facts = dict[str, list[dict[str, Any]]]


def raw_of_sides(spark: SparkSession, sides: Iterable[Side]) -> DataFrame:
    from groupproof.chaos.spark.analysis.sources import Source, raw_of

    return raw_of(spark, [Source(path=path, side=side, release=release) for path, side, release in sides])


def agreed(spark: SparkSession, sides: list[Side], queries: Iterable[Query] = QUERIES) -> Facts:
    """Return every query's facts, which are those of the oracle, as are its figures."""
    oracle = Oracle(sides)
    raw = kept("raw", raw_of_sides(spark, sides).drop("raw"))
    stream_rows = STREAM.facts(Tables(raw, is_repeated=False, keep=kept)).collect()
    tables = Tables(raw, is_repeated=any(row["twice"] for row in stream_rows), keep=kept)
    return {query.name: _agreed(query, tables, oracle) for query in queries}


def kept(_: str, frame: DataFrame) -> DataFrame:
    return frame.localCheckpoint()


def _agreed(query: Query, tables: Tables, oracle: Oracle) -> list[dict[str, Any]]:
    facts = kept(query.name, query.facts(tables))
    figures = figures_of(query, facts)
    rows = facts.collect()
    entries = [row.asDict(recursive=True) for row in rows]
    assert _sorted(tuple(row) for row in rows) == _sorted(oracle.facts(query, facts.columns)), query.name
    assert _sorted(tuple(row) for row in figures.collect()) == _sorted(oracle.figures(query, figures.columns)), f"the figures of {query.name}"
    return entries


def _sorted(rows: Iterable[tuple[Any, ...]]) -> list[tuple[str, ...]]:
    return sorted(tuple(_plain(value) for value in row) for row in rows)


def _plain(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(value)
    try:
        return f"{float(value):.6f}"
    except (TypeError, ValueError):
        return str(value)

"""An analysis from its sources to its results: every query's facts and figures as Parquet, and the summary's part of them."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow.parquet as pq

from groupproof.chaos.spark.analysis.queries import QUERIES
from groupproof.chaos.spark.analysis.query import ALL, CASE, Query, figures_of
from groupproof.chaos.spark.analysis.sources import raw_of, sources_of
from groupproof.chaos.spark.analysis.stream_queries import STREAM
from groupproof.chaos.spark.analysis.tables import Keep, Tables
from groupproof.chaos.spark.traces.trace_rows import readable
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.protocol.schemas import validate
from groupproof.protocol.trace_columns import parquet_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["FACTS", "FIGURES", "ROWS_MAX", "SCHEMA", "QueryResult", "Results", "analyzed", "dumped"]

SCHEMA: Final = "groupproof.analysis/1"
FACTS, FIGURES = "facts", "figures"
"""The folders of the results; each has a folder of Parquet for each query."""

_WORK: Final = ".work"
"""The folder of intermediate tables while queries run."""

ROWS_MAX: Final = 50
"""The maximum rows of each dimension in the summary, the worst first; Parquet has them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryResult:
    """A query's result: its figures, the worst first, and its facts, or None where they are not kept."""

    query: Query
    figures: list[dict[str, Any]]
    facts: list[dict[str, Any]] | None

    def by(self, dimension: str) -> list[dict[str, Any]]:
        return [row for row in self.figures if row["dimension"] == dimension]

    def sum(self, measure: str, **where: Any) -> float:
        """Return the sum of a measure over the rows of the dimension `ALL`."""
        rows = (row for row in self.by(ALL) if all(row[name] == value for name, value in where.items()))
        return sum(row[measure] or 0 for row in rows)

    def to_json(self) -> dict[str, Any]:
        query = self.query
        return {
            "name": query.name,
            "answers": query.answers,
            "facts": None if self.facts is None else len(self.facts),
            "keys": list(query.keys),
            "measures": {measure.name: measure.kind for measure in query.measures},
            "all": [_cut(row) for row in self.by(ALL)],
            "by": {name: [_cut(row) for row in self.by(name)[:ROWS_MAX]] for name in (CASE, *query.by)},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The results of an analysis, by the name of the query."""

    inputs: tuple[str, ...]
    found: dict[str, QueryResult]

    @property
    def is_empty(self) -> bool:
        """Whether the trace has no group."""
        return not (self.found["rebalances"].figures or self.found["requests"].figures)

    def to_json(self) -> dict[str, Any]:
        rebalances = self.found["rebalances"]
        formed, ours, theirs = (int(rebalances.sum(name)) for name in ("formed", "members_only", "coordinator_only"))
        summary = {
            "schema": SCHEMA,
            "inputs": list(self.inputs),
            "stream": {name: int(self.found["stream"].sum(name)) for name in ("rows", "twice", "displaced", "late")},
            "rebalances": {"formed": formed, "members_only": ours, "coordinator_only": theirs},
            "queries": [item.to_json() for item in self.found.values()],
        }
        validate("analysis", summary)
        return summary


def analyzed(spark: SparkSession, paths: Sequence[Path], output: Path, *, say: Callable[[str], None] = lambda _: None) -> Results:
    """Run every query over the traces in `paths` and write its results into `output`.

    Raise `WrongUsage` for a file that is no trace, `BrokenEnvironment` where results cannot be written.
    """
    sources = sources_of(paths)
    with readable(), _writable(output):
        keep = partial(_written, output / _WORK)
        try:
            found = _answered(keep("raw", raw_of(spark, sources).drop("raw")), output, keep, say)
        finally:
            shutil.rmtree(output / _WORK, ignore_errors=True)
    return Results(inputs=tuple(str(path) for path in paths), found=found)


def _answered(raw: DataFrame, output: Path, keep: Keep, say: Callable[[str], None]) -> dict[str, QueryResult]:
    plain = Tables(raw, is_repeated=False, keep=keep)
    say(f"{STREAM.name} …")
    stream = _run(STREAM, plain, output)
    tables = Tables(raw, is_repeated=stream.sum("twice") > 0, keep=keep)
    found = {}
    for query in QUERIES:
        if query is not STREAM:
            say(f"{query.name} …")
        found[query.name] = stream if query is STREAM else _run(query, tables, output)
    return found


def _run(query: Query, tables: Tables, output: Path) -> QueryResult:
    """Write a query's facts and figures, and read them back: they are small for a trace of any size."""
    facts, kept = query.facts(tables), None
    if query.is_kept:
        facts = _written(output / FACTS, query.name, facts)
        kept = _read(output / FACTS / query.name)
    _written(output / FIGURES, query.name, figures_of(query, facts))
    figures = _read(output / FIGURES / query.name)
    return QueryResult(query=query, figures=sorted(figures, key=lambda row: _order(query, row)), facts=kept)


def _written(folder: Path, name: str, frame: DataFrame) -> DataFrame:
    frame.write.mode("overwrite").parquet(str(folder / name))
    return frame.sparkSession.read.schema(frame.schema).parquet(str(folder / name))


def _read(folder: Path) -> list[dict[str, Any]]:
    rows = [row for file in parquet_files(folder) for row in pq.ParquetFile(file).read().to_pylist()]
    return [{name: None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()} for row in rows]


def _order(query: Query, row: dict[str, Any]) -> tuple[Any, ...]:
    worst = row[query.worst] if query.worst in row else row[query.measures[0].name]
    return (-(worst or 0), *(str(row[name]) for name in ("value", "run", "case", *query.keys)))


def _cut(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row without the columns that its dimension leaves empty."""
    is_one = row["dimension"] == ALL
    return {name: value for name, value in row.items() if name != "dimension" and not (value is None and name in ("value", "run", "case") and is_one)}


_FULL: Final = re.compile(r"No space left on device|Permission denied|Read-only file system|Not a directory|Mkdirs failed[^\n]*|Disk quota exceeded")


@contextmanager
def _writable(output: Path) -> Iterator[None]:
    """Turn Spark's errors of writing results into one line."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except OSError as error:
        raise BrokenEnvironment(f"can't write the analysis to {output}: {error.strerror or error}; choose another --output") from error
    except (PySparkException, Py4JError) as error:
        if (match := _FULL.search(str(error))) is None:
            raise
        raise BrokenEnvironment(f"can't write the analysis to {output}: {match[0]}; choose another --output") from error


def dumped(results: Results) -> str:
    """Return the summary as text."""
    return json.dumps(results.to_json(), ensure_ascii=False, indent=1) + "\n"

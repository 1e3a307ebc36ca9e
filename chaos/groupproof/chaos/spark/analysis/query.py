"""A query as data: its question, its facts, and their figures by each dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from groupproof.chaos.spark.analysis.tables import RUN, Tables

__all__ = ["ALL", "CASE", "DIMENSIONS", "KINDS", "Measure", "Query", "figures_of"]

ALL: Final = "all"
CASE: Final = "case"
DIMENSIONS: Final = ("group", "client", "release", "member")
"""The columns that group figures, beside all rows and each run of a case. Only a release is the same in every run."""

KINDS: Final = ("count", "distinct", "sum", "max", "mean", "p50", "p99", "spread")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A figure: a `kind` of KINDS over a column, or over an expression of the facts' columns; `spread` is the standard deviation."""

    name: str
    kind: str
    of: str = "1"

    def column(self) -> Column:
        of = f.expr(self.of)
        made = {
            "count": lambda: f.count(of),
            "distinct": lambda: f.count_distinct(of),
            "sum": lambda: f.sum(of),
            "max": lambda: f.max(of),
            "mean": lambda: f.avg(of),
            "p50": lambda: f.percentile(of, 0.5),
            "p99": lambda: f.percentile(of, 0.99),
            "spread": lambda: f.stddev_pop(of),
        }
        return made[self.kind]().alias(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """`facts` finds one row for each item of `answers`; `by` are its dimensions, `keys` columns that always split figures.

    `worst` is the measure that orders rows. `is_kept` says whether the facts are results too, or so many that only figures are.
    """

    name: str
    answers: str
    facts: Callable[[Tables], DataFrame]
    measures: tuple[Measure, ...]
    worst: str
    by: tuple[str, ...] = DIMENSIONS
    keys: tuple[str, ...] = ()
    is_kept: bool = True


def figures_of(query: Query, facts: DataFrame) -> DataFrame:
    """Return the measures of facts: for all, for each run of a case, and for each value of each dimension.

    `dimension` and `value` name the rows' group; `run` and `case` are set where it belongs to one run. An unknown value is null.
    """
    return figures_by(facts, query.by, query.keys, [measure.column() for measure in query.measures])


def figures_by(facts: DataFrame, by: Sequence[str], keys: Sequence[str], measures: Sequence[Column]) -> DataFrame:
    levels = [[*keys], [*RUN, *keys], *([*(() if name == "release" else RUN), name, *keys] for name in by)]
    named = [*RUN, *by, *keys]
    figures = facts.groupingSets([[f.col(f"`{name}`") for name in level] for level in levels], *(f.col(f"`{name}`") for name in named)).agg(
        *measures, *(f.grouping(f.col(f"`{name}`")).alias(f"no_{name}") for name in (*by, "run"))
    )
    dimension, value = f.when(f.col("no_run") == 1, ALL).otherwise(CASE), f.lit(None).cast("string")
    for text in by:
        dimension = f.when(f.col(f"no_{text}") == 0, text).otherwise(dimension)
        value = f.when(f.col(f"no_{text}") == 0, f.col(f"`{text}`")).otherwise(value)
    rows = figures.withColumn("dimension", dimension).withColumn("value", value)
    return rows.select(
        "dimension", "value", *RUN, *keys, *(column for column in figures.columns if column not in named and not column.startswith("no_"))
    )

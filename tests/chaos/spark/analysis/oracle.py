"""DuckDB as the oracle of the queries: `oracle.sql` over the same observations, and figures of its facts by plain GROUP BYs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import duckdb
from duckdb.func import SPECIAL

from groupproof.chaos.spark.analysis.query import Query
from groupproof.harness.judging.diagnosis.causes import Cause
from groupproof.harness.judging.diagnosis.reasons import cause_of_client_reason, reason_of

__all__ = ["Oracle", "Side"]

_TAKEN: Final = {
    "count": "count({})", "distinct": "count(DISTINCT {})", "sum": "sum({})", "max": "max({})", "mean": "avg({})", "p50": "quantile_cont({}, 0.5)",
    "p99": "quantile_cont({}, 0.99)", "spread": "stddev_pop({})",
}  # fmt: skip

Side = tuple[Path, str, str | None]
"""A file of Parquet, the side of a load that it is of, and the release that the load tells."""


def _cause(reason: str | None, own: str | None, is_initial: bool | None) -> str:
    text = reason or ""
    entry = reason_of(text if own is None or "; client reason:" in text else f"{text}; client reason: {own}")
    if entry is None or entry.cause is Cause.NEW_MEMBER:
        return (Cause.FIRST_MEMBER if is_initial else Cause.UNREPORTED if entry is None else Cause.NEW_MEMBER).value
    finer = cause_of_client_reason(entry.client)
    if entry.cause is Cause.LEFT:
        return (finer or Cause.LEFT).value
    if entry.cause in (Cause.LEADER_REJOINED, Cause.METADATA) and finer in (Cause.HANDOVER, Cause.PARTITIONS, Cause.SUBSCRIPTION):
        return finer.value
    return entry.cause.value


def _left(text: str | None) -> str:
    return (cause_of_client_reason(text) or Cause.LEFT).value


class Oracle:
    """Answers the queries over Parquet files."""

    def __init__(self, sides: Sequence[Side]) -> None:
        self._duck = duckdb.connect()
        text, flag = duckdb.sqltypes.VARCHAR, duckdb.sqltypes.BOOLEAN
        self._duck.create_function("cause_of", _cause, [text, text, flag], text, null_handling=SPECIAL)
        self._duck.create_function("left_because", _left, [text], text, null_handling=SPECIAL)
        parts = " UNION ALL BY NAME ".join(self._read(*side) for side in sides)
        self._duck.execute(f"CREATE TABLE trace AS {parts}")
        self._duck.execute((Path(__file__).parent / "oracle.sql").read_text())

    @staticmethod
    def _read(file: Path, side: str, release: str | None) -> str:
        text = "NULL::VARCHAR" if release is None else f"'{release}'"
        return f"SELECT *, filename AS file, file_row_number AS pos, '{side}' AS side, {text} AS source_release FROM read_parquet('{file}', filename = true, file_row_number = true)"

    def facts(self, query: Query, columns: Iterable[str]) -> list[tuple[Any, ...]]:
        return self.rows(f"facts {query.name}", columns)

    def rows(self, table: str, columns: Iterable[str]) -> list[tuple[Any, ...]]:
        named = ", ".join(f'"{name}"' for name in columns)
        return self._duck.execute(f'SELECT {named} FROM "{table}"').fetchall()

    def figures(self, query: Query, columns: Iterable[str]) -> list[tuple[Any, ...]]:
        """Return each level's figures, by a GROUP BY of its own."""
        parts = [self._level(query, "all", ()), self._level(query, "case", ("run", "case"))]
        parts += [self._level(query, name, ("release",) if name == "release" else ("run", "case", name)) for name in query.by]
        named = ", ".join(f'"{name}"' for name in columns)
        return self._duck.execute(f"SELECT {named} FROM ({' UNION ALL BY NAME '.join(parts)})").fetchall()

    def _level(self, query: Query, dimension: str, by: tuple[str, ...]) -> str:
        measures = [f"{_TAKEN[measure.kind].format(self._sql(measure.of))} AS {measure.name}" for measure in query.measures]
        value = f'"{dimension}"' if dimension in query.by else "NULL"
        runs = [f'"{name}"' if name in by else f'NULL AS "{name}"' for name in ("run", "case")]
        keys = [f'"{name}"' for name in query.keys]
        grouped = ", ".join([*(f'"{name}"' for name in by), *keys])
        text = f"SELECT '{dimension}' AS dimension, {value} AS value, {', '.join([*runs, *keys, *measures])} FROM \"facts {query.name}\""
        return f"({text} GROUP BY {grouped})" if grouped else f"({text} HAVING count(*) > 0)"

    @staticmethod
    def _sql(of: str) -> str:
        """Return what Spark's measure is of in DuckDB's words."""
        return re.sub(r"^int\((.*)\)$", r"CAST(\1 AS INT)", of).replace("`", '"').replace("struct(", "row(")

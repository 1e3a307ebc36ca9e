"""Reads the museum's rows from the shipped file or another of the same form."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from groupproof.harness.cases.catalogue import DIALECT_CAPABILITIES, cases_of
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.model.museum_row import MuseumRow
from groupproof.harness.model.selection import nearest
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.schemas import SchemaError, validate

__all__ = ["ROWS", "load_rows", "select_rows"]

ROWS: Final = Path(str(files("groupproof.harness"))) / "museum.toml"
"""The shipped rows."""

_VERDICTS: Final = ("verdict", "then")
_SIDES: Final = ("client", "coordinator")


def load_rows(path: Path = ROWS) -> tuple[MuseumRow, ...]:
    """Return the rows of a file; raise `WrongUsage` for an invalid file, a duplicate name or a case that does not exist."""
    try:
        value = tomllib.loads(path.read_text(encoding="utf-8"))
        validate("museum", value)
    except OSError as error:
        raise WrongUsage(f"can't read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, SchemaError) as error:
        raise WrongUsage(f"{path} holds no rows of the museum: {error}") from error
    rows = tuple(_row(table) for table in value["row"])
    _check(path, rows)
    return rows


def select_rows(rows: Sequence[MuseumRow], only: Sequence[str]) -> tuple[MuseumRow, ...]:
    """Return the rows that match the patterns, all without a pattern; raise `WrongUsage` for a pattern that matches no row."""
    for pattern in only:
        if not any(row.is_meant(pattern) for row in rows):
            names = [name for row in rows for name in (row.name, row.subject, row.case)]
            raise WrongUsage(f"{pattern!r} is no row's name, client, coordinator or case{nearest(pattern, names)}; see groupproof museum --list")
    return tuple(row for row in rows if not only or any(row.is_meant(pattern) for pattern in only))


def _row(table: dict[str, Any]) -> MuseumRow:
    side = next(side for side in _SIDES if side in table)
    fields: dict[str, Any] = {key: Verdict(value) if key in _VERDICTS else value for key, value in table.items() if key != side}
    return MuseumRow(subject=table[side], side=side, **fields)


def _check(path: Path, rows: Sequence[MuseumRow]) -> None:
    ids = {side: {case.id for case in cases_of(side, DIALECT_CAPABILITIES)} for side in _SIDES}
    for number, row in enumerate(rows):
        if row.case not in ids[row.side]:
            raise WrongUsage(f"{path}: {row.name} names the case {row.case}, which does not exist{nearest(row.case, ids[row.side])}")
        if any(row.name == other.name for other in rows[:number]):
            raise WrongUsage(f"{path}: there are two rows called {row.name}")

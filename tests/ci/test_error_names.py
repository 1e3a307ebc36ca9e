"""Kafka's error names in the shim libraries: written from the one list, and held against it."""

from __future__ import annotations

import re

import error_names
import pytest
from error_names import TABLES, ErrorTable

from groupproof.protocol.vocabulary import ErrorCode

each_table = pytest.mark.parametrize("table", TABLES, ids=lambda table: table.path.name)


@each_table
def test_every_error_stands_in_the_table_once_and_no_other(table: ErrorTable) -> None:
    found = re.findall(r"(-?\d+)\D+?([A-Z][A-Z_]+)", table.text())

    assert [(int(code), name) for code, name in found] == [(code.value, code.name) for code in ErrorCode if code is not ErrorCode.NONE]


@each_table
def test_what_is_named_takes_the_place_of_what_was_and_of_nothing_else(table: ErrorTable) -> None:
    source = f"before\n{table.begins}an old table{table.ends}after\n"
    made = error_names.written(source, table)

    assert made == source.replace("an old table", table.text())
    assert error_names.written(made, table) == made
    with pytest.raises(ValueError, match=r"has lost the lines"):
        error_names.written("before\n", table)


def test_the_tables_are_current() -> None:
    assert error_names.main(["--check"]) == 0


def test_a_table_that_is_not_current_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(error_names, "CODES", error_names.CODES[:-1])

    assert error_names.main(["--check"]) == 1
    assert capsys.readouterr().err.count("run: make docs") == len(TABLES)

from __future__ import annotations

from groupproof.protocol.documents.markdown import generated, row, table


def test_a_bar_in_a_cell_does_not_end_it() -> None:
    assert row("a|b", "c") == "| a\\|b | c |"


def test_a_table_has_a_head_a_rule_its_rows_and_an_empty_line() -> None:
    assert list(table(("x", "y"), [("1", "2")])) == ["| x | y |", "| --- | --- |", "| 1 | 2 |", ""]


def test_a_generated_document_says_how_it_is_made() -> None:
    assert "make docs" in generated("a.py")

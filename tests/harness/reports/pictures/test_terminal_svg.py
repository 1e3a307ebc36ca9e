"""A terminal as a picture: the text is in it, the same text is the same picture, and it loads nothing."""

from __future__ import annotations

from xml.etree import ElementTree

from rich.table import Table

from groupproof.harness.reports.pictures.terminal_svg import terminal_svg


def _table(cell: str) -> Table:
    table = Table("group")
    table.add_row(cell)
    return table


def test_what_is_shown_stands_in_the_picture_and_nothing_is_loaded() -> None:
    drawn = terminal_svg(_table("pay<b>ments"), "groupproof watch")

    text = "".join(ElementTree.fromstring(drawn).itertext())
    assert "pay<b>ments" in text
    assert "groupproof\N{NO-BREAK SPACE}watch" in text
    assert "url(http" not in drawn
    assert 'url("http' not in drawn


def test_the_same_text_is_the_same_picture() -> None:
    assert terminal_svg("a", "b") == terminal_svg("a", "b") != terminal_svg("c", "b")

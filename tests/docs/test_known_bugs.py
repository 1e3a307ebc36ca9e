"""The page of the forty known bugs of KIP-848 says what the museum has: every row that it names is there, and its figures are counted."""

from __future__ import annotations

import functools
import re
from collections import Counter

import pytest
from tests.project import ROOT

from groupproof.harness.model.museum_row import MuseumRow
from groupproof.harness.running.museum.museum_rows import load_rows

PAGE = "docs/reviews/known-bugs-of-kip-848.md"
LINE = re.compile(r"^\| ([\w-]+) \| (?P<bug>[^|]+) \| [^|]+ \| (?P<fate>shown|cannot be shown|open): (?P<reason>.+) \|$")
BUGS_COUNT = 40
WORDS_MIN = 4
PROGRAMS = {"librdkafka": "confluent-kafka"}
"""Whose releases a row names, where that is a binding."""


def text() -> str:
    return (ROOT / PAGE).read_text(encoding="utf-8")


def lines_of(page: str) -> list[re.Match[str]]:
    return [found for line in page.splitlines() if (found := LINE.match(line))]


@functools.cache
def rows() -> dict[str, MuseumRow]:
    return {row.name: row for row in load_rows()}


def wrong_lines(page: str) -> list[str]:
    """Return the lines that say what the museum does not have, or give no reason."""
    museum = rows()
    return [
        line[0]
        for line in lines_of(page)
        if (line["fate"] == "shown" and not _names_a_row(line, museum)) or (line["fate"] != "shown" and len(line["reason"].split()) < WORDS_MIN)
    ]


def _names_a_row(line: re.Match[str], museum: dict[str, MuseumRow]) -> bool:
    row = museum.get(line["reason"].strip("`"))
    return row is not None and row.subject == PROGRAMS.get(line[1], line[1])


def sentence_of(page: str) -> str:
    fates = Counter(line["fate"] for line in lines_of(page))
    return f"{fates['shown']} of the {fates.total()} are shown, {fates['cannot be shown']} cannot be shown here, and {fates['open']} are open."


def test_each_of_the_forty_has_a_line_of_its_own() -> None:
    bugs = [(line[1], line["bug"]) for line in lines_of(text())]

    assert len(bugs) == len(set(bugs)) == BUGS_COUNT
    assert len(bugs) == text().count("\n| ") - 2  # without the head and what rules it off


def test_what_is_shown_is_a_row_of_that_program() -> None:
    assert wrong_lines(text()) == []


def test_the_figures_are_those_of_the_table() -> None:
    assert sentence_of(text()) in text()


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("| shown: `java-fenced-for-good` |", "| shown: `no-such-row` |"),
        ("| java | KAFKA-16165", "| franz-go | KAFKA-16165"),
        ("open: no release has the mend", "open: later"),
    ],
)
def test_a_line_that_is_wrong_is_noticed(wrong: str, right: str) -> None:
    assert wrong in text()
    assert len(wrong_lines(text().replace(wrong, right))) == 1

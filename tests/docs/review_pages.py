"""The pages that go through what clients did, verdict by verdict, read by their form.

An expectations file names the pages of its client in its head. A row is a line of a page; it is about a client unless a heading above it names other
registered clients alone. A row names cases by their ids, in short forms too: an id may be followed by others of the same area and dialect
(`join/classic/no-bytes`, `two-members`), several areas may share what follows (`join`, `sync` `/classic/no-bytes`), and `*` and `{one, other}`
stand for what they stand for in a shell.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import filter as fitting
from functools import cache
from itertools import takewhile
from pathlib import Path

from groupproof.clients.registry.registered_clients import EXPECTATIONS, registered

__all__ = ["Row", "about", "named_in", "pages_of", "rows_of"]

_REVIEW = re.compile(r"docs/reviews/[\w-]+\.md")
_HEADING = re.compile(r"(#+) (.*)")
_TOKEN = re.compile(r"`([^`\n]+)`")
_CHOICE = re.compile(r"\{([^{}]*)\}")
_AREA = re.compile(r"[a-z]+")
_PLACE = re.compile(
    r"\w\.(?:py|go|rs|js|ts|c|h|java)\b"  # a file of the client's
    r"|\((?:[a-z]+, )?(?:line )?\d{2,5}\)|`:\d{2,5}`|\blines? \d{2,5}"  # a line of one that is named above
    r"|`[#_.]?\w*(?:[a-z][A-Z]|_[a-z])\w*[`.(]"  # a function
    r"|\]\((?:\.\./findings/)?[\w-]+\.md"  # another page, which has it
)
"""What tells a reader where to look in the client's source."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a page, with the headings above it but the page's own."""

    page: str
    headings: tuple[str, ...]
    text: str

    @property
    def has_place(self) -> bool:
        return _PLACE.search(self.text) is not None


def pages_of(client: str, folder: Path = EXPECTATIONS) -> tuple[str, ...]:
    """Return the review pages that the head of the client's expectations file names."""
    head = takewhile(lambda line: line.startswith("#"), (folder / f"{client}.toml").read_text("utf-8").splitlines())
    return tuple(dict.fromkeys(page for line in head for page in _REVIEW.findall(line)))


def rows_of(page: str, text: str) -> Iterator[Row]:
    """Yield the rows of a page's text."""
    above: list[str] = []
    for line in text.splitlines():
        if heading := _HEADING.fullmatch(line):
            above[len(heading[1]) - 1 :] = [heading[2]]
        elif line.strip():
            yield Row(page, tuple(above[1:]), line)


def about(client: str, rows: Sequence[Row]) -> list[Row]:
    """Return the rows that are about the client."""
    return [row for row in rows if not (named := _clients_in(" ".join(row.headings))) or client in named]


@cache
def _clients_in(text: str) -> frozenset[str]:
    return frozenset(name for name, spelling in _spellings() if spelling.search(text))


@cache
def _spellings() -> tuple[tuple[str, re.Pattern[str]], ...]:
    words = [(client.name, word) for client in registered() for word in {client.name, *client.aliases}]
    return tuple((name, re.compile(rf"(?<![\w/@-]){re.escape(word)}(?![\w/-])")) for name, word in words)


def named_in(text: str, cases: Collection[str]) -> frozenset[str]:
    """Return those of `cases` that a row names."""
    found: set[str] = set()
    areas: list[str] = []
    stems: list[str] = []
    for token in _TOKEN.findall(text):
        if "/" in token:
            heads = areas if token.startswith("/") else [""]
            ids = [f"{head}{token}" for head in heads]
            stems, areas = [id.rpartition("/")[0] for id in ids], []
        else:
            ids = [f"{stem}/{token}" for stem in stems]
            areas = [*areas, token] if _AREA.fullmatch(token) else []
        found.update(case for pattern in _spelt_out(ids) for case in fitting(cases, pattern))
    return frozenset(found)


def _spelt_out(patterns: Sequence[str]) -> Iterator[str]:
    """Yield each pattern, for each of its choices."""
    for pattern in patterns:
        if choice := _CHOICE.search(pattern):
            yield from _spelt_out([f"{pattern[: choice.start()]}{one.strip()}{pattern[choice.end() :]}" for one in choice[1].split(",")])
        else:
            yield pattern

"""Print the museum's rows into `docs/museum.md`. Run by `make docs`; with `--check` nothing is written, and the exit status is 1 where the page is not current."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from groupproof.harness.model.museum_row import NEWEST_PROFILE, MuseumRow
from groupproof.harness.running.museum.museum_rows import load_rows

__all__ = ["PAGE", "main", "table", "written"]

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs/museum.md"
BEGINS: Final = "<!-- Printed by `make docs`. Do not edit. -->\n\n"
ENDS: Final = "\n<!-- End of what is printed. -->\n"

_PLACE: Final = re.compile(r"https://github\.com/[^/]+/[^/]+/(?:(?:pull|issues)/(\d+)|commit/([0-9a-f]{7})|compare/(.+))")


def table(rows: Sequence[MuseumRow]) -> str:
    """Return the rows, those of a program under its name."""
    red = sum(row.verdict.value == "FAILED" for row in rows)
    sources, programs = len({row.source for row in rows}), len({row.subject for row in rows})
    order = list(dict.fromkeys(row.subject for row in rows))
    parts = [f"{len(rows)} rows of {programs} programs, from {sources} sources; {red} are `FAILED` with the bug, {len(rows) - red} `NON_STRICT`.\n"]
    for subject, group in groupby(sorted(rows, key=lambda row: order.index(row.subject)), key=lambda row: row.subject):
        parts += [f"\n## {subject}\n\n", "| Bug | Case | With it | Without it |\n", "| --- | --- | --- | --- |\n", *map(_line, group)]
    return "".join(parts)


def _line(row: MuseumRow) -> str:
    how = "before" if row.side == "client" else "judged by"
    before = "" if row.profile == NEWEST_PROFILE else f", {how} {row.profile}"
    note = f" {row.note}" if row.note else ""
    verdict = f"{row.buggy} {row.verdict.value}: {row.observed}"
    return f"| {row.title} ([{_short(row.source)}]({row.source}).{note}) | `{row.case}`{before} | {verdict} | {row.fixed} {row.then.value} |\n"


def _short(source: str) -> str:
    """Return how a link is written: the number of an issue, the beginning of a commit, the releases compared."""
    found = _PLACE.match(source)
    if found is None:
        return source.rpartition("/")[2]
    number, commit, releases = found.groups()
    return f"#{number}" if number else commit or releases


def written(page: str) -> str:
    """Return the page with the rows as they are now; raise `ValueError` where it has no place for them."""
    before, begins, rest = page.partition(BEGINS)
    _, ends, after = rest.partition(ENDS)
    if not begins or not ends:
        raise ValueError(f"{PAGE.name} has lost the lines {BEGINS.strip()} and {ENDS.strip()}, between which the rows are printed")
    return before + BEGINS + table(load_rows()) + ENDS + after


def main(arguments: list[str]) -> int:
    """Print the rows, or with `--check` compare; return the exit status."""
    page = PAGE.read_text("utf-8")
    now = written(page)
    if "--check" not in arguments:
        PAGE.write_text(now, "utf-8")
    elif now != page:
        print(f"{PAGE.relative_to(ROOT)} does not have the museum's rows; run: make docs", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

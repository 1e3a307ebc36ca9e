"""Bring the figures that pages tell of the catalogue and its cases up to date (`make docs`); with `--check` say which are not."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final

from groupproof.harness.cases.catalogue import cases_of
from groupproof.harness.judging.summary.grade import required_of
from groupproof.protocol.rules.coverage import SIDES, judged
from groupproof.protocol.rules.requirements import requirements

__all__ = ["PAGES", "corrected", "figures", "main"]

ROOT: Final = Path(__file__).parents[1]
PAGES: Final = (ROOT / "README.md", ROOT / "docs/site/broker.md", *sorted((ROOT / "docs/site/client").glob("*.md")))


def figures() -> Mapping[str, int]:
    """Return what stands where: a pattern whose one group is the figure, and the figure."""
    required = len(required_of(cases_of("client"), "info"))
    counts = {side: len(cases_of(side)) for side in SIDES}
    return {
        r"\bPARTIAL 1/(\d+)\b": required,
        r"\b(\d+) cases that level info requires were left out": required - 1,
        r"\bThere are (\d+) client cases": counts["client"],
        r"\bThere are (\d+) coordinator cases": counts["coordinator"],
        r"\b(\d+) of them are required for a grade": required,
        r"\b(\d+) rules, each with its source": len(requirements()),
        r"\b(\d+) of them are judged by name in a client or a coordinator": len({*judged()["client"], *judged()["coordinator"]}),
    }


def corrected(text: str) -> str:
    """Return the text with the figures as they are now."""
    for pattern, figure in figures().items():
        text = re.sub(pattern, partial(_with, figure=figure), text)
    return text


def _with(found: re.Match[str], figure: int) -> str:
    begin, end = (number - found.start() for number in found.span(1))
    return f"{found[0][:begin]}{figure}{found[0][end:]}"


def main(arguments: list[str]) -> int:
    """Write the figures, or with `--check` compare; return the exit status."""
    stale = [page for page in PAGES if corrected(page.read_text()) != page.read_text()]
    for page in stale:
        if "--check" in arguments:
            print(f"{page.relative_to(ROOT)} has figures that are not current; run: make docs", file=sys.stderr)
        else:
            page.write_text(corrected(page.read_text()))
    return int(bool(stale) and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Count the bugs planted in the reference member and in the reference coordinator, and what the cases say to them, into `tests/power/README.md`.

The tests of power prove each line of the tables counted here: that the case named for a bug tells of it, and that no bug is left out. Run by
`make docs`; with `--check` nothing is written, and the exit status is 1 where the page is not current.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from groupproof.clients.planted import member_variants
from groupproof.coordinator.planted import variants as coordinator_variants

__all__ = ["PAGE", "PlantedCount", "main", "planted", "written"]

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "tests/power/README.md"
BEGINS: Final = "<!-- Counted by `make docs`. Do not edit. -->\n\n"
ENDS: Final = "\n<!-- End of what is counted. -->\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedCount:
    """How many bugs are planted `where`, how many a case fails, how many it merely reports, and how many legal variants there are."""

    where: str
    bugs: int
    failed: int
    reported: int
    legal: int

    @property
    def line(self) -> str:
        silent = self.bugs - self.failed - self.reported
        return f"| {self.where} | {self.bugs} | {self.failed} | {self.reported} | {silent} | {self.legal} |"


def planted() -> list[PlantedCount]:
    """Count by the tables of power."""
    return [
        _counted(
            "reference member",
            "caught.toml",
            "misbehaviours",
            {misbehaviour.name for misbehaviour in member_variants.MISBEHAVIOURS},
            len(member_variants.LEGAL),
        ),
        _counted(
            "reference member, in the consumer protocol",
            "caught_of_epochs.toml",
            "misbehaviours",
            {misbehaviour.name for misbehaviour in member_variants.EPOCH_BUGS},
            len(member_variants.LEGAL_EPOCHS),
        ),
        _counted(
            "reference coordinator",
            "caught_of_coordinators.toml",
            "bugs",
            {bug.name for bug in (*coordinator_variants.BUGS, *coordinator_variants.OF_OTHER_DIALECTS)},
            len(coordinator_variants.LEGAL),
        ),
    ]


def _counted(where: str, table: str, failed: str, names: Set[str], legal: int) -> PlantedCount:
    fields = tomllib.loads((PAGE.parent / table).read_text())
    return PlantedCount(
        where=where,
        bugs=len(names),
        failed=len((fields[failed] | fields.get("later", {})).keys() & names),
        reported=len(fields["reported"]),
        legal=legal,
    )


def written(page: str) -> str:
    """Return the page with the counts as they are now; raise `ValueError` where it has no place for them."""
    before, begins, rest = page.partition(BEGINS)
    _, ends, after = rest.partition(ENDS)
    if not begins or not ends:
        raise ValueError(f"{PAGE.name} has lost the lines {BEGINS.strip()} and {ENDS.strip()}, between which the planted bugs are counted")
    head = [
        "| planted in the | bugs | failed by a case | reported by one | shown by none, with the reason | legal variants, failed by none |",
        "|" + " --- |" * 6,
    ]
    return before + BEGINS + "\n".join([*head, *(item.line for item in planted())]) + "\n" + ENDS + after


def main(arguments: list[str]) -> int:
    """Write the counts, or with `--check` compare; return the exit status."""
    page = PAGE.read_text()
    now = written(page)
    if "--check" not in arguments:
        PAGE.write_text(now)
    elif now != page:
        print(f"{PAGE.relative_to(ROOT)} does not count the planted bugs there are; run: make docs", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

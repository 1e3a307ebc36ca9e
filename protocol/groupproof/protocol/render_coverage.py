"""The coverage of the catalogue as a document: how much of each section has a witness, and what is missing and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from groupproof.protocol.markdown import generated, table
from groupproof.protocol.spec.coverage import READINGS, Gap, cited, gaps, witnesses
from groupproof.protocol.spec.requirements import requirements

__all__ = ["coverage_markdown"]

_HEAD: Final = """\
# What of the catalogue is proven

{count} of {all} [requirements](requirements.md) have a witness: a test that carries the requirement's id and fails if the rule is not met. So have {readings} of the {all_readings} [readings](../discrepancies.md) of sources
that contradict each other. The count never falls: an id that loses its last witness fails `make check`. `groupproof list --coverage` prints the same, with the cases; `--json` names every witness.
"""


def coverage_markdown() -> str:
    """Return the counts by section, then what has no witness, by reason."""
    proven = witnesses()
    count = sum(each.id in proven for each in requirements())
    readings = len(proven.keys() & set(READINGS))
    lines = [generated("witnesses.json and unwitnessed.toml"), ""]
    lines += [_HEAD.format(count=count, all=len(requirements()), readings=readings, all_readings=len(READINGS))]
    lines += table(("section", "requirements", "with a witness", "with a rule of the tables"), _sections())
    lines += ["## Without a witness", ""]
    if not gaps():
        lines += ["Nothing.", ""]
    for gap in gaps():
        lines += [f"**{len(gap.ids)}, for want of {gap.needs}.** {gap.why}", "", _ids(gap), ""]
    return "\n".join(lines).rstrip() + "\n"


def _sections() -> Iterator[tuple[str, ...]]:
    for area, of_area in groupby(requirements(), key=lambda each: each.area):
        ids = {each.id for each in of_area}
        yield (area, str(len(ids)), str(len(ids & witnesses().keys())), str(len(ids & cited().keys())))


def _ids(gap: Gap) -> str:
    """Return the ids, those of a family that follow each other as a range."""
    return ", ".join(_range(list(run)) for _, run in groupby(gap.ids, key=lambda each: each.rpartition("-")[0]))


def _range(run: Sequence[str]) -> str:
    return run[0] if len(run) == 1 else f"{run[0]} to {run[-1]} ({len(run)})" if len(run) > 4 else ", ".join(run)

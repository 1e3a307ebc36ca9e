"""Print the page of the public incidents, `docs/site/incidents.md`, from their simulations. Run by `make docs`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from groupproof.harness.reports.texts.incident_text import incident_lines
from groupproof.harness.simulation.rehearsal.incident_run import run_incident
from groupproof.harness.simulation.rehearsal.incidents import INCIDENTS, Incident

__all__ = ["PAGE", "page_of", "section"]

PAGE: Final = Path(__file__).parents[1] / "docs/site/incidents.md"

_HEAD: Final = """<!-- Printed by `make docs`. Do not edit. -->

# Public incidents

Groups that rebalanced for hours, stood still, or did their work twice: what was reported in public, as simulations. Each is settings and behaviour as data. It runs in virtual time, and its trace goes through `groupproof trace explain`; the records that its coordinator
would have stored go through the analysis of [`groupproof watch`](watch.md). Then it runs again with what would have prevented it. A test holds that the incident occurs, that the diagnosis names the cause, and that the remedy prevents it.

*Modelled* says what the simulation does: the cause that the report names, in a group of the reference members, not the client of the report itself. Its times are of the simulation. To rehearse settings of your own, see [Rehearse your settings](rehearse.md).

```console
$ groupproof list incidents
$ groupproof rehearse --incident zombie-commits
```
"""


def section(incident: Incident) -> str:
    """Return what the page says of one incident."""
    _, *lines = incident_lines(run_incident(incident), run_incident(incident, with_remedy=True))
    rows = "".join(f"| {line[2:12].strip()} | {line[12:]} |\n" for line in lines)
    return f"\n## {incident.name}\n\n[The report]({incident.url})\n\n| | |\n| --- | --- |\n{rows}"


def page_of(incidents: Iterable[Incident]) -> str:
    return _HEAD + "".join(map(section, incidents))


if __name__ == "__main__":
    PAGE.write_text(page_of(INCIDENTS.values()), encoding="utf-8")

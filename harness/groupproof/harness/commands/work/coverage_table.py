"""`groupproof list --coverage`: how many requirements have a witness, a rule, and a case that judges them, and which lack one and why."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable, Mapping
from itertools import groupby
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from groupproof.protocol.rules.coverage import READINGS, SIDES, cited, everything, gaps, judged, listed, unjudged, witnesses
from groupproof.protocol.rules.requirements import requirements

__all__ = ["coverage", "print_coverage"]

_WIDTH_OF_PIPES: Final = 10_000  # without a terminal nothing is folded or cut


def coverage() -> dict[str, Any]:
    """Return the counts by section, the gaps with their reasons, and each requirement's witnesses, rules and cases."""
    proven, rules, by_client, by_coordinator = witnesses(), cited(), judged()["client"], judged()["coordinator"]
    sections = [_section(name, {row.id for row in rows}) for name, rows in groupby(requirements(), key=lambda requirement: requirement.area)]
    return {
        "requirements": sum(section["requirements"] for section in sections),
        "witnessed": sum(section["witnessed"] for section in sections),
        "judged": {"client": len(by_client), "coordinator": len(by_coordinator), "either": len({*by_client, *by_coordinator})},
        "readings": len(READINGS),
        "readings_witnessed": len(proven.keys() & set(READINGS)),
        "sections": sections,
        "missing": [{"needs": gap.needs, "why": gap.why, "ids": list(gap.ids)} for gap in gaps()],
        "unjudged": [{"needs": gap.needs, "why": gap.why, "ids": list(gap.ids)} for gap in unjudged()],
        "by_id": {
            name: {
                "witnesses": list(proven.get(name, ())),
                "rules": list(rules.get(name, ())),
                "cases": [*by_client.get(name, ()), *by_coordinator.get(name, ())],
                "listed_by": [case for side in SIDES for case in listed()[side].get(name, ())],
            }
            for name in everything()
        },
    }


def _section(name: str, ids: Collection[str]) -> dict[str, Any]:
    counted = {"witnessed": witnesses(), "by_rule": cited(), "judged_in_client": judged()["client"], "judged_in_coordinator": judged()["coordinator"]}
    return {"section": name, "requirements": len(ids), **{key: len(ids & of.keys()) for key, of in counted.items()}}


def print_coverage(*, as_json: bool) -> None:
    """Print the coverage, in plain columns where stdout is no terminal."""
    figures = coverage()
    if as_json:
        print(json.dumps(figures, ensure_ascii=False, indent=1))
        return
    console = Console(highlight=False, width=None if sys.stdout.isatty() else _WIDTH_OF_PIPES)
    console.print(_table(figures))
    console.print(f"\n{figures['witnessed']} of {figures['requirements']} requirements have a witness among the tests", style="bold")
    either, of_clients, of_coordinators = (figures["judged"][key] for key in ("either", *SIDES))
    console.print(
        f"{either} of {figures['requirements']} are judged in a subject by a case: {of_clients} in a client, {of_coordinators} in a coordinator",
        style="bold",
    )
    console.print(f"{figures['readings_witnessed']} of {figures['readings']} readings of contradicting sources have one\n")
    for line in (
        *_missing(figures["missing"], "without a witness"),
        *_missing(figures["unjudged"], "MUSTs on the client's side that no case judges"),
    ):
        console.print(line)


def _table(fields: Mapping[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("section")
    for title in ("witness", "rule", "client", "coordinator", "of"):
        table.add_column(title, justify="right")
    for section in fields["sections"]:
        is_whole = section["witnessed"] == section["requirements"]
        figures = (str(section[key]) for key in ("witnessed", "by_rule", "judged_in_client", "judged_in_coordinator", "requirements"))
        table.add_row(section["section"], *figures, style="" if is_whole else "yellow")
    return table


def _missing(missing: Iterable[Mapping[str, Any]], title: str) -> Iterable[Text]:
    for entry in missing:
        yield Text.assemble((f"{len(entry['ids'])} {title}: ", "yellow"), entry["why"], (f" Needs: {entry['needs']}.", "bold"))
        yield Text("  " + " ".join(entry["ids"]), style="dim")

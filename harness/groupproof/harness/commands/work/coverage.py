"""`groupproof list --coverage`: how many requirements have a witness, a rule, and a case that judges them, and what is missing and why."""

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

_WIDTH_OF_PIPES: Final = 10_000  # nothing is folded or cut where nobody looks at it


def coverage() -> dict[str, Any]:
    """Return the counts by section, what is missing and why, and of each requirement its witnesses, rules and cases."""
    proven, rules, by_client, by_coordinator = witnesses(), cited(), judged()["client"], judged()["coordinator"]
    sections = [_section(name, {each.id for each in rows}) for name, rows in groupby(requirements(), key=lambda each: each.area)]
    return {
        "requirements": sum(each["requirements"] for each in sections),
        "witnessed": sum(each["witnessed"] for each in sections),
        "judged": {"client": len(by_client), "coordinator": len(by_coordinator), "either": len({*by_client, *by_coordinator})},
        "readings": len(READINGS),
        "readings_witnessed": len(proven.keys() & set(READINGS)),
        "sections": sections,
        "missing": [{"needs": gap.needs, "why": gap.why, "ids": list(gap.ids)} for gap in gaps()],
        "unjudged": [{"needs": gap.needs, "why": gap.why, "ids": list(gap.ids)} for gap in unjudged()],
        "by_id": {
            each: {
                "witnesses": list(proven.get(each, ())),
                "rules": list(rules.get(each, ())),
                "cases": [*by_client.get(each, ()), *by_coordinator.get(each, ())],
                "listed_by": [case for side in SIDES for case in listed()[side].get(each, ())],
            }
            for each in everything()
        },
    }


def _section(name: str, ids: Collection[str]) -> dict[str, Any]:
    counted = {"witnessed": witnesses(), "by_rule": cited(), "judged_in_client": judged()["client"], "judged_in_coordinator": judged()["coordinator"]}
    return {"section": name, "requirements": len(ids), **{key: len(ids & of.keys()) for key, of in counted.items()}}


def print_coverage(*, as_json: bool) -> None:
    """Print the coverage; plain columns where stdout is no terminal."""
    told = coverage()
    if as_json:
        print(json.dumps(told, ensure_ascii=False, indent=1))
        return
    console = Console(highlight=False, width=None if sys.stdout.isatty() else _WIDTH_OF_PIPES)
    console.print(_table(told))
    console.print(f"\n{told['witnessed']} of {told['requirements']} requirements have a witness among the tests", style="bold")
    either, of_clients, of_coordinators = (told["judged"][key] for key in ("either", *SIDES))
    console.print(
        f"{either} of {told['requirements']} are judged in a subject by a case: {of_clients} in a client, {of_coordinators} in a coordinator",
        style="bold",
    )
    console.print(f"{told['readings_witnessed']} of {told['readings']} readings of contradicting sources have one\n")
    for line in (*_missing(told["missing"], "without a witness"), *_missing(told["unjudged"], "MUSTs on the client's side that no case judges")):
        console.print(line)


def _table(told: Mapping[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("section")
    for title in ("witness", "rule", "client", "coordinator", "of"):
        table.add_column(title, justify="right")
    for each in told["sections"]:
        is_whole = each["witnessed"] == each["requirements"]
        figures = (str(each[key]) for key in ("witnessed", "by_rule", "judged_in_client", "judged_in_coordinator", "requirements"))
        table.add_row(each["section"], *figures, style="" if is_whole else "yellow")
    return table


def _missing(missing: Iterable[Mapping[str, Any]], what: str) -> Iterable[Text]:
    for each in missing:
        yield Text.assemble((f"{len(each['ids'])} {what}: ", "yellow"), each["why"], (f" Needs: {each['needs']}.", "bold"))
        yield Text("  " + " ".join(each["ids"]), style="dim")

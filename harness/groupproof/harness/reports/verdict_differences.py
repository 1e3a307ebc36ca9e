"""The cases with different verdicts in several runs: of a broker and the reference, of two releases, of today and yesterday. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

__all__ = ["differing", "lines_of"]

_NOT_RUN: Final = "-"


def differing(reports: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """Return the verdicts of each case that differs between the `reports`. A run without the case has `-`."""
    verdicts = [{case["id"]: str(case["verdict"]) for case in report["cases"]} for report in reports]
    cases = dict.fromkeys(id for of_run in verdicts for id in of_run)
    rows = {id: tuple(of_run.get(id, _NOT_RUN) for of_run in verdicts) for id in cases}
    return {id: row for id, row in rows.items() if len(set(row)) > 1}


def lines_of(reports: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line for each run, one for each case that differs, and how many are alike."""
    rows, cases = differing(reports), {case["id"] for report in reports for case in report["cases"]}
    for number, report in enumerate(reports, start=1):
        yield f"{number}. {_title(report)}: {_totals(report)}"
    for id, verdicts in rows.items():
        yield f"{id}: {', '.join(verdicts)}"
    yield f"{len(cases) - len(rows)} of {len(cases)} cases have one verdict in all {len(reports)} runs"


def _title(report: Mapping[str, Any]) -> str:
    subject = report["subject"]
    return f"{' '.join(filter(None, (subject['name'], subject['version'])))} by {report['suite']['profile']}"


def _totals(report: Mapping[str, Any]) -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in report["totals"].items() if count) or "no case"

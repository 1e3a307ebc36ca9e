"""`badge.json`: the run as an endpoint badge of shields.io. Pure."""

from __future__ import annotations

from typing import Any, Final

from groupproof.harness.judging.summary.run_summary import RunSummary
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.reports.meanings import grade_word

__all__ = ["badge"]

_COLOURS: Final = {"PASSED": "brightgreen", "FAILED": "red", "PARTIAL": "yellow", "NO_VERDICT": "lightgrey"}


def badge(run: RunSummary) -> dict[str, Any]:
    """Return the badge. A passed run is green only when nothing about it needs an explanation."""
    word = grade_word(run.grade)
    doubted = run.run.interrupted or bool(run.settled.stale)
    return {
        "schemaVersion": 1,
        "label": f"groupproof {run.suite.profile}",
        "message": _message(run),
        "color": "orange" if doubted and word != "FAILED" else _COLOURS[word],
        "isError": word == "FAILED",  # shields.io then accepts no other colour from the address
    }


def _message(run: RunSummary) -> str:
    parts = [run.grade.lower().replace("_", " ")]
    parts += [f"{count} {verdict.value.lower()}" for verdict in (Verdict.FAILED, Verdict.EXCUSED) if (count := run.totals[verdict.value])]
    if run.settled.stale:
        parts.append("stale expectations")
    if run.run.interrupted:
        parts.append("interrupted")
    return ", ".join(parts)

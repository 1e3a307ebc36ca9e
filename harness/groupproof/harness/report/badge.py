"""badge.json: the endpoint form of shields.io."""

from __future__ import annotations

from typing import Any

from groupproof.harness.certification import Certification

__all__ = ["badge_of"]

_COLOURS = {"PASSED": "brightgreen", "FAILED": "red", "NO_VERDICT": "lightgrey"}


def badge_of(run: Certification) -> dict[str, Any]:
    """Return what a badge shows: the grade, and with known failures their number, since a pass with excuses is not the same."""
    grade, excused = run.grade, run.totals["EXCUSED"]
    words = grade.replace("_", " ").lower() + (f", {excused} known" if excused else "") + (", interrupted" if run.interrupted else "")
    colour = _COLOURS.get(grade, "yellow") if not (grade == "PASSED" and excused) else "green"
    return {"schemaVersion": 1, "label": f"groupproof {run.profile}", "message": words, "color": colour}

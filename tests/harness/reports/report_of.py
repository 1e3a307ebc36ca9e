"""A report of a run made by hand: what `report.json` holds, with the cases given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["report"]


def report(cases: Mapping[str, tuple[str, str | None]], *, name: str = "odd", version: str = "1.2") -> dict[str, Any]:
    """Return the report of a run in which each case came to a verdict with a fingerprint."""
    verdicts = ["OK", "NON_STRICT", "INFORMATIONAL", "FAILED", "UNIMPLEMENTED", "INCONCLUSIVE", "BROKEN", "EXCUSED"]
    return {
        "schema": "groupproof.report/1",
        "suite": {"version": "0", "catalogue_sha256": "0" * 64, "profile": "kafka-4.1", "dialect": "classic"},
        "subject": {"side": "client", "name": name, "version": version, "language": "python", "capabilities": ["classic"]},
        "run": {
            "seed": 1,
            "started": "2026-01-01T00:00:00+00:00",
            "duration_s": 1.0,
            "jobs": 1,
            "faults": "frames",
            "environment": {},
            "command": "groupproof certify client odd",
            "interrupted": False,
        },
        "totals": {verdict: sum(1 for case, _ in cases.values() if case == verdict) for verdict in verdicts},
        "grade": "FAILED",
        "cases": [_case(key, verdict, fingerprint) for key, (verdict, fingerprint) in cases.items()],
    }


def _case(name: str, verdict: str, fingerprint: str | None) -> dict[str, Any]:
    return {
        "id": name,
        "title": "A case.",
        "requirements": ["CLIENT-73"],
        "level": "MUST",
        "preview": False,
        "time": "wall",
        "verdict": verdict,
        "goodbye": "CLEAN",
        "stability": "1/1",
        "expected": "Something.",
        "observed": "It did something.",
        "fingerprint": fingerprint,
        "receipts": 0,
        "duration_s": 1.0,
        "trace": None,
        "replay": "groupproof replay plan.json",
    }

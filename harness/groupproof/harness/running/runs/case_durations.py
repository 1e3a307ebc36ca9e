"""The past durations of cases: shipped ones, measured with released clients and brokers, or those in the user's own report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from groupproof.harness.model.case import Case
from groupproof.harness.model.case_length import length_ms
from groupproof.harness.model.report_json import read_report

__all__ = ["durations_in", "expected_ms", "repeated_cases", "shipped_durations"]


@cache
def _shipped() -> Mapping[str, Any]:
    """Return what `ci/durations.py` wrote."""
    found: Mapping[str, Any] = json.loads((files("groupproof.harness") / "durations.json").read_text(encoding="utf-8"))
    return found


def shipped_durations(side: str) -> Mapping[str, float]:
    """Return seconds by case id for this side."""
    seconds: Mapping[str, float] = _shipped()[side]
    return seconds


def durations_in(report: Path) -> Mapping[str, float]:
    """Return seconds by case id from a report's file or folder; raise `WrongUsage` for a path that is no report."""
    found: Mapping[str, Any] = read_report(report)
    return {case["id"]: case["duration_s"] for case in found["cases"]}


def repeated_cases(client: str) -> frozenset[str]:
    """Return the ids of the cases whose verdicts needed several runs of this client."""
    return frozenset(_shipped()["repeated"].get(client, ()))


def expected_ms(case: Case, client: str = "") -> float:
    """Return the expected duration of a run in real time: the plan's length, or longer where released clients took longer, or this client."""
    of_client = _shipped()["of_clients"].get(client, {})
    taken_s: float = of_client.get(case.id, shipped_durations(case.side).get(case.id, 0.0))
    return max(length_ms(case), taken_s * 1000)

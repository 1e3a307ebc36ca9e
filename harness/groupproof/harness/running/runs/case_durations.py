"""How long cases took in the past: as they ship, measured with released clients and brokers, or out of a report of one's own."""

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

__all__ = ["durations_in", "expected_ms", "shipped_durations"]


@cache
def shipped_durations(side: str) -> Mapping[str, float]:
    """Return seconds by case id, as `ci/durations.py` wrote them down for this side."""
    text = (files("groupproof.harness") / "durations.json").read_text(encoding="utf-8")
    seconds: Mapping[str, float] = json.loads(text)[side]
    return seconds


def durations_in(report: Path) -> Mapping[str, float]:
    """Return seconds by case id of a report, given as its file or its folder; raise `WrongUsage` for what is none."""
    found: Mapping[str, Any] = read_report(report)
    return {case["id"]: case["duration_s"] for case in found["cases"]}


def expected_ms(case: Case) -> float:
    """Return how long the case is expected to take in real time: as its plan says, or longer where released clients took longer."""
    return max(length_ms(case), shipped_durations(case.side).get(case.id, 0.0) * 1000)

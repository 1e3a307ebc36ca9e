"""Groups cases with one cause, so that each cause is reported once with its count. Pure.

Cases that fail or are tolerated in the same way have the same fingerprint; so have cases without a verdict for the same reason.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, TypeVar

from groupproof.harness.judging.summary.run_summary import CaseReport
from groupproof.harness.model.verdicts import Goodbye, Verdict

__all__ = ["NAMED_MAX", "and_more", "cause_in", "cause_of", "folded"]

NAMED_MAX = 8
"""The number of further cases that a line names."""

T = TypeVar("T")


def folded(items: Iterable[T], cause: Callable[[T], Hashable]) -> list[list[T]]:
    """Return the items grouped by cause, in the order of the first item of each."""
    causes: dict[Hashable, list[T]] = {}
    for failure in items:
        causes.setdefault(cause(failure), []).append(failure)
    return list(causes.values())


def cause_of(report: CaseReport) -> Hashable:
    """Return what a case has in common with the cases that are listed with it. An unclean close is listed by itself."""
    ruling = report.result.ruling
    goodbye = ruling.goodbye_reason if ruling.goodbye is Goodbye.UNCLEAN and report.verdict is Verdict.OK else ""
    excuse = None if report.excuse is None else report.excuse.reason
    return report.verdict, ruling.verdict, ruling.fingerprint or ruling.observed or report.case.id, excuse, goodbye, report.case.preview


def cause_in(case: Mapping[str, Any]) -> Hashable:
    """Return the same for a case in `report.json`."""
    excused = case.get("excused") or {}
    return case["verdict"], case["fingerprint"] or case["observed"] or case["id"], excused.get("reason"), case["preview"]


def and_more(ids: Iterable[str]) -> str:
    """Return "and 32 more: id, id, …" for the cases beside the first; "" for none."""
    others = list(ids)
    if not others:
        return ""
    return f"and {len(others)} more: {', '.join(others[:NAMED_MAX])}{', …' if len(others) > NAMED_MAX else ''}"

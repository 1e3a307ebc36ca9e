"""The cases that leave a result incomplete, as lines by reason: required ones without a verdict, and INCONCLUSIVE or BROKEN ones. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from groupproof.harness.cases.catalogue import cases_like
from groupproof.harness.judging.summary.grade import unjudged_of
from groupproof.harness.judging.summary.run_summary import CaseReport
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.reports.failure_groups import and_more, folded

__all__ = ["UndecidedCase", "undecided_in", "undecided_lines"]

_UNDECIDED: Final = (Verdict.INCONCLUSIVE, Verdict.BROKEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class UndecidedCase:
    """A case without a verdict on the subject, and the reason."""

    id: str
    verdict: Verdict
    observed: str

    @classmethod
    def of(cls, case: CaseReport) -> UndecidedCase:
        return cls(id=case.case.id, verdict=case.verdict, observed=case.result.ruling.observed)


def undecided_in(report: Mapping[str, Any]) -> list[UndecidedCase]:
    """Return the cases that leave the result of a report incomplete. The report must have all cases of its subject."""
    cases = [UndecidedCase(id=case["id"], verdict=Verdict(case["verdict"]), observed=case["observed"]) for case in report["cases"]]
    unjudged = _unjudged(report, cases) if report["grade"].startswith("PARTIAL") else frozenset()
    return [case for case in cases if case.id in unjudged or case.verdict in _UNDECIDED]


def _unjudged(report: Mapping[str, Any], cases: Iterable[UndecidedCase]) -> frozenset[str]:
    verdicts = {case.id: case.verdict for case in cases}
    previews = {case["id"] for case in report["cases"] if case.get("preview")}  # a matrix does not keep this
    required = unjudged_of(verdicts, cases_like(report["subject"]["side"], verdicts), "info")
    return frozenset(case.id for case in required if case.id not in previews)


def undecided_lines(cases: Iterable[UndecidedCase]) -> Iterator[str]:
    """Yield a line for each reason, with its cases."""
    for alike in folded(cases, lambda case: (case.verdict, case.observed)):
        first, *others = alike
        number = f"{len(alike)} cases are" if others else "1 case is"
        reason = f" ({first.observed.removesuffix('.')})" if first.observed else ""
        more = f" {and_more(case.id for case in others)}" if others else ""
        yield f"{number} {first.verdict.value}{reason}: {first.id}{more}"

from __future__ import annotations

from typing import Any

import pytest
from tests.harness.reports.making import a_case, a_result, known_failure
from tests.harness.reports.report_of import report

from groupproof.harness.judging.summary.run_summary import CaseReport
from groupproof.harness.model.verdicts import Goodbye, Verdict
from groupproof.harness.reports.failure_groups import NAMED_MAX, and_more, cause_in, cause_of, folded


def case_report(number: int, verdict: Verdict = Verdict.FAILED, excuse: str = "", **columns: Any) -> CaseReport:
    case = a_case(f"join/classic/n{number}")
    return CaseReport(result=a_result(verdict, case, **columns), excuse=known_failure(case.id, reason=excuse) if excuse else None)


def test_what_is_alike_stands_together_in_the_order_of_the_first() -> None:
    assert folded([3, 1, 5, 2, 7], lambda number: number % 2) == [[3, 1, 5, 7], [2]]


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (case_report(1, fingerprint="ab"), case_report(2, fingerprint="ab", observed="It fell 3 times."), True),
        (case_report(1, fingerprint="ab"), case_report(2, fingerprint="cd"), False),
        (case_report(1, fingerprint="ab"), case_report(2, Verdict.NON_STRICT, fingerprint="ab"), False),
        (case_report(1, fingerprint="ab"), case_report(2, fingerprint="ab", excuse="known"), False),
        (case_report(1, fingerprint="ab", excuse="one"), case_report(2, fingerprint="ab", excuse="another"), False),
        (case_report(1, Verdict.INCONCLUSIVE), case_report(2, Verdict.INCONCLUSIVE), True),
        (case_report(1, Verdict.BROKEN, observed="a bad line"), case_report(2, Verdict.BROKEN, observed="another"), False),
        (
            case_report(1, Verdict.OK, goodbye=Goodbye.UNCLEAN, goodbye_reason="m0 closed without a LeaveGroup"),
            case_report(2, Verdict.OK, goodbye=Goodbye.UNCLEAN, goodbye_reason="m0 had to be killed"),
            False,
        ),
    ],
)
def test_one_cause_is_one_verdict_in_one_way(one: CaseReport, other: CaseReport, *, alike: bool) -> None:
    assert (cause_of(one) == cause_of(other)) is alike


def test_the_cases_of_a_written_report_are_grouped_likewise() -> None:
    same, also, other = report({"join/classic/a": ("FAILED", "f"), "join/classic/b": ("FAILED", "f"), "join/classic/c": ("FAILED", "g")})["cases"]

    assert cause_in(same) == cause_in(also) != cause_in(other)
    assert cause_in({**same, "excused": {"verdict": "FAILED", "reason": "r", "source": "s"}}) != cause_in(same)


def test_others_are_named_up_to_a_number() -> None:
    assert and_more([]) == ""
    assert and_more(["a", "b"]) == "and 2 more: a, b"
    assert and_more(str(number) for number in range(NAMED_MAX + 1)) == f"and {NAMED_MAX + 1} more: {', '.join(map(str, range(NAMED_MAX)))}, …"

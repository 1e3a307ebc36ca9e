from __future__ import annotations

from typing import Any

from tests.harness.reports.report_of import report

from groupproof.harness.cases.catalogue import cases_of
from groupproof.harness.judging.summary.grade import required_of
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.reports.texts.undecided_cases import UndecidedCase, undecided_in, undecided_lines

FIRST, SECOND, THIRD = (case.id for case in required_of(cases_of("client"), "info")[:3])
OPTIONAL = next(case.id for case in cases_of("client") if "static" in case.needs)


def a_report(grade: str, **verdicts: str) -> dict[str, Any]:
    ids = {"first": FIRST, "second": SECOND, "third": THIRD, "optional": OPTIONAL}
    return report({ids[name]: (verdict, None) for name, verdict in verdicts.items()}) | {"grade": grade}


def named(made: dict[str, Any]) -> list[str]:
    return [case.id for case in undecided_in(made)]


def test_required_cases_without_a_verdict_make_a_grade_partial() -> None:
    assert named(a_report("PARTIAL 1/2", first="OK", second="UNIMPLEMENTED", optional="UNIMPLEMENTED")) == [SECOND]


def test_what_a_whole_grade_does_not_need_is_not_reported() -> None:
    assert named(a_report("PASSED", first="OK", optional="UNIMPLEMENTED")) == []


def test_a_case_that_stayed_inconclusive_is_reported_with_any_grade() -> None:
    assert named(a_report("PASSED", first="OK", optional="INCONCLUSIVE", second="BROKEN")) == [OPTIONAL, SECOND]


def test_a_preview_is_required_of_nobody() -> None:
    made = a_report("PARTIAL 1/2", first="OK", second="UNIMPLEMENTED", third="UNIMPLEMENTED")
    made["cases"][1]["preview"] = True

    assert named(made) == [THIRD]


def test_cases_are_reported_once_for_each_reason() -> None:
    cases = [
        UndecidedCase(id="a", verdict=Verdict.UNIMPLEMENTED, observed="Its shim declares no commit."),
        UndecidedCase(id="b", verdict=Verdict.INCONCLUSIVE, observed=""),
        UndecidedCase(id="c", verdict=Verdict.UNIMPLEMENTED, observed="Its shim declares no commit."),
    ]

    assert list(undecided_lines(cases)) == [
        "2 cases are UNIMPLEMENTED (Its shim declares no commit): a and 1 more: c",
        "1 case is INCONCLUSIVE: b",
    ]

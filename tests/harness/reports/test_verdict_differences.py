from __future__ import annotations

from tests.harness.reports.report_of import report

from groupproof.harness.reports.verdict_differences import differing, lines_of

BROKER = report(
    {"join/classic/a": ("OK", None), "join/classic/b": ("UNIMPLEMENTED", None), "join/classic/c": ("OK", None)}, name="kafka", version="4.2.2"
)
REFERENCE = report({"join/classic/a": ("OK", None), "join/classic/b": ("OK", None), "join/classic/d": ("FAILED", "f")}, name="groupproof", version="")


def test_a_case_differs_by_its_verdict_or_where_a_run_does_not_have_it() -> None:
    assert differing([BROKER, REFERENCE]) == {
        "join/classic/b": ("UNIMPLEMENTED", "OK"),
        "join/classic/c": ("OK", "-"),
        "join/classic/d": ("-", "FAILED"),
    }


def test_a_run_differs_in_nothing_from_itself() -> None:
    assert differing([BROKER, BROKER, BROKER]) == {}
    assert list(lines_of([BROKER, BROKER]))[-1] == "3 of 3 cases have one verdict in all 2 runs"


def test_the_runs_stand_before_the_cases_that_differ_and_the_count_after() -> None:
    assert list(lines_of([BROKER, REFERENCE])) == [
        "1. kafka 4.2.2 by kafka-4.1: 2 OK, 1 UNIMPLEMENTED",
        "2. groupproof by kafka-4.1: 2 OK, 1 FAILED",
        "join/classic/b: UNIMPLEMENTED, OK",
        "join/classic/c: OK, -",
        "join/classic/d: -, FAILED",
        "1 of 4 cases have one verdict in all 2 runs",
    ]

from __future__ import annotations

import io

import pytest
from rich.console import Console

from groupproof.harness.cases.client import CASES
from groupproof.harness.commands.base.progress import verdict_line, watched
from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.ruling import Ruling
from groupproof.harness.judging.summary.run_summary import CaseReport
from groupproof.harness.model.verdicts import Goodbye, Verdict
from groupproof.harness.running.case_runner import Progress


def report(verdict: Verdict = Verdict.OK, *, goodbye: Goodbye = Goodbye.CLEAN, stability: str = "1/1") -> CaseReport:
    ruling = Ruling(
        verdict=verdict, goodbye=goodbye, stability=stability, expected="", observed="", fingerprint="", receipts=0, findings=()
    )  # fmt: skip
    return CaseReport(result=CaseResult(case=CASES[0], ruling=ruling, duration_s=1.25))


def progress_text(*reports: CaseReport, terminal: bool) -> str:
    """Return what is printed of a run of these reports."""
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=120, color_system=None)
    with watched(console, len(reports)) as progress:
        for case in reports:
            progress.report(Progress.STARTED, case.case, None)
            progress.report(Progress.DONE, case.case, case)
    return out.getvalue()


@pytest.mark.parametrize(
    ("case", "line"),
    [
        (report(), f"OK            {CASES[0].id} 1.2 s"),
        (report(Verdict.FAILED, goodbye=Goodbye.UNCLEAN), f"FAILED        {CASES[0].id} UNCLEAN 1.2 s"),
        (report(Verdict.INCONCLUSIVE, stability="unstable 1/3"), f"INCONCLUSIVE  {CASES[0].id} unstable 1/3 1.2 s"),
    ],
)
def test_a_finished_case_is_a_line(case: CaseReport, line: str) -> None:
    assert verdict_line(case).plain == line


def test_without_a_terminal_each_case_is_counted_on_a_plain_line() -> None:
    assert (
        progress_text(report(), report(Verdict.FAILED), terminal=False)
        == f"[1/2] OK            {CASES[0].id} 1.2 s\n[2/2] FAILED        {CASES[0].id} 1.2 s\n"
    )


def test_on_a_terminal_only_what_is_worth_a_look_stays_above_the_bar() -> None:
    printed = progress_text(report(), report(Verdict.FAILED), terminal=True)

    assert f"FAILED        {CASES[0].id}" in printed
    assert f"OK            {CASES[0].id}" not in printed
    assert "1 OK 1 FAILED" in printed

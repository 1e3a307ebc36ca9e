from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.harness.commands.pytest_plugin.known import KNOWN
from tests.harness.commands.pytest_plugin.made import CASE, shared_result

from groupproof.harness.commands.pytest_plugin.case_queue import Result
from groupproof.harness.commands.pytest_plugin.outcome_text import ItemOutcome, Kind, framed, item_outcome
from groupproof.harness.judging.summary.run_summary import CaseReport
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.model.verdicts import Goodbye, Verdict
from groupproof.harness.reports.texts.frame_text import FrameLine


def _saying(verdict: Verdict, *, fail_on: frozenset[str] = frozenset(), stale: str = "", **more: object) -> ItemOutcome:
    result = shared_result(verdict, **more).result(CASE)  # type: ignore[arg-type]  # whatever a ruling takes
    return item_outcome(Result(report=CaseReport(result=result), stale=stale), Path("reports/odd"), fail_on)


@pytest.mark.parametrize(
    ("verdict", "kind"),
    [
        (Verdict.OK, Kind.PASSED),
        (Verdict.NON_STRICT, Kind.PASSED),
        (Verdict.INFORMATIONAL, Kind.PASSED),
        (Verdict.FAILED, Kind.FAILED),
        (Verdict.INCONCLUSIVE, Kind.FAILED),
        (Verdict.UNIMPLEMENTED, Kind.SKIPPED),
        (Verdict.BROKEN, Kind.ERROR),
    ],
)
def test_each_verdict_has_its_outcome(verdict: Verdict, kind: Kind) -> None:
    assert _saying(verdict).kind is kind


def test_a_failure_names_requirement_expected_observed_and_how_to_repeat_it() -> None:
    lines = _saying(Verdict.FAILED).text.splitlines()

    assert lines[0] == "HB-03: It went on."
    assert lines[1].startswith("  requirement  HB-03 (")
    assert "  expected     It rejoins." in lines
    assert "  observed     It went on." in lines
    assert lines[-1] == "  replay       groupproof replay reports/odd/cases/heartbeat/classic/illegal-generation/plan.json"


def test_what_came_to_no_verdict_is_not_laid_at_the_clients_door() -> None:
    assert _saying(Verdict.INCONCLUSIVE).text.startswith("no verdict, which is not laid at the client's door: It went on.")


def test_the_environments_trouble_is_an_error_in_its_own_words() -> None:
    text = _saying(Verdict.INCONCLUSIVE, trouble=BrokenEnvironment("no port is left"))

    assert text.kind is Kind.ERROR
    assert text.text.startswith("no port is left\n")


def test_a_case_that_was_not_reached_is_an_error() -> None:
    assert item_outcome(Result(missing="not reached: given up"), None) == ItemOutcome(kind=Kind.ERROR, text="not reached: given up")


def test_a_known_failure_is_expected_with_its_reason_unless_pytest_runs_those_too() -> None:
    report = CaseReport(result=shared_result(Verdict.FAILED).result(CASE), excuse=KNOWN)

    assert item_outcome(Result(report=report), None) == ItemOutcome(kind=Kind.EXPECTED, text="drops its id (https://example.org/7)")
    assert item_outcome(Result(report=report), None, runs_xfail=True).kind is Kind.FAILED


def test_a_stale_expectation_fails_what_passes() -> None:
    text = _saying(Verdict.OK, stale="known.toml, entry 1: passes")

    assert text.kind is Kind.FAILED
    assert text.text.startswith("stale expectation: known.toml, entry 1: passes\n")


def test_what_fail_on_names_fails_too() -> None:
    assert _saying(Verdict.NON_STRICT, fail_on=frozenset({"non-strict"})).kind is Kind.FAILED
    assert _saying(Verdict.OK, goodbye=Goodbye.UNCLEAN).kind is Kind.PASSED
    unclean = _saying(Verdict.OK, goodbye=Goodbye.UNCLEAN, fail_on=frozenset({"unclean"}))
    assert (unclean.kind, unclean.text.splitlines()[0]) == (Kind.FAILED, "unclean goodbye: odd went without a LeaveGroup")


def test_a_preview_is_shown_and_not_counted() -> None:
    report = CaseReport(result=shared_result(Verdict.FAILED).result(replace(CASE, preview=True)))

    assert item_outcome(Result(report=report), None).kind is Kind.SKIPPED


def test_frames_stand_under_one_heading() -> None:
    lines = list(
        framed([FrameLine(seq=0, ms=1.0, who="m0", arrow="→", text="JoinGroup"), FrameLine(seq=1, ms=2.5, who="m0", arrow="←", text="NONE")])
    )

    assert lines == ["  frames             1.0 ms  m0           → JoinGroup", "                     2.5 ms  m0           ← NONE"]

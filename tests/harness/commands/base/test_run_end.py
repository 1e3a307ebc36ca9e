from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from rich.console import Console

from groupproof.harness.cases.client import CASES
from groupproof.harness.commands.base.run_end import print_summary
from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.ruling import Ruling
from groupproof.harness.judging.summary.baseline import Change, Delta
from groupproof.harness.judging.summary.expectations import KnownFailure, MatchedExpectations
from groupproof.harness.judging.summary.run_summary import RunInfo, RunSummary, SubjectInfo, SuiteInfo
from groupproof.harness.judging.summary.shards import Share
from groupproof.harness.model.case import Case
from groupproof.harness.model.verdicts import Goodbye, Verdict
from groupproof.harness.running.runs.client_run import RunOutcome

FIRST, SECOND, THIRD = CASES[:3]


def result(case: Case, verdict: Verdict, *, observed: str = "It did not.", goodbye: Goodbye = Goodbye.CLEAN) -> CaseResult:
    ruling = Ruling(
        verdict=verdict, goodbye=goodbye, stability="3/3", expected="It does.", observed=observed, fingerprint="ab", receipts=1, findings=()
    )  # fmt: skip
    return CaseResult(case=case, ruling=ruling)


def run(*results: CaseResult) -> RunSummary:
    return RunSummary(
        suite=SuiteInfo(version="1", profile="kafka-4.1"),
        subject=SubjectInfo(name="odd", version="1.2", language="c", capabilities=(), spec="odd@1.2"),
        run=RunInfo(seed=1, started="2026-01-01T00:00:00+00:00", duration_s=12.34, jobs=1, command="groupproof"),
        results=results,
        grade="FAILED",
        selected=CASES,
    )


def printed(summary: RunSummary, *, gave_up: str | None = None, left_out: int = 0, code: int = 1) -> list[str]:
    out = io.StringIO()
    outcome = RunOutcome(summary=summary, exit_code=code, gave_up=gave_up, left_out=left_out)
    print_summary(Console(file=out, width=60, color_system=None), outcome, Path("out"))
    return out.getvalue().splitlines()


def test_a_failure_is_reported_with_expectation_observation_and_how_to_repeat_it() -> None:
    lines = printed(run(result(FIRST, Verdict.FAILED), result(SECOND, Verdict.OK)))

    assert lines == [
        f"FAILED {FIRST.id} (3/3)  {', '.join(FIRST.requirements)}",
        "  expected  It does.",
        "  observed  It did not.",
        "  grounds   seen in 3 of 3 runs · 1 receipt · the kit did not lag",
        f"  replay    groupproof replay out/cases/{FIRST.id}/plan.json",
        "FAILED  odd 1.2 by kafka-4.1 in 12.3 s: 1 OK, 1 FAILED",
        "report: out/report.html",
    ]


def test_the_most_severe_stands_last() -> None:
    lines = printed(run(result(FIRST, Verdict.FAILED), result(SECOND, Verdict.NON_STRICT), result(THIRD, Verdict.INCONCLUSIVE)))

    parts = [line.split()[0] for line in lines if not line.startswith("  ")]
    assert parts == ["NON_STRICT", "INCONCLUSIVE", "FAILED", "FAILED", "report:"]


def test_what_a_broken_shim_does_everywhere_is_reported_once() -> None:
    lines = printed(run(*(result(case, Verdict.BROKEN, observed="It crashed.") for case in CASES[:3])), gave_up="it is no use")

    assert sum("It crashed." in line for line in lines) == 1
    assert lines[0].startswith(f"BROKEN {FIRST.id} and 2 more")
    assert f"  and 2 more: {SECOND.id}, {THIRD.id}" in lines
    assert "given up: it is no use" in lines


def test_failures_of_one_cause_are_reported_once_with_their_number() -> None:
    others = [replace(result(case, Verdict.FAILED), ruling=replace(result(case, Verdict.FAILED).ruling, fingerprint="cd")) for case in CASES[3:5]]
    lines = printed(run(*(result(case, Verdict.FAILED) for case in CASES[:3]), *others))

    assert [line for line in lines if line.startswith("FAILED ") and "odd" not in line] == [
        f"FAILED {case.id} and {more} more (3/3)  {', '.join(case.requirements)}" for case, more in ((FIRST, 2), (CASES[3], 1))
    ]


def test_a_known_failure_is_reported_with_its_reason_and_a_stale_one_with_its_remedy() -> None:
    failure = KnownFailure(
        case=FIRST.id, verdict=Verdict.FAILED, reason="drops its id", source="docs/findings/1.md", subject=SpecifierSet(), fingerprint="ab"
    )
    settled = MatchedExpectations(excused={FIRST.id: failure}, stale=("entry 2: expired",))

    lines = printed(replace(run(result(FIRST, Verdict.FAILED)), settled=settled))

    assert lines[0].startswith(f"EXCUSED {FIRST.id}")
    assert "  known     drops its id (docs/findings/1.md)" in lines
    assert "stale entry 2: expired; update it with: groupproof expect update out" in lines


def test_a_crash_beside_other_cases_is_reported_though_its_case_passed() -> None:
    passed = result(FIRST, Verdict.OK)
    lines = printed(run(replace(passed, ruling=replace(passed.ruling, shared_ends=("exited with status 1: [panic]",)))))

    assert lines[0] == "crash a process of the shim that hosts several cases ended unasked in 1 run, repeated alone: exited with status 1: [panic]"


@pytest.mark.parametrize("interrupted", [True, False])
def test_an_interruption_says_how_much_was_not_reached(interrupted: bool) -> None:
    summary = run(result(FIRST, Verdict.OK, goodbye=Goodbye.UNCLEAN))

    lines = printed(replace(summary, run=replace(summary.run, interrupted=interrupted)))

    assert (f"interrupted; {len(CASES) - 1} cases were not reached" in lines) is interrupted
    assert lines[-2].endswith("1 OK; 1 unclean goodbyes")


def test_a_selection_says_why_it_makes_no_grade() -> None:
    summary = replace(run(result(FIRST, Verdict.OK)), selected=[FIRST], grade="PARTIAL 1/150")

    assert any(line.startswith("a selection makes no grade: 149 cases") for line in printed(summary, left_out=149))
    assert not any("no grade" in line for line in printed(summary))


def test_a_partial_grade_says_which_cases_it_lacks_and_what_its_exit_code_means() -> None:
    lacking = [result(case, Verdict.UNIMPLEMENTED, observed="Its shim declares no pause.") for case in (SECOND, THIRD)]
    summary = replace(run(result(FIRST, Verdict.OK), *lacking), grade="PARTIAL 1/3", unjudged=(SECOND.id, THIRD.id))

    assert printed(summary, code=2)[-3:-1] == [
        f"  2 cases are UNIMPLEMENTED (Its shim declares no pause): {SECOND.id} and 1 more: {THIRD.id}",
        "nothing FAILED; every client should show these cases, so that the grade is PARTIAL and the exit code 2",
    ]
    assert not any("nothing FAILED" in line for line in [*printed(summary), *printed(replace(summary, unjudged=()), code=2)])


def test_the_difference_to_a_baseline_is_reported_at_length_if_it_is_severe() -> None:
    moved = tuple(Change(id=f"a/classic/c{number}", before="OK", now="FAILED", observed="It fell.") for number in range(12))
    new = tuple(Change(id=f"b/classic/c{number}", before="", now="OK") for number in range(12))
    summary = run(result(FIRST, Verdict.OK))

    lines = printed(replace(summary, delta=Delta(name="old.json", moved=moved, new=new, unlike=("profile a, not b",), lost=True)))

    assert "baseline old.json is a run of profile a, not b; what differs may be of that" in lines
    assert sum(line.startswith("moved a/classic/c") for line in lines) == 12
    assert "moved a/classic/c0  OK → FAILED: It fell." in lines
    assert "new and 2 more" in lines
    assert "the run is worse than old.json: 12 moved" in lines
    assert "cases that are required, and had a verdict in the baseline, have none in this run" in lines


def test_a_run_that_is_better_than_its_baseline_says_how_to_make_it_the_next() -> None:
    better = Delta(name="old.json", improved=(Change(id=FIRST.id, before="FAILED", now="OK"),))

    entries = [printed(replace(run(result(FIRST, Verdict.OK)), delta=delta)) for delta in (better, Delta(name="old.json"))]

    assert "take the run as the baseline from now on: cp out/report.json old.json" in entries[0]
    assert "as in old.json" in entries[1]


def test_a_shard_says_that_the_grade_is_that_of_all() -> None:
    summary = run(result(FIRST, Verdict.OK))

    lines = printed(replace(summary, run=replace(summary.run, shard=Share(number=2, of=4))))

    assert any(line.startswith("shard 2/4, ") and line.endswith("groupproof report DIR...") for line in lines)

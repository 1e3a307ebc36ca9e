from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.harness.reports.making import a_case, a_result, summary_of
from tests.harness.reports.report_of import report

from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.summary.baseline import Baseline, RunScope
from groupproof.harness.judging.summary.exit_codes import ending_of, graded, held_against
from groupproof.harness.judging.summary.grade import grade_of
from groupproof.harness.judging.summary.run_summary import RunSummary
from groupproof.harness.judging.summary.shards import Share
from groupproof.harness.model.case import Case
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.model.verdicts import Verdict


def a_required(id: str) -> Case:
    return replace(a_case(id), required=True)


A, B = a_required("join/classic/a"), a_required("sync/classic/b")
OPTION = a_case("static/classic/s")
CATALOGUE = [A, B, replace(OPTION, required=False)]


def run_of(*results: CaseResult, shard: Share | None = None, selected: list[Case] | None = None, **run: Any) -> RunSummary:
    made = summary_of(*results, selected=selected or CATALOGUE, shard=shard, **run)
    return replace(made, grade=grade_of(made.counted, CATALOGUE, "info"))


def against(run: RunSummary, **verdicts: str) -> int:
    """Return the exit code of a run against a baseline in which cases a and b came out so."""
    baseline = Baseline.of(report({{"a": A, "b": B}[name].id: (verdict, None) for name, verdict in verdicts.items()}), "old.json")
    wanted = RunScope(existing=frozenset(case.id for case in CATALOGUE), selected=frozenset(case.id for case in run.selected))
    return ending_of(held_against(run, baseline, wanted, CATALOGUE), CATALOGUE)


def test_a_shard_has_done_its_part_when_its_share_ran() -> None:
    first = run_of(a_result(case=A), shard=Share(number=1, of=2), selected=[A])

    assert (first.grade, ending_of(first, CATALOGUE)) == ("PARTIAL 1/2", 0)
    assert ending_of(replace(first, run=replace(first.run, shard=None)), CATALOGUE) == 2


@pytest.mark.parametrize(("verdict", "code"), [(Verdict.FAILED, 1), (Verdict.INCONCLUSIVE, 2), (Verdict.UNIMPLEMENTED, 2), (Verdict.BROKEN, 4)])
def test_a_shard_ends_badly_by_what_lies_in_it(verdict: Verdict, code: int) -> None:
    assert ending_of(run_of(a_result(verdict, A), shard=Share(number=1, of=2), selected=[A]), CATALOGUE) == code


def test_a_share_of_which_nothing_is_required_may_be_unimplemented() -> None:
    run = run_of(a_result(Verdict.UNIMPLEMENTED, OPTION), shard=Share(number=2, of=2), selected=[CATALOGUE[2]])

    assert (run.grade, ending_of(run, CATALOGUE)) == ("NO_VERDICT", 0)


def test_a_graded_run_says_which_required_cases_it_lacks() -> None:
    run = graded(run_of(a_result(case=A), a_result(Verdict.UNIMPLEMENTED, B), a_result(Verdict.UNIMPLEMENTED, OPTION)), CATALOGUE)

    assert (run.grade, run.unjudged) == ("PARTIAL 1/2", (B.id,))


def test_what_a_baseline_has_already_fails_nothing() -> None:
    run = run_of(a_result(Verdict.FAILED, A), a_result(Verdict.INCONCLUSIVE, B))

    assert ending_of(run, CATALOGUE) == 1
    assert against(run, a="FAILED", b="INCONCLUSIVE") == 0


@pytest.mark.parametrize(
    ("now", "code"), [(Verdict.OK, 0), (Verdict.NON_STRICT, 1), (Verdict.UNIMPLEMENTED, 1), (Verdict.INCONCLUSIVE, 2), (Verdict.BROKEN, 4)]
)
def test_a_case_that_left_ok_ends_the_run_by_what_it_is_now(now: Verdict, code: int) -> None:
    assert against(run_of(a_result(now, A), a_result(case=B)), a="OK", b="OK") == code


def test_a_case_that_vanished_or_is_new_and_fails_ends_the_run_with_1() -> None:
    assert against(run_of(a_result(case=A)), a="OK", b="FAILED") == 1
    assert against(run_of(a_result(case=A), a_result(Verdict.FAILED, B)), a="OK") == 1


def test_what_is_missing_counts_unless_the_baseline_misses_it_too() -> None:
    part = run_of(a_result(case=A), selected=[A])

    assert against(part, a="OK", b="OK") == 2
    assert against(part, a="OK") == 0


def test_a_baseline_excuses_neither_trouble_nor_staleness_nor_that_nothing_was_judged() -> None:
    broken = a_result(Verdict.INCONCLUSIVE, A, trouble=BrokenEnvironment("no port"))
    stale = summary_of(a_result(case=A), a_result(case=B), selected=CATALOGUE, stale=["entry 1: passes"])

    assert against(run_of(broken, a_result(case=B)), a="INCONCLUSIVE", b="OK") == 4
    assert against(replace(stale, grade="PASSED"), a="OK", b="OK") == 1
    assert against(run_of(a_result(Verdict.UNIMPLEMENTED, A), a_result(Verdict.UNIMPLEMENTED, B)), a="UNIMPLEMENTED", b="UNIMPLEMENTED") == 2

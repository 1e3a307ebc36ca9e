"""The exit code of a run, of one shard, and of a run that is compared with a baseline. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from groupproof.harness.judging.summary.baseline import Baseline, RunScope
from groupproof.harness.judging.summary.grade import dialects_of, exit_code, grade_of, required_of, unjudged_of
from groupproof.harness.judging.summary.run_summary import RunSummary
from groupproof.harness.model.case import Case

__all__ = ["ending_of", "graded", "held_against"]


def ending_of(run: RunSummary, catalogue: Sequence[Case]) -> int:
    """Return the exit code (contract, "Exit codes").

    A shard is complete when the required cases of its share have a verdict; the whole is graded where the shards are joined. Against a baseline,
    what is known fails nothing, and what vanished fails the run.
    """
    grade, counted, stale = _grade(run, catalogue), run.counted, run.settled.stale
    if run.delta is not None:
        counted = [count for count in counted if count.trouble is not None or count.case.id not in run.delta.known_cases]
        stale = (*stale, *run.delta.breaches)
        if grade.startswith("PARTIAL"):
            grade = grade if run.delta.lost else "PASSED"
    return exit_code(counted, grade, stale=stale, fail_on=run.run.fail_on, interrupted=run.run.interrupted)


def graded(run: RunSummary, catalogue: Sequence[Case]) -> RunSummary:
    """Return the run with its grade among these cases, the grade of each dialect where it has several, and the required cases without a verdict."""
    counted, level = run.counted, run.run.level
    unjudged = unjudged_of({count.case.id: count.verdict for count in counted}, catalogue, level)
    return replace(
        run,
        grade=grade_of(counted, catalogue, level),
        dialects=dialects_of(counted, catalogue, level),
        unjudged=tuple(case.id for case in unjudged),
    )


def held_against(run: RunSummary, baseline: Baseline, wanted: RunScope, catalogue: Sequence[Case]) -> RunSummary:
    """Return the run with its difference from the baseline."""
    required = required_of(_within(run, catalogue), run.run.level)
    delta = baseline.delta(
        [case.present for case in run.cases],
        wanted,
        about={"subject": run.subject.name, "profile": run.suite.profile},
        required=[case.id for case in required],
        fail_on=run.run.fail_on,
    )
    return replace(run, delta=delta)


def _within(run: RunSummary, catalogue: Sequence[Case]) -> Sequence[Case]:
    """Return the cases from which the grade's required ones are taken: for a shard, its share."""
    return catalogue if run.run.shard is None else run.selected


def _grade(run: RunSummary, catalogue: Sequence[Case]) -> str:
    if run.run.shard is None:
        return run.grade
    if not required_of(run.selected, run.run.level):
        return "PASSED"
    return grade_of(run.counted, run.selected, run.run.level)

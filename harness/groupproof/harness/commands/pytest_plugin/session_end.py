"""The end of a pytest session with cases: joins the results of all its processes to one report and a short summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from groupproof.harness.commands.pytest_plugin.background_run import summed_up
from groupproof.harness.commands.pytest_plugin.case_queue import SingleProcessQueue
from groupproof.harness.commands.pytest_plugin.xdist_shares import ENDED, RunEnd, SharedFolder, SharedResult
from groupproof.harness.model.case import Case
from groupproof.harness.model.errors import RunError
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.reports.report_writer import write_report

if TYPE_CHECKING:
    from groupproof.harness.commands.pytest_plugin.case_queue import CaseQueue
    from groupproof.harness.commands.pytest_plugin.run_plan import RunPlan
    from groupproof.harness.commands.pytest_plugin.xdist_shares import ShareEnd
    from groupproof.harness.running.runs.whole_run import RunOutcome

__all__ = ["SessionEnd", "closed"]

_COLOURS: Final = {"PASSED": {"green": True}, "FAILED": {"red": True}}


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnd:
    """The result of a session. `trouble` says why there is no report, or none on disk."""

    outcome: RunOutcome | None
    output: Path | None
    trouble: str = ""

    @property
    def is_vacuous(self) -> bool:
        """Return whether no case reached a verdict, which is never a pass."""
        return self.outcome is not None and self.outcome.summary.grade == "NO_VERDICT" and bool(self.outcome.summary.results)

    def tell(self, terminal: pytest.TerminalReporter) -> None:
        """Print the closing lines: tolerated deviations, stale expectations, the grade, and the report's folder."""
        terminal.section("groupproof")
        if self.outcome is not None:
            for line in _lines(self.outcome):
                terminal.write_line(line)
            grade = self.outcome.summary.grade
            terminal.write(grade, bold=True, **_COLOURS.get(grade, {"yellow": True}))
            terminal.write_line(f"  {_subject(self.outcome)}")
        if self.trouble:
            terminal.write_line(self.trouble, red=True)
        elif self.output is not None:
            terminal.write_line(f"report: {self.output / 'report.html'}")


def closed(run_plan: RunPlan, cases: Sequence[Case], engine: CaseQueue | None, folder: Path | None) -> SessionEnd | None:
    """Sum up and write the report; return None where no case was run."""
    entries, run_ends, troubles, cases = _gathered(run_plan, cases, engine, folder)
    if not run_ends:
        return SessionEnd(outcome=None, output=None, trouble=f"no report: {troubles[0]}") if troubles else None
    by_id = {case.id: case for case in cases}
    results = [result.result(by_id[result.case]) for result in entries if result.case in by_id]
    outcome = summed_up(run_plan, cases, _together(run_ends), results)
    output = run_plan.output(outcome.summary.subject)
    try:
        write_report(outcome.summary, output)
    except RunError as error:
        return SessionEnd(outcome=outcome, output=None, trouble=f"no report: {error}")
    return SessionEnd(outcome=outcome, output=output)


_Gathered = tuple[Sequence[SharedResult], list[RunEnd], list[RunError], Sequence[Case]]


def _gathered(run_plan: RunPlan, cases: Sequence[Case], engine: CaseQueue | None, folder: Path | None) -> _Gathered:
    """Return the results, the runs, their errors and the selected cases, from this process or from the xdist workers."""
    if folder is None:
        running = engine.running if isinstance(engine, SingleProcessQueue) else None
        if running is None:
            return [], [], [], cases
        return list(running.results.values()), [running.about] if running.about else [], [running.trouble] if running.trouble else [], cases
    folders = [SharedFolder(item) for item in (folder, *sorted(path for path in folder.iterdir() if path.is_dir()))]
    ended: list[ShareEnd] = [item for where in folders for item in where.everything(ENDED)]
    selected = {id for where in folders for id in where.get("selected") or ()}
    chosen = [case for case in run_plan.cases if case.id in selected]
    results = [next((result for where in folders if (result := where.result(case.id, whole=True)) is not None), None) for case in chosen]
    return (
        [item for item in results if item is not None],
        [item.about for item in ended if item.about],
        [item.trouble for item in ended if item.trouble],
        chosen,
    )


def _together(run_ends: Sequence[RunEnd]) -> RunEnd:
    """Return several runs side by side as one: from the first start to the last end, with all jobs."""
    first = min(run_ends, key=lambda end: end.started)
    end = max(end.started.timestamp() + end.duration_s for end in run_ends)
    lag = max(end.environment.get("lag_ms_worst", 0.0) for end in run_ends)
    return replace(
        first,
        jobs=sum(end.jobs for end in run_ends),
        duration_s=end - first.started.timestamp(),
        environment={**first.environment, "lag_ms_worst": lag, "processes": len(run_ends)},
        gave_up=next((end.gave_up for end in run_ends if end.gave_up), None),
    )


def _lines(outcome: RunOutcome) -> Iterator[str]:
    run = outcome.summary
    for case in run.cases:
        if case.verdict is Verdict.NON_STRICT:
            yield f"NON_STRICT {case.case.id}: {case.result.ruling.observed}"
    for stale in run.settled.stale:
        yield f"stale expectation: {stale}"
    if run.run.interrupted:
        yield f"interrupted; {len(run.unreached)} cases were not reached"
    if outcome.gave_up is not None:
        yield f"given up: {outcome.gave_up}"
    if outcome.left_out:
        yield f"a selection makes no grade: {outcome.left_out} cases that level {run.run.level} requires were left out"


def _subject(outcome: RunOutcome) -> str:
    run = outcome.summary
    counts = ", ".join(f"{count} {verdict}" for verdict, count in run.totals.items() if count)
    return f"{run.subject.title} by {run.suite.profile} in {run.run.duration_s:.1f} s: {counts or 'no case'}"

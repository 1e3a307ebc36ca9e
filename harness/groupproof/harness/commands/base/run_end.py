"""The printed end of a run: failures with their replay, stale expectations, totals, and the report's folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from groupproof.harness.commands.base.progress import STYLES
from groupproof.harness.judging.meters.all_meters import meters_of
from groupproof.harness.judging.meters.table import rows
from groupproof.harness.judging.summary.baseline import Delta
from groupproof.harness.judging.summary.run_summary import CaseReport, RunSummary
from groupproof.harness.model.report_paths import replay_line
from groupproof.harness.model.verdicts import Goodbye, Verdict
from groupproof.harness.reports.failure_groups import and_more, cause_of, folded
from groupproof.harness.reports.texts.group_cost import is_story
from groupproof.harness.reports.texts.undecided_cases import UndecidedCase, undecided_lines
from groupproof.harness.running.runs.whole_run import RunOutcome

__all__ = ["print_summary"]

_LISTED = (Verdict.EXCUSED, Verdict.NON_STRICT, Verdict.INCONCLUSIVE, Verdict.BROKEN, Verdict.FAILED)
_CHANGES_MAX = 10
_NO_FULL_VERDICT = 2  # contract, "Exit codes"


def print_summary(console: Console, outcome: RunOutcome, output: Path) -> None:
    """Print the results, the most severe last, where it is read first."""
    run = outcome.summary
    for row in _costs(run):
        console.print(row, markup=False, highlight=False, soft_wrap=True)
    for verdict in _LISTED:
        for alike in folded((case for case in run.cases if case.verdict is verdict), cause_of):
            for line in _case_lines(alike, output):
                console.print(line, soft_wrap=True)
    if outcome.summary.delta is not None:
        for line in _difference(outcome.summary.delta, output):
            console.print(line, soft_wrap=True)
    for line in _closing_lines(outcome, output):
        console.print(line, soft_wrap=True)


def _costs(run: RunSummary) -> list[str]:
    """Return the cost of each scenario to its group, as rows."""
    stories = {case.case.id.rpartition("/")[2]: case.result.plays for case in run.cases if is_story(case.case.id)}
    return rows({name: meters_of(plays[0].trace).result() for name, plays in stories.items() if plays})


def _case_lines(alike: Sequence[CaseReport], output: Path) -> Iterator[Text]:
    first, ruling = alike[0], alike[0].result.ruling
    more = f" and {len(alike) - 1} more" if len(alike) > 1 else ""
    stability = f" ({ruling.stability})" if ruling.stability not in ("1/1", "0/1") else ""
    requirements = ", ".join(first.case.requirements)
    yield Text.assemble((f"{first.verdict.value} ", STYLES[first.verdict]), (first.case.id, "bold"), f"{more}{stability}  {requirements}")
    if ruling.expected:
        yield Text(f"  expected  {ruling.expected}")
    yield Text(f"  observed  {ruling.observed}")
    if first.grounds:
        yield Text(f"  grounds   {first.grounds}")
    if len(alike) > 1:
        yield Text(f"  {and_more(case.case.id for case in alike[1:])}")
    if first.excuse is not None:
        yield Text(f"  known     {first.excuse.reason} ({first.excuse.source})")
    yield Text.assemble("  replay    ", (replay_line(str(output), first.case.id), "cyan"))


def _difference(delta: Delta, output: Path) -> Iterator[Text]:
    """Yield the differences between the run and its baseline."""
    for unlike in delta.unlike:
        yield Text.assemble(("baseline ", STYLES[Verdict.NON_STRICT]), f"{delta.name} is a run of {unlike}; what differs may be of that")
    for word, changes in delta.lists():
        is_severe = changes in (delta.moved, delta.vanished, delta.otherwise)
        for change in changes if is_severe else changes[:_CHANGES_MAX]:
            yield Text.assemble((f"{word} ", STYLES[Verdict.FAILED if is_severe else Verdict.OK]), str(change))
        if not is_severe and len(changes) > _CHANGES_MAX:
            yield Text(f"{word} and {len(changes) - _CHANGES_MAX} more")
    if delta.lost:
        yield Text("cases that are required, and had a verdict in the baseline, have none in this run")
    if delta.breaches or delta.moved:
        counts = {"moved": len(delta.moved), "vanished": len(delta.vanished), "fails in another way": len(delta.otherwise)}
        yield Text(f"the run is worse than {delta.name}: {', '.join(f'{count} {word}' for word, count in counts.items() if count)}")
    elif delta.improved or delta.new:
        yield Text(f"take the run as the baseline from now on: cp {output / 'report.json'} {delta.name}")
    else:
        yield Text(f"as in {delta.name}")


def _unjudged(outcome: RunOutcome) -> Iterator[Text]:
    """Yield what the subject lacks for a whole verdict. INCONCLUSIVE and BROKEN cases are printed above in full."""
    run = outcome.summary
    lacking = [case for case in run.cases if case.case.id in run.unjudged and case.verdict is Verdict.UNIMPLEMENTED]
    for line in undecided_lines(map(UndecidedCase.of, lacking)):
        yield Text(f"  {line}")
    if lacking and outcome.exit_code == _NO_FULL_VERDICT:
        yield Text("nothing FAILED; every client should show these cases, so that the grade is PARTIAL and the exit code 2")


def _closing_lines(outcome: RunOutcome, output: Path) -> Iterator[Text]:
    run = outcome.summary
    for stale in run.settled.stale:
        yield Text.assemble(("stale ", STYLES[Verdict.FAILED]), f"{stale}; update it with: groupproof expect update {output}")
    if run.run.interrupted:
        yield Text(f"interrupted; {len(run.unreached)} cases were not reached")
    for line in run.shared_ends:
        yield Text.assemble(("crash ", STYLES[Verdict.NON_STRICT]), line)
    if outcome.gave_up is not None:
        yield Text(f"given up: {outcome.gave_up}", style=STYLES[Verdict.BROKEN])
    counts = ", ".join(f"{count} {verdict}" for verdict, count in run.totals.items() if count)
    unclean = sum(1 for case in run.cases if case.result.ruling.goodbye is Goodbye.UNCLEAN)
    goodbyes = f"; {unclean} unclean goodbyes" if unclean else ""
    yield Text.assemble(
        (run.grade, STYLES[Verdict.OK if outcome.exit_code == 0 else Verdict.FAILED]),
        f"  {run.subject.title} by {run.suite.profile} in {run.run.duration_s:.1f} s: {counts or 'no case'}{goodbyes}",
    )
    for dialect, (grade, totals) in run.dialects.items():
        yield Text(f"  {dialect}: {grade}, {', '.join(f'{count} {verdict}' for verdict, count in totals.items() if count) or 'no case counted'}")
    yield from _unjudged(outcome)
    if run.run.shard is not None:
        yield Text(f"shard {run.run.shard}, {len(run.selected)} cases; the grade is that of all of them together: groupproof report DIR...")
    if outcome.left_out:
        yield Text(f"a selection makes no grade: {outcome.left_out} cases that level {run.run.level} requires were left out")
    yield Text(f"report: {output / 'report.html'}")

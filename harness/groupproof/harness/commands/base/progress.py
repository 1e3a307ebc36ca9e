"""The display of a running run: a bar with the running cases on a terminal, otherwise a line for each finished case."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from groupproof.harness.judging.summary.run_summary import CaseReport
from groupproof.harness.model.case import Case
from groupproof.harness.model.verdicts import Goodbye, Verdict
from groupproof.harness.running.case_runner import Progress as Stage

__all__ = ["STYLES", "ProgressDisplay", "verdict_line", "watched"]

STYLES = {
    Verdict.OK: "green",
    Verdict.INFORMATIONAL: "cyan",
    Verdict.NON_STRICT: "yellow",
    Verdict.EXCUSED: "blue",
    Verdict.UNIMPLEMENTED: "dim",
    Verdict.INCONCLUSIVE: "magenta",
    Verdict.FAILED: "bold red",
    Verdict.BROKEN: "bold red",
}

# Verdicts without a line of their own on a terminal, where the bar counts them.
_QUIET = frozenset({Verdict.OK, Verdict.INFORMATIONAL, Verdict.UNIMPLEMENTED})
_RUNNING_SHOWN_MAX = 1


class ProgressDisplay(Protocol):
    """Receives the progress of a run's cases."""

    def report(self, stage: Stage, case: Case, report: CaseReport | None) -> None: ...

    def line(self, text: str) -> None:
        """Print a line that belongs to no case."""
        ...


def verdict_line(report: CaseReport) -> Text:
    """Return one line: verdict, case, and remarks."""
    ruling = report.result.ruling
    goodbye = " UNCLEAN" if ruling.goodbye is Goodbye.UNCLEAN else ""
    stability = f" {ruling.stability}" if ruling.stability.startswith("unstable") else ""
    line = Text.assemble((f"{report.verdict.value:14}", STYLES[report.verdict]), report.case.id)
    return line.append(f"{goodbye}{stability} {report.result.duration_s:.1f} s", style="dim")


@contextmanager
def watched(console: Console, total: int) -> Iterator[ProgressDisplay]:
    """Show a run of `total` cases on `console` while the context lasts."""
    if not console.is_terminal:
        yield _Lines(console, total)
        return
    columns = (
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[counts]}"),
        TextColumn("[dim]{task.fields[running]}"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield _Bar(progress, total)


class _Lines:
    def __init__(self, console: Console, total: int) -> None:
        self._console = console
        self._total = total
        self._done = 0

    def report(self, stage: Stage, case: Case, report: CaseReport | None) -> None:
        if stage is Stage.DONE and report is not None:
            self._done += 1
            self.line(f"[{self._done}/{self._total}] {verdict_line(report).plain}")

    def line(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


class _Bar:
    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._task = progress.add_task("cases", total=total, counts="", running="")
        self._running: dict[str, None] = {}
        self._counts: dict[Verdict, int] = {}

    def report(self, stage: Stage, case: Case, report: CaseReport | None) -> None:
        if stage is Stage.STARTED:
            self._running[case.id] = None
        elif report is not None:
            self._running.pop(case.id, None)
            self._count(report)
        self._progress.update(self._task, counts=self._counted(), running=self._running_text())

    def _count(self, report: CaseReport) -> None:
        self._counts[report.verdict] = self._counts.get(report.verdict, 0) + 1
        self._progress.advance(self._task)
        if report.verdict not in _QUIET or report.result.ruling.goodbye is Goodbye.UNCLEAN:
            self._progress.console.print(verdict_line(report))

    def _counted(self) -> str:
        return " ".join(f"[{STYLES[verdict]}]{count} {verdict.value}[/]" for verdict in Verdict if (count := self._counts.get(verdict)))

    def _running_text(self) -> str:
        first = list(self._running)[:_RUNNING_SHOWN_MAX]
        more = len(self._running) - len(first)
        return ", ".join(first) + (f" and {more} more" if more > 0 else "")

    def line(self, text: str) -> None:
        self._progress.console.print(text, markup=False, highlight=False)

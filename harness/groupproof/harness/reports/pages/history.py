"""`history.html`: many runs over time, from `report.json` files alone: each subject's releases in order, and when each case moved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.reports.matrix_file import age_of
from groupproof.harness.reports.meanings import GOODBYES, GRADES, LEVELS, PROOFS, TRUTHS, VERDICTS
from groupproof.harness.reports.output_folder import check_folder, write_text
from groupproof.harness.reports.pages.matrix import Cell, Column, Row, read_columns, rows_of
from groupproof.harness.reports.pages.run_page import GRADE_COLOURS
from groupproof.harness.reports.pages.template_engine import render
from groupproof.harness.reports.pictures.palette import VERDICT_COLOURS

__all__ = ["HISTORY", "CaseHistory", "Move", "Run", "Stack", "SubjectHistory", "courses_of", "history_page", "write_history"]

HISTORY: Final = "history.html"

_STACK_PX: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """One verdict's part of a run's bar, in pixels from the top."""

    verdict: Verdict
    colour: str
    count: int
    top: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a subject, as a column."""

    number: int
    column: Column

    @property
    def release(self) -> str:
        return str(self.column.report["subject"]["version"] or "")

    @property
    def day(self) -> str:
        return str(self.column.report["run"]["started"])[:10]

    @property
    def grade(self) -> str:
        return str(self.column.report["grade"])

    @property
    def profile(self) -> str:
        return str(self.column.report["suite"]["profile"])

    @property
    def totals(self) -> dict[str, int]:
        return dict(self.column.report["totals"])

    def stacks(self, cases_max: int) -> Iterator[Stack]:
        """Yield the parts of the run's bar, which is as high as the run has cases. Severe verdicts are on top."""
        top = _STACK_PX * (1 - sum(self.totals.values()) / max(1, cases_max))
        for verdict in reversed(Verdict):
            if count := self.totals[verdict.value]:
                height = _STACK_PX * count / max(1, cases_max)
                yield Stack(verdict=verdict, colour=VERDICT_COLOURS[verdict], count=count, top=round(top, 2), height=round(height, 2))
                top += height


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A case whose verdict differs from the last run that had it. `before` is None where no earlier run had it, `now` where this run lacks it."""

    run: Run
    before: Verdict | None
    now: Verdict | None
    observed: str

    @property
    def words(self) -> str:
        if self.before is None:
            return "new"
        return f"{self.before.value} → {self.now.value if self.now is not None else 'gone'}"

    @property
    def colour(self) -> str:
        return VERDICT_COLOURS[self.now] if self.now is not None else "broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseHistory(Row):
    """One case through all runs."""

    moves: tuple[Move, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectHistory:
    """One subject: its runs, the oldest release first, and its cases."""

    side: str
    name: str
    runs: tuple[Run, ...]
    lines: tuple[CaseHistory, ...]

    @property
    def moved(self) -> list[CaseHistory]:
        """Return the cases that changed, the last changes first."""
        return sorted((line for line in self.lines if line.moves), key=lambda line: -line.moves[-1].run.number)

    @property
    def cases_max(self) -> int:
        return max(sum(run.totals.values()) for run in self.runs)

    @property
    def areas(self) -> list[tuple[str, list[CaseHistory]]]:
        return [(area, list(lines)) for area, lines in groupby(self.lines, key=lambda line: line.area)]


def write_history(dirs: Sequence[Path], output: Path) -> None:
    """Write `history.html` into `output` from the reports in `dirs`. Raise as `write_matrix` does."""
    with check_folder(output):
        write_text(output / HISTORY, history_page(courses_of(read_columns(dirs, output))))


def history_page(courses: Sequence[SubjectHistory]) -> str:
    """Return the page."""
    lines = [line for history in courses for line in history.lines]
    return render(
        "history.html.j2",
        courses=courses,
        runs=sum(len(history.runs) for history in courses),
        moved=sum(len(history.moved) for history in courses),
        areas=list(dict.fromkeys(line.area for line in lines)),
        sides=list(dict.fromkeys(history.side for history in courses)),
        counts=[
            (verdict, VERDICT_COLOURS[verdict], count) for verdict in VERDICTS if (count := sum(verdict.value in line.verdicts for line in lines))
        ],
        height=_STACK_PX,
        colours=VERDICT_COLOURS,
        grade_colours=GRADE_COLOURS,
        meanings={"verdicts": VERDICTS, "goodbyes": GOODBYES, "levels": LEVELS, "grades": GRADES, "proofs": PROOFS, "truths": TRUTHS},
    )


def courses_of(columns: Sequence[Column]) -> list[SubjectHistory]:
    """Return each subject's history, in the order in which subjects are first named."""
    subjects: dict[tuple[str, str], list[Column]] = {}
    for column in columns:
        subject = column.report["subject"]
        subjects.setdefault((subject["side"], subject["name"]), []).append(column)
    return [_course(side, name, sorted(found, key=lambda column: age_of(column.report))) for (side, name), found in subjects.items()]


def _course(side: str, name: str, columns: Sequence[Column]) -> SubjectHistory:
    runs = tuple(Run(number=number, column=column) for number, column in enumerate(columns))
    rows = rows_of(columns)
    lines = tuple(CaseHistory(id=row.id, side=row.side, case=row.case, cells=row.cells, moves=tuple(_moves(row.cells, runs))) for row in rows)
    return SubjectHistory(side=side, name=name, runs=runs, lines=lines)


def _moves(cells: Sequence[Cell | None], runs: Sequence[Run]) -> Iterator[Move]:
    """Yield each run in which the case differs from the run before. Its first appearance in the first run is no move."""
    for earlier, cell, run in zip(cells, cells[1:], runs[1:], strict=False):
        before, now = (None if item is None else item.verdict for item in (earlier, cell))
        if before is not now:
            yield Move(run=run, before=before, now=now, observed="" if cell is None else str(cell.case["observed"]))

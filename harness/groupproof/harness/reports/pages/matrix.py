"""`matrix.html`: several runs side by side, cases by subjects, from their `report.json` (or a published `matrix.json`) alone."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.model.report_json import folder_of, title_of
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.reports.matrix_file import MATRIX_JSON, matrix_json, newest_of_a_subject, read_runs
from groupproof.harness.reports.meanings import GOODBYES, GRADES, LEVELS, PROOFS, TRUTHS, VERDICTS, grade_word
from groupproof.harness.reports.output_folder import check_folder, write_text
from groupproof.harness.reports.pages.run_page import GRADE_COLOURS
from groupproof.harness.reports.pages.template_engine import render
from groupproof.harness.reports.pictures.palette import VERDICT_COLOURS
from groupproof.harness.reports.reproduction import reproduction

__all__ = ["MATRIX", "Column", "Row", "matrix_page", "read_columns", "rows_of", "write_matrix"]

MATRIX: Final = "matrix.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One run: its report, and the address of its page relative to the matrix (None: there is no page)."""

    report: Mapping[str, Any]
    link: str | None
    name: str

    @property
    def cases(self) -> dict[str, Mapping[str, Any]]:
        return {case["id"]: case for case in self.report["cases"]}

    @property
    def colour(self) -> str:
        return GRADE_COLOURS[grade_word(self.report["grade"])]

    @property
    def command(self) -> str:
        """Return the command that runs all of it again. A cell adds `--only` and its case."""
        return shlex.join(reproduction(self.report))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One case of one run."""

    verdict: Verdict
    colour: str
    case: Mapping[str, Any]
    link: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One case. A run without the case has None in its place. `side` is client or coordinator."""

    id: str
    side: str
    case: Mapping[str, Any]
    cells: tuple[Cell | None, ...]

    @property
    def area(self) -> str:
        return self.id.partition("/")[0]

    @property
    def verdicts(self) -> list[str]:
        return sorted({cell.verdict.value for cell in self.cells if cell is not None})

    @property
    def differs(self) -> bool:
        """Return whether the subjects that have the case differ in it."""
        return len(self.verdicts) > 1

    @property
    def search(self) -> str:
        observed = " ".join(str(cell.case["observed"]) for cell in self.cells if cell is not None)
        return " ".join((self.id, str(self.case["title"]), *self.case["requirements"], observed)).lower()


def write_matrix(dirs: Sequence[Path], output: Path, *, newest: bool = False) -> None:
    """Write `matrix.html` and `matrix.json` into `output` from the reports in `dirs`. With `newest`, use only the newest release of each subject.

    Raise `WrongUsage` for a folder without a report, and `BrokenEnvironment` when the page cannot be written.
    """
    columns = read_columns(dirs, output, newest=newest)
    with check_folder(output):
        write_text(output / MATRIX, matrix_page(columns))
        write_text(output / MATRIX_JSON, json.dumps(matrix_json([column.report for column in columns]), ensure_ascii=False, indent=0) + "\n")


def matrix_page(columns: Sequence[Column]) -> str:
    """Return the page."""
    rows = rows_of(columns)
    return render(
        "matrix.html.j2",
        columns=columns,
        areas=[(area, list(group)) for area, group in groupby(rows, key=lambda row: row.area)],
        rows=rows,
        counts=_counts(rows),
        colours=VERDICT_COLOURS,
        grade_colours=GRADE_COLOURS,
        meanings={"verdicts": VERDICTS, "goodbyes": GOODBYES, "levels": LEVELS, "grades": GRADES, "proofs": PROOFS, "truths": TRUTHS},
    )


def read_columns(dirs: Sequence[Path], output: Path, *, newest: bool = False) -> list[Column]:
    """Return the runs in the order of `dirs`, those of a matrix file in its order, with distinct names. Raise `WrongUsage` for anything that is no
    report."""
    if not dirs:
        raise WrongUsage("no reports to merge; name the folders that hold a report.json")
    reports = [(path, report) for path in dirs for report in read_runs(path)]
    if newest:
        kept = {id(report) for report in newest_of_a_subject(report for _, report in reports)}
        reports = [(path, report) for path, report in reports if id(report) in kept]
    titles = [title_of(report) for _, report in reports]
    return [
        Column(report=report, link=_link(path, output), name=title if titles.count(title) == 1 else f"{title} ({path})")
        for (path, report), title in zip(reports, titles, strict=True)
    ]


def _link(folder: Path, output: Path) -> str | None:
    page = folder_of(folder) / "report.html"
    return Path(os.path.relpath(page, output)).as_posix() if page.is_file() else None


def rows_of(columns: Sequence[Column]) -> list[Row]:
    """Return one row for each case of any run, areas together, in the order of the reports."""
    cases: dict[str, Mapping[str, Any]] = {}
    sides: dict[str, str] = {}
    for column in columns:
        sides.update(dict.fromkeys(column.cases.keys() - sides.keys(), column.report["subject"]["side"]))
        cases.update({id: case for id, case in column.cases.items() if id not in cases})
    areas = list(dict.fromkeys(id.partition("/")[0] for id in cases))
    ordered = sorted(cases, key=lambda id: areas.index(id.partition("/")[0]))
    by_column = [column.cases for column in columns]
    return [
        Row(
            id=id, side=sides[id], case=cases[id], cells=tuple(_cell(found.get(id), column) for column, found in zip(columns, by_column, strict=True))
        )
        for id in ordered
    ]


def _cell(case: Mapping[str, Any] | None, column: Column) -> Cell | None:
    if case is None:
        return None
    verdict = Verdict(case["verdict"])
    link = f"{column.link}#case={case['id']}" if column.link is not None else None
    return Cell(verdict=verdict, colour=VERDICT_COLOURS[verdict], case=case, link=link)


def _counts(rows: Sequence[Row]) -> list[tuple[Verdict, str, int]]:
    """Return in how many rows each verdict occurs."""
    found = {verdict: sum(verdict.value in row.verdicts for row in rows) for verdict in VERDICTS}
    return [(verdict, VERDICT_COLOURS[verdict], count) for verdict, count in found.items() if count]

"""Bring the public matrix up to date from reports: `docs/matrix/matrix.json`, the table of its page and its picture (`make matrix`).

The file keeps one run of each client, release and profile, so that the history of a client grows with its releases. Without arguments the table and
the picture are printed anew from the file (`make docs`); with `--check` it says whether they are current. The site shows the file as pages
(`ci/site_pages.py`).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from matrix_picture import matrix_picture

from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.reports.matrix_file import MATRIX_JSON, matrix_json, newest_of_a_subject, read_runs
from groupproof.harness.reports.output_folder import write_text
from groupproof.harness.reports.texts.undecided_cases import undecided_in, undecided_lines

__all__ = ["FOLDER", "documents", "latest_of_a_release", "main", "partial_grades", "published", "summary_table"]

ROOT: Final = Path(__file__).parents[1]
FOLDER: Final = ROOT / "docs/matrix"
PAGE, PICTURE = "README.md", "matrix.svg"
_TABLE: Final = re.compile(r"(<!-- printed by make docs -->\n\n).*?(\n<!-- end -->)", re.DOTALL)
_PARTIAL: Final = re.compile(r"(<!-- partial grades, printed by make docs -->\n).*?(\n<!-- end -->)", re.DOTALL)
HIDDEN: Final = frozenset({"groupproof"})
"""The reference is no client that anybody runs."""
UNDECIDED: Final = (Verdict.INCONCLUSIVE, Verdict.BROKEN)
"""What says nothing of the client: a run with such a case is not published, for a reader can't tell it from a client's fault."""


def published(folder: Path) -> list[Mapping[str, Any]]:
    """Return the runs that are published in `folder`."""
    path = folder / MATRIX_JSON
    return read_runs(path) if path.is_file() else []


def summary_table(reports: Sequence[Mapping[str, Any]]) -> str:
    """Return a Markdown table: a line for each subject and dialect, with the totals of its newest release."""
    verdicts = [verdict.value for verdict in Verdict if any(report["totals"][verdict.value] for report in reports)]
    heads = ["client", "release", "language", "protocol", "grade", *verdicts, "run on"]
    return "".join(f"| {' | '.join(line)} |\n" for line in (heads, ["---"] * len(heads), *_lines(reports, verdicts)))


def _lines(reports: Sequence[Mapping[str, Any]], verdicts: Sequence[str]) -> Iterator[list[str]]:
    for report in reports:
        subject = report["subject"]
        for dialect, part in (report.get("dialects") or {report["suite"]["dialect"]: report}).items():
            about = [subject["name"], subject["version"] or "", subject["language"] or "", dialect, part["grade"]]
            yield [*about, *(str(part["totals"][name] or "") for name in verdicts), report["run"]["started"][:10]]


def partial_grades(reports: Sequence[Mapping[str, Any]]) -> str:
    """Return a Markdown list of the subjects whose grade is PARTIAL, with the required cases that they lack; empty where there are none."""
    lacking = {report["subject"]["name"]: list(undecided_lines(undecided_in(report))) for report in reports if report["grade"].startswith("PARTIAL")}
    return "".join(f"\n- {name}: {'; '.join(lines)}" for name, lines in lacking.items()) + "\n" * bool(lacking)


def documents(reports: Sequence[Mapping[str, Any]], page: str) -> Mapping[str, str]:
    """Return the texts that are printed from the published runs, by file name; `page` is the page as it is."""
    newest = sorted(newest_of_a_subject(reports), key=lambda report: (report["subject"]["language"] or "", report["subject"]["name"]))
    text = _PARTIAL.sub(lambda found: f"{found[1]}{partial_grades(newest)}{found[2]}", page)
    table = summary_table(newest)
    return {PAGE: _TABLE.sub(lambda found: f"{found[1]}{table}{found[2]}", text), PICTURE: matrix_picture(newest)} if newest else {}


def _stale(folder: Path) -> list[str]:
    return [
        name
        for name, text in _printed(folder, published(folder)).items()
        if not (folder / name).is_file() or (folder / name).read_text(encoding="utf-8") != text
    ]


def _printed(folder: Path, reports: Sequence[Mapping[str, Any]]) -> Mapping[str, str]:
    page = folder / PAGE
    return documents(reports, page.read_text(encoding="utf-8") if page.is_file() else "")


def _is_published(run: Mapping[str, Any]) -> bool:
    if run["subject"]["name"] in HIDDEN or run["run"]["interrupted"]:
        return False
    undecided = sum(run["totals"][verdict.value] for verdict in UNDECIDED)
    if undecided:
        print(f"{run['subject']['name']} {run['subject']['version']} is left out: {undecided} cases without a verdict", file=sys.stderr)
    return not undecided


def latest_of_a_release(reports: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the last run of each subject, release and profile, in the order of their first runs."""
    found: dict[tuple[str, ...], Mapping[str, Any]] = {}
    for report in reports:
        subject, suite = report["subject"], report["suite"]
        key = (subject["side"], subject["name"], str(subject["version"]), suite["profile"], suite["dialect"])
        if key not in found or found[key]["run"]["started"] <= report["run"]["started"]:
            found[key] = report
    return list(found.values())


def main(arguments: Sequence[str], folder: Path = FOLDER) -> int:
    """Add the reports in the folders named to the matrix, or print its documents; return the exit status."""
    if "--check" in arguments:
        stale = _stale(folder)
        for name in stale:
            print(f"{folder / name} is not current; run: make docs", file=sys.stderr)
        return int(bool(stale))
    added = [run for name in arguments if (Path(name) / "report.json").is_file() for run in read_runs(Path(name))]
    reports = latest_of_a_release([*published(folder), *(run for run in added if _is_published(run))])
    folder.mkdir(parents=True, exist_ok=True)
    if added:
        write_text(folder / MATRIX_JSON, json.dumps(matrix_json(reports), ensure_ascii=False, indent=0) + "\n")
    for name, text in _printed(folder, reports).items():
        write_text(folder / name, text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

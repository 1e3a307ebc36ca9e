"""Writes a report's folder: each file whole or not at all, the case folders all at once, and never over files of others.

`report.json` comes last: where it exists, the report is complete.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from groupproof.harness.judging.meters.table import to_json
from groupproof.harness.judging.script_judgement import with_transitions
from groupproof.harness.judging.summary.run_summary import CaseReport, RunSummary
from groupproof.harness.model.errors import KitFailure
from groupproof.harness.model.report_paths import CASES, METERS, PLAN, REPLAY, STDERR, TIMELINE, case_place, replay_line, trace_name
from groupproof.harness.model.schedule_json import course_to_json
from groupproof.harness.reports.badge import badge
from groupproof.harness.reports.junit import junit
from groupproof.harness.reports.markdown_summary import summary
from groupproof.harness.reports.output_folder import MARK, check_folder, check_output, write_text
from groupproof.harness.reports.pages.case_view import CaseView, TracePicture, case_view, picture_of
from groupproof.harness.reports.pages.run_page import page
from groupproof.harness.reports.pictures.timeline import timeline_of
from groupproof.harness.reports.pictures.timeline_svg import Drawing, draw
from groupproof.harness.reports.texts.group_cost import figures_of, is_story
from groupproof.protocol.schemas import SchemaError, validate
from groupproof.protocol.trace import write_trace

__all__ = ["FILES", "schedule_of", "write_report"]

FILES: Final = ("report.html", "junit.xml", "badge.json", "summary.md", "report.json")
"""The files of a report beside its cases, in the order in which they are written."""

_MARK_TEXT = "Written by groupproof, one folder a case; the next report that is written here replaces this folder.\n"


def write_report(run: RunSummary, output: Path) -> None:
    """Write all files of the report. `output` is as the user wrote it, because replay lines use it.

    Raise `BrokenEnvironment` when the folder cannot be written, and `KitFailure` when a file does not fit its schema.
    """
    value = run.to_json(str(output))
    _validate("report", value)
    check_output(output)
    with check_folder(output):
        views, pictures = _write_cases(run, output)
        makers: Mapping[str, Callable[[], str]] = {
            "report.html": lambda: page(run, views, pictures, str(output)),
            "junit.xml": lambda: junit(run, str(output)),
            "badge.json": lambda: _json(badge(run)),
            "summary.md": lambda: summary(run, str(output)),
            "report.json": lambda: _json(value),
        }
        for name in FILES:
            write_text(output / name, makers[name]())


def _write_cases(run: RunSummary, output: Path) -> tuple[list[CaseView], dict[str, str]]:
    """Write the folders of all cases beside the old ones, then replace them. Return the views and pictures for the page."""
    fresh = Path(tempfile.mkdtemp(dir=output, prefix=".groupproof-"))
    try:
        views, pictures = [], {}
        for case in run.cases:
            case_picture = picture_of(case.result)
            views.append(case_view(case, case_picture))
            picture = _write_case(run, case, case_picture, fresh, str(output))
            if picture is not None:
                pictures[case.case.id] = picture
        (fresh / CASES).mkdir(exist_ok=True)
        (fresh / CASES / MARK).write_text(_MARK_TEXT)
        _change_over(fresh, output / CASES)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return views, pictures


def _change_over(fresh: Path, cases: Path) -> None:
    """Replace the old folders by the new ones. If that fails, the old ones stay."""
    old = fresh / "old"
    if cases.exists():
        cases.rename(old)
    try:
        (fresh / CASES).rename(cases)
    except OSError:
        if old.exists():
            old.rename(cases)
        raise


def _write_case(run: RunSummary, report: CaseReport, picture: TracePicture | None, fresh: Path, output: str) -> str | None:
    """Write one case's folder. Return its timeline for the page, or None where there was no run."""
    folder = fresh / case_place(report.case.id)
    folder.mkdir(parents=True)
    _write_plan(run, report, folder)
    (folder / REPLAY).write_text(replay_line(output, report.case.id) + "\n", encoding="utf-8")
    for number, play in enumerate(report.result.plays):
        with (folder / trace_name(number)).open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.writelines(f"{line}\n" for line in write_trace(play.trace))
    if picture is None:
        return None
    if is_story(report.case.id):
        (folder / METERS).write_text(_json(to_json(figures_of(play.trace for play in report.result.plays))), encoding="utf-8")
    (folder / STDERR).write_text(_stderr(report, picture), encoding="utf-8", errors="replace")
    drawing = draw(timeline_of(with_transitions(picture.trace)), picture.flags)
    (folder / TIMELINE).write_text(_picture(run, report, picture, drawing), encoding="utf-8", errors="replace")
    return drawing.inline(title=f"timeline of {report.case.id}")


def _picture(run: RunSummary, report: CaseReport, picture: TracePicture, drawing: Drawing) -> str:
    number = f" · run {picture.run + 1} of {len(report.result.plays)}" if len(report.result.plays) > 1 else ""
    subtitle = f"{run.subject.title} · {report.verdict.value} · {report.case.title}{number}"
    return drawing.alone(title=report.case.id, subtitle=subtitle)


def schedule_of(run: RunSummary, report: CaseReport) -> dict[str, Any]:
    """Return the schedule file of a case: what a replay needs, and the result."""
    spec = run.subject.spec
    return {
        "schema": "groupproof.schedule/1",
        "case": report.case.id,
        "seed": run.run.seed,
        "subject": spec if isinstance(spec, str) else list(spec),
        "profile": run.suite.profile,
        **({"coordinator": run.subject.coordinator} if run.subject.coordinator else {}),
        "verdict": report.result.ruling.verdict.value,
        **({"fingerprint": report.result.ruling.fingerprint} if report.result.ruling.fingerprint else {}),
        **course_to_json(report.case.plan),
        **({"origin": dict(origin)} if (origin := report.case.origin) is not None and "plan" not in origin else {}),
    }


def _write_plan(run: RunSummary, report: CaseReport, folder: Path) -> None:
    schedule = schedule_of(run, report)
    _validate("schedule", schedule)
    (folder / PLAN).write_text(_json(schedule), encoding="utf-8")


def _stderr(report: CaseReport, picture: TracePicture) -> str:
    """Return the log of the members' shims in the shown run, each line after its member's name."""
    logged = report.result.plays[picture.run].stderr
    return "".join(f"{member} | {line}\n" for member, lines in logged.items() for line in lines)


def _json(value: Any) -> str:
    try:
        return msgspec.json.format(msgspec.json.encode(value), indent=1).decode() + "\n"
    except (ValueError, OverflowError):  # half a character of a client's output, or a number of more than 64 bits
        return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def _validate(schema: str, value: Any) -> None:
    try:
        validate(schema, value)
    except SchemaError as error:
        raise KitFailure(f"the {schema} that would be written is not as its schema says: {error}") from error

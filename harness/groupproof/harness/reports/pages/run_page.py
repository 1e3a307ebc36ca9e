"""`report.html`: one run on one page that opens from disk, needs no network, and explains its words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from groupproof.harness.judging.summary.run_summary import RunSummary
from groupproof.harness.model.report_paths import replay_line
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.reports.failure_groups import cause_of, folded
from groupproof.harness.reports.meanings import GOODBYES, GRADES, LEVELS, PROOFS, TRUTHS, VERDICTS, grade_word
from groupproof.harness.reports.pages.case_view import CaseView
from groupproof.harness.reports.pages.template_engine import render
from groupproof.harness.reports.pictures.legend_svg import legend_inline
from groupproof.harness.reports.pictures.palette import VERDICT_COLOURS
from groupproof.harness.reports.pictures.timeline_svg import DEFINITIONS
from groupproof.harness.reports.texts.schedule_text import course_in_words, ground_in_words

__all__ = ["GRADE_COLOURS", "page"]

GRADE_COLOURS: Mapping[str, str] = {"PASSED": "ok", "FAILED": "failed", "PARTIAL": "nonstrict", "NO_VERDICT": "inconclusive"}


def page(run: RunSummary, views: Iterable[CaseView], pictures: Mapping[str, str], output: str) -> str:
    """Return the page. `pictures` are the inline timelines by case id. `output` is the report's folder as the user wrote it."""
    listed = list(views)
    return render(
        "report.html.j2",
        run=run,
        areas=_areas(listed),
        notable=folded(sorted((view for view in listed if view.is_notable), key=lambda view: view.severity), lambda view: cause_of(view.report)),
        notable_count=sum(view.is_notable for view in listed),
        counts=_counts(listed),
        pictures=pictures,
        definitions=DEFINITIONS,
        key=legend_inline(),
        grade_colour=GRADE_COLOURS[grade_word(run.grade)],
        colours=VERDICT_COLOURS,
        meanings={"verdicts": VERDICTS, "goodbyes": GOODBYES, "levels": LEVELS, "grades": GRADES, "proofs": PROOFS, "truths": TRUTHS},
        plan_words=course_in_words,
        member_words=ground_in_words,
        replay=lambda case: replay_line(output, case),
        grade_word=grade_word,
    )


def _areas(views: list[CaseView]) -> list[tuple[str, list[CaseView]]]:
    """Return the cases by area, areas in the order of their first case."""
    order: dict[str, int] = {}
    for view in views:
        order.setdefault(view.area, len(order))
    ordered = sorted(views, key=lambda view: order[view.area])
    return [(area, list(group)) for area, group in groupby(ordered, key=lambda view: view.area)]


def _counts(views: list[CaseView]) -> list[tuple[Verdict, str, int]]:
    """Return how many cases have each verdict that occurs. Previews count, because the page shows them too."""
    found: dict[Verdict, Any] = {verdict: sum(view.report.verdict is verdict for view in views) for verdict in VERDICTS}
    return [(verdict, VERDICT_COLOURS[verdict], count) for verdict, count in found.items() if count]

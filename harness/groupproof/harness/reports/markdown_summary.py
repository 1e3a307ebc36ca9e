"""`summary.md`: a short form of the run, for a comment on a pull request. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from groupproof.harness.judging.summary.run_summary import CaseReport, RunSummary
from groupproof.harness.model.report_paths import replay_line
from groupproof.harness.model.verdicts import Goodbye, Verdict
from groupproof.harness.reports.failure_groups import and_more, cause_of, folded
from groupproof.harness.reports.meanings import GRADES, grade_word
from groupproof.harness.reports.texts.undecided_cases import UndecidedCase, undecided_lines

__all__ = ["LISTED_MAX", "plain", "summary"]

LISTED_MAX = 50
CHARS_MAX = 60_000
"""A comment on GitHub can have 65,536 characters."""

_MARKS: Final = {"PASSED": "✅", "FAILED": "❌", "PARTIAL": "⚠️", "NO_VERDICT": "❔"}
_LISTED: Final = (Verdict.FAILED, Verdict.BROKEN, Verdict.INCONCLUSIVE, Verdict.NON_STRICT, Verdict.EXCUSED)
_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>#|~@])")


def summary(run: RunSummary, output: str) -> str:
    """Return the summary. `output` is the report's folder as the user wrote it."""
    text = (
        "\n".join([*_head(run), *_totals(run), *_unjudged(run), *_stale(run), *_ended(run), *_difference(run), *_found(run, output), *_foot(run)])
        + "\n"
    )
    return text if len(text) <= CHARS_MAX else text[:CHARS_MAX].rsplit("\n", 1)[0] + "\n\n… (cut; the whole of it is in report.html)\n"


def _head(run: RunSummary) -> Iterator[str]:
    word = grade_word(run.grade)
    share = run.run.shard
    mark = _MARKS[word] if share is None or word == "FAILED" else "🧩"
    yield f"### {mark} {plain(run.subject.title)}: {run.grade}{f' (shard {share})' if share is not None else ''}"
    yield ""
    if share is not None:
        yield f"One of {share.of} shards, {len(run.selected)} cases; the grade is that of all of them together."
        yield ""
    yield f"{GRADES[word]} {len(run.cases)} cases against {run.suite.profile}, in {run.run.duration_s:.0f} s, seed {run.run.seed}."
    if run.run.interrupted:
        yield f"**Interrupted:** {len(run.cases)} of {len(run.selected)} cases were reached."
    yield ""


def _totals(run: RunSummary) -> Iterator[str]:
    counted = {name: count for name, count in run.totals.items() if count}
    unclean = sum(case.result.ruling.goodbye is Goodbye.UNCLEAN for case in run.cases)
    if unclean:
        counted["goodbye UNCLEAN"] = unclean
    if counted:
        yield f"| {' | '.join(counted)} |"
        yield f"|{' ---: |' * len(counted)}"
        yield f"| {' | '.join(str(count) for count in counted.values())} |"
        yield ""


def _unjudged(run: RunSummary) -> Iterator[str]:
    lacking = [case for case in run.cases if case.case.id in run.unjudged and case.verdict is Verdict.UNIMPLEMENTED]
    if lacking and run.run.shard is None:
        yield "**Required cases without a verdict** (the subject lacks what they ask for):"
        yield from (f"- {plain(line)}" for line in undecided_lines(map(UndecidedCase.of, lacking)))
        yield ""


def _stale(run: RunSummary) -> Iterator[str]:
    if run.settled.stale:
        yield "**Stale expectations** (the run fails until they are corrected):"
        yield from (f"- {plain(name)}" for name in run.settled.stale)
        yield ""


def _ended(run: RunSummary) -> Iterator[str]:
    if run.shared_ends:
        yield "**Crashes beside other cases** (no case can say what caused them):"
        yield from (f"- {plain(name)}" for name in run.shared_ends)
        yield ""


def _difference(run: RunSummary) -> Iterator[str]:
    """Yield how the run differs from its baseline."""
    delta = run.delta
    if delta is None:
        return
    worse = ", ".join(f"{len(changes)} {word}" for word, changes in delta.lists() if changes in (delta.moved, delta.vanished, delta.otherwise))
    yield f"**Against {plain(delta.name)}:** {f'worse: {worse}' if worse else 'no case moved off OK, came to fail, or vanished'}."
    yield from (f"- {plain(delta.name)} is a run of {plain(name)}" for name in delta.unlike)
    yield ""
    for word, changes in delta.lists():
        yield from (f"#### {word}", "", "| case | before | now | observed |", "| --- | --- | --- | --- |")
        yield from (f"| `{change.id}` | {change.before} | {change.now} | {plain(change.observed)} |" for change in changes[:LISTED_MAX])
        yield from [f"| … and {left} more | | | |"] if (left := len(changes) - LISTED_MAX) > 0 else []
        yield ""


def _found(run: RunSummary, output: str) -> Iterator[str]:
    listed = 0
    failed: list[CaseReport] = []
    for verdict in _LISTED:
        causes = folded((case for case in run.cases if case.verdict is verdict), cause_of)
        if not causes:
            continue
        failed += [alike[0] for alike in causes if verdict is Verdict.FAILED]
        listed_causes = causes[: max(0, LISTED_MAX - listed)]
        yield from (f"#### {verdict.value}", "", "| case | expected | observed |", "| --- | --- | --- |")
        yield from (_row(alike) for alike in listed_causes)
        if left := sum(len(alike) for alike in causes[len(listed_causes) :]):
            yield f"| … and {left} more | | |"
        listed += len(causes)
        yield ""
    if failed:
        lines = (replay_line(output, case.case.id) for case in failed[:LISTED_MAX])
        yield from ("<details><summary>replay</summary>", "", "```", *lines, "```", "</details>", "")


def _row(alike: Sequence[CaseReport]) -> str:
    """Return the row of a cause: its first case, its grounds, and its other cases."""
    first = alike[0]
    ruling = first.result.ruling
    preview = " (preview, not counted)" if first.case.preview else ""
    excuse = f" Known: {first.excuse.reason} ({first.excuse.source})" if first.excuse is not None else ""
    requirements = ", ".join(first.case.requirements)
    more = f" {and_more(f'`{case.case.id}`' for case in alike[1:])}" if len(alike) > 1 else ""
    grounds = f" ({plain(first.grounds)})" if first.grounds else ""
    return f"| `{first.case.id}`{preview} {plain(requirements)}{more} | {plain(ruling.expected)} | {plain(ruling.observed + excuse)}{grounds} |"


def _foot(run: RunSummary) -> Iterator[str]:
    yield f"<sub>{plain(run.suite.standing)}</sub><br>"
    yield f"<sub>groupproof {plain(run.suite.version)} · catalogue `{run.suite.catalogue_sha256[:12]}` · every verdict can be computed again from its trace</sub>"


def plain(text: str) -> str:
    """Return text on one line without special meaning in Markdown and HTML."""
    return " ".join(_SPECIAL.sub(r"\\\1", text).split())

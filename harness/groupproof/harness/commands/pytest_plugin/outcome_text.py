"""The outcome of a case's item and its text: passed, failed, skipped, expected to fail, or an error. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from groupproof.harness.model.report_paths import replay_line
from groupproof.harness.model.verdicts import Goodbye, Verdict
from groupproof.harness.reports.pages.case_view import picture_of
from groupproof.harness.reports.texts.excerpt import excerpt_of
from groupproof.protocol.rules.requirements import UnknownRequirement, by_id

if TYPE_CHECKING:
    from groupproof.harness.commands.pytest_plugin.case_queue import Result
    from groupproof.harness.judging.summary.run_summary import CaseReport
    from groupproof.harness.model.verdicts import Finding
    from groupproof.harness.reports.texts.frame_text import FrameLine

__all__ = ["ItemOutcome", "Kind", "framed", "item_outcome"]

FRAMES_MAX: Final = 14


class Kind(Enum):
    """The kind of an item's outcome."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    EXPECTED = "xfailed"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemOutcome:
    """An item's outcome and its text; for a passed item the text is a note or empty."""

    kind: Kind
    text: str = ""


def item_outcome(result: Result, output: Path | None, fail_on: frozenset[str] = frozenset(), *, runs_xfail: bool = False) -> ItemOutcome:
    """Return the item's outcome; with `runs_xfail` a known failure fails like any other, as with pytest's own `--runxfail`."""
    report = result.report
    if report is None:
        return ItemOutcome(kind=Kind.ERROR, text=result.missing)
    kind, headline = _outcome(report, fail_on, runs_xfail=runs_xfail)
    if result.stale and kind is not Kind.ERROR:
        headline = f"stale expectation: {result.stale}" if kind is Kind.PASSED else f"{headline} (stale expectation: {result.stale})"
        kind = Kind.FAILED
    if kind in (Kind.FAILED, Kind.ERROR):
        return ItemOutcome(kind=kind, text="\n".join([headline, *_evidence(report, output)]))
    return ItemOutcome(kind=kind, text=headline)


def _outcome(report: CaseReport, fail_on: frozenset[str], *, runs_xfail: bool) -> tuple[Kind, str]:
    ruling, verdict = report.result.ruling, report.verdict
    observed = ruling.observed or verdict.value
    if report.result.trouble is not None:
        return Kind.ERROR, str(report.result.trouble)
    if report.case.preview and verdict is not Verdict.OK:
        return Kind.SKIPPED, f"preview, not counted: {verdict.value}: {observed}"
    if report.excuse is not None and not runs_xfail:
        return Kind.EXPECTED, f"{report.excuse.reason} ({report.excuse.source})"
    if ruling.goodbye is Goodbye.UNCLEAN and "unclean" in fail_on and ruling.verdict is not Verdict.FAILED:
        return Kind.FAILED, f"unclean goodbye: {ruling.goodbye_reason}"
    return _plain(report, observed, fail_on)


def _plain(report: CaseReport, observed: str, fail_on: frozenset[str]) -> tuple[Kind, str]:
    verdict = report.result.ruling.verdict
    if verdict is Verdict.FAILED:
        return Kind.FAILED, f"{_requirements(report)}: {observed}"
    if verdict is Verdict.INCONCLUSIVE:
        return Kind.FAILED, f"no verdict, which is not laid at the {report.case.side}'s door: {observed}"
    if verdict is Verdict.BROKEN:
        return Kind.ERROR, f"the shim is broken, which says nothing of the client: {observed}"
    if verdict is Verdict.UNIMPLEMENTED:
        return Kind.SKIPPED, observed
    if verdict is Verdict.NON_STRICT:
        return (Kind.FAILED if "non-strict" in fail_on else Kind.PASSED), f"{_requirements(report)}: {observed}"
    return Kind.PASSED, observed if verdict is Verdict.INFORMATIONAL else ""


def _requirements(report: CaseReport) -> str:
    decisive = [finding.requirement for finding in report.result.ruling.findings if finding.verdict is report.result.ruling.verdict]
    return ", ".join(dict.fromkeys(decisive or report.case.requirements))


def _evidence(report: CaseReport, output: Path | None) -> Iterator[str]:
    """Yield the lines under the headline: requirement, expectation, observation, frames, and the replay."""
    case, ruling = report.case, report.result.ruling
    for name in _requirements(report).split(", "):
        yield f"  requirement  {_sentence(name)}"
    if ruling.expected:
        yield f"  expected     {ruling.expected}"
    if ruling.observed:
        yield f"  observed     {ruling.observed}"
    if report.grounds:
        yield f"  grounds      {report.grounds}"
    yield from framed(_frames(report))
    if output is not None:
        if report.trace is not None:
            yield f"  trace        {output / report.trace}"
        yield f"  replay       {replay_line(str(output), case.id)}"


def _sentence(name: str) -> str:
    try:
        requirement = by_id(name)
    except UnknownRequirement:
        return name
    return f"{name} ({requirement.level.value}) {requirement.text}"


def _frames(report: CaseReport) -> list[FrameLine]:
    """Return the frame on which the verdict rests, with the frames before it."""
    picture = picture_of(report.result)
    if picture is None:
        return []
    seq = _place(picture.findings[0][0] if picture.findings else None, len(picture.trace))
    excerpt = excerpt_of(picture.trace, seq)
    upto = [line for line in excerpt.lines if excerpt.seq is None or line.seq <= excerpt.seq]
    return upto[-FRAMES_MAX:]


def _place(finding: Finding | None, length: int) -> int | None:
    return finding.seq if finding is not None and finding.seq is not None and finding.seq < length else None


def framed(lines: list[FrameLine]) -> Iterator[str]:
    """Yield the frames as lines under one heading."""
    for number, line in enumerate(lines):
        yield f"  {'frames' if number == 0 else '':<11}  {line.ms:>9.1f} ms  {line.who:<12} {line.arrow or ' '} {line.text}"

"""One case as the page shows it: required, expected and observed behaviour, the frames behind the verdict, and how to replay it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.ruling import Ruling
from groupproof.harness.judging.summary.run_summary import CaseReport
from groupproof.harness.judging.summary.verdict_grounds import proof_of
from groupproof.harness.model.case import Case
from groupproof.harness.model.report_paths import METERS, PLAN, STDERR, TIMELINE, case_place, trace_name
from groupproof.harness.model.verdicts import ADVERSE, UNDECIDED, Finding, Goodbye, Verdict
from groupproof.harness.reports.pictures.palette import VERDICT_COLOURS
from groupproof.harness.reports.pictures.timeline import Instant
from groupproof.harness.reports.pictures.timeline_svg import Flag
from groupproof.harness.reports.texts.excerpt import Excerpt, excerpt_of
from groupproof.harness.reports.texts.group_cost import Cost, cost_of, is_story
from groupproof.protocol.rules.requirements import Requirement, UnknownRequirement, by_id
from groupproof.protocol.trace import Trace

__all__ = ["CaseView", "FindingView", "TracePicture", "case_view", "picture_of"]

EXCERPTS_MAX = 3
STDERR_LINES_MAX = 15

_BLAMED = ("broken", "refused", "exit", "timeout")
_WITH_STDERR = frozenset({Verdict.FAILED, Verdict.BROKEN, Verdict.INCONCLUSIVE})


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingView:
    """A finding, the run (from 0) whose trace shows it, and the frames around it if they are worth showing."""

    finding: Finding
    run: int
    colour: str
    excerpt: Excerpt | None = None

    @property
    def proof(self) -> str:
        """Return its proof in words."""
        return proof_of(self.finding)


@dataclass(frozen=True, slots=True, kw_only=True)
class TracePicture:
    """The content of a case's picture: one of its runs, the findings that rest on it, and their flags."""

    run: int
    trace: Trace
    findings: tuple[tuple[Finding, int], ...]
    flags: tuple[Flag, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseView:
    """The data of the template. `pairs` are expected and observed sentences. Paths are relative to the report's folder."""

    report: CaseReport
    colour: str
    requirements: tuple[Requirement | str, ...]
    pairs: tuple[tuple[str, str], ...]
    adverse: tuple[FindingView, ...]
    others: tuple[FindingView, ...]
    doubt: Excerpt | None
    shown_run: int
    files: tuple[tuple[str, str], ...]
    stderr: tuple[str, ...]
    cost: Cost | None = None

    @property
    def case(self) -> Case:
        return self.report.case

    @property
    def area(self) -> str:
        return self.case.id.partition("/")[0]

    @property
    def is_notable(self) -> bool:
        """Return whether a reader should look at it first."""
        return self.report.verdict not in (Verdict.OK, Verdict.UNIMPLEMENTED) or self.report.result.ruling.goodbye is Goodbye.UNCLEAN

    @property
    def severity(self) -> int:
        """Return a sort key that puts the most severe first."""
        return -list(Verdict).index(self.report.verdict)

    @property
    def search(self) -> str:
        """Return the text that a search looks through."""
        ruling = self.report.result.ruling
        ids = [requirement if isinstance(requirement, str) else requirement.id for requirement in self.requirements]
        return " ".join((self.case.id, self.case.title, *ids, ruling.observed, ruling.goodbye_reason)).lower()


def picture_of(result: CaseResult) -> TracePicture | None:
    """Return the run to show, with its findings and flags. Return None when there was no run at all."""
    if not result.plays:
        return None
    traces = [play.trace for play in result.plays]
    placed = tuple(_placed(result, traces))
    run = placed[0][1] if placed else min(result.ruling.run, len(traces)) - 1
    flags = tuple(_flag(finding, traces[run]) for finding, at in placed if at == run and finding.seq is not None and finding.seq < len(traces[run]))
    return TracePicture(run=run, trace=traces[run], findings=placed, flags=flags)


def _placed(result: CaseResult, traces: Sequence[Trace]) -> Iterator[tuple[Finding, int]]:
    """Yield the adverse findings, the most severe first, each with the run that shows it."""
    adverse = [finding for finding in result.ruling.findings if finding.verdict in ADVERSE]
    adverse.sort(key=lambda finding: finding.verdict is not Verdict.FAILED)
    for item in adverse:
        run = item.grounds.run - 1 if item.grounds is not None else 0
        yield item, run if run < len(traces) else 0


def _flag(finding: Finding, trace: Trace) -> Flag:
    assert finding.seq is not None
    obs = trace[finding.seq]
    return Flag(at=Instant(obs.seq, obs.at_ms), words=f"{finding.requirement}: {finding.observed}", client=obs.client)


def case_view(report: CaseReport, picture: TracePicture | None) -> CaseView:
    """Return the view of one case."""
    ruling = report.result.ruling
    adverse = tuple(_adverse(report, picture))
    others = tuple(
        FindingView(finding=finding, run=0, colour=VERDICT_COLOURS[finding.verdict]) for finding in ruling.findings if finding.verdict not in ADVERSE
    )
    return CaseView(
        report=report,
        colour=VERDICT_COLOURS[report.verdict],
        requirements=tuple(_requirements(report.case, [finding_view.finding for finding_view in adverse])),
        pairs=tuple(_pairs(ruling)),
        adverse=adverse,
        others=others,
        doubt=_doubt(report, picture) if picture is not None else None,
        shown_run=picture.run if picture is not None else 0,
        files=tuple(_files(report)),
        stderr=tuple(_stderr(report, picture)) if ruling.verdict in _WITH_STDERR else (),
        cost=cost_of(report.case.id, picture.trace if picture is not None else None),
    )


def _adverse(report: CaseReport, picture: TracePicture | None) -> Iterator[FindingView]:
    if picture is None:
        return
    excerpted: set[tuple[int, int | None]] = set()
    for finding, run in picture.findings:
        place = (run, finding.seq)
        excerpt = None
        if place not in excerpted and len(excerpted) < EXCERPTS_MAX:
            excerpted.add(place)
            excerpt = excerpt_of(report.result.plays[run].trace, finding.seq)
        yield FindingView(finding=finding, run=run, colour=VERDICT_COLOURS[finding.verdict], excerpt=excerpt)


def _pairs(ruling: Ruling) -> Iterator[tuple[str, str]]:
    """Yield each expected and observed sentence that decided the verdict. Without any, yield the reason why there is no verdict."""
    decisive = [finding for finding in ruling.findings if finding.verdict is ruling.verdict and ruling.verdict not in UNDECIDED]
    if decisive:
        yield from dict.fromkeys((finding.expected, finding.observed) for finding in decisive)
    elif ruling.expected or ruling.observed:
        yield ruling.expected, ruling.observed


def _doubt(report: CaseReport, picture: TracePicture) -> Excerpt | None:
    """Return the frames behind a missing verdict, or None."""
    if report.result.ruling.verdict not in (Verdict.INCONCLUSIVE, Verdict.BROKEN):
        return None
    kit = {str(obs.body.get("name")): obs.seq for obs in reversed(picture.trace) if obs.who == "kit" and not obs.body.get("commanded")}
    return excerpt_of(picture.trace, next((kit[name] for name in _BLAMED if name in kit), None))


def _requirements(case: Case, adverse: Sequence[Finding]) -> Iterator[Requirement | str]:
    for id in dict.fromkeys([*case.requirements, *(finding.requirement for finding in adverse)]):
        try:
            yield by_id(id)
        except UnknownRequirement:
            yield id


def _files(report: CaseReport) -> Iterator[tuple[str, str]]:
    place = case_place(report.case.id)
    plays = report.result.plays
    for run in range(len(plays)):
        yield f"trace of run {run + 1}" if len(plays) > 1 else "trace", f"{place}/{trace_name(run)}"
    if plays:
        yield "timeline", f"{place}/{TIMELINE}"
    if plays and is_story(report.case.id):
        yield "meters", f"{place}/{METERS}"
    yield "schedule", f"{place}/{PLAN}"
    if plays:
        yield "stderr", f"{place}/{STDERR}"


def _stderr(report: CaseReport, picture: TracePicture | None) -> Iterator[str]:
    """Yield the last lines of the shims' logs in the shown run."""
    if picture is None:
        return
    for member, lines in report.result.plays[picture.run].stderr.items():
        yield from (f"{member}: {line}" for line in lines[-STDERR_LINES_MAX:])

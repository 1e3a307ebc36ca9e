"""Judges applications that the kit does not drive: those that connect to `serve --judge`, and recorded traces. Pure.

Because the kit does not drive these clients, it judges only what is illegal or unsafe for any client, group by group. Client ids are free text that
many members may share, so members are identified by the wire before a judge reads a frame.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from groupproof.harness.judging.case_result import CaseResult, Play
from groupproof.harness.judging.checkers.checker_registry import checkers_spoken
from groupproof.harness.judging.checkers.checker_set import CheckerSet
from groupproof.harness.judging.checkers.classic.classic_checkers import CLASSIC_CHECKERS
from groupproof.harness.judging.checkers.dialect_checkers import DialectCheckers
from groupproof.harness.judging.checkers.tracking.departures import Departures
from groupproof.harness.judging.checkers.tracking.earlier_members import EarlierMembers
from groupproof.harness.judging.checkers.tracking.process_names import with_process_names
from groupproof.harness.judging.checkers.tracking.reader_registry import membership_apis
from groupproof.harness.judging.observed.repetition import all_weighed
from groupproof.harness.judging.own_correlations import with_own_correlations
from groupproof.harness.judging.ruling import Judgement, rule_on
from groupproof.harness.model.case import Case
from groupproof.harness.model.case_dialect import case_id
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.plan import Plan
from groupproof.harness.model.report_paths import case_place
from groupproof.harness.model.requirement_levels import capped
from groupproof.harness.model.verdicts import Finding, Goodbye, Level, Verdict, worst
from groupproof.protocol.rules.dialect import Dialect
from groupproof.protocol.trace import Trace

__all__ = ["ANSWERED", "NOBODY_ASKED", "OBSERVED", "case_in", "case_of", "judge_live", "judgement_of", "result_of"]

OBSERVED: Final = "observed"
"""The area of the cases made from a live group."""
ANSWERED: Final = "answered"
"""The area of the cases made from a coordinator's answers to a group."""

NOBODY_ASKED: Final = "not judged: nobody asked to join"


def judge_live(trace: Trace, *, is_whole: bool = True) -> list[CaseResult]:
    """Return a result for each group that a member named in `trace`, in order of appearance. Unless the trace `is_whole`, members may have joined
    before it."""
    return [_judged(group, story, is_whole=is_whole) for group, story in _groups(with_own_correlations(trace))]


def _groups(trace: Trace) -> Iterator[tuple[str, Trace]]:
    """Yield each group's own trace, renumbered: every observation that names it, and the events of its connections."""
    names = list(dict.fromkeys(obs.group for obs in trace if obs.group is not None and obs.api in membership_apis()))
    for name in names:
        connections = {obs.connection for obs in trace if obs.group == name and obs.connection is not None}
        mine = [obs for obs in trace if obs.group == name or (obs.group is None and obs.connection in connections)]
        yield name, [replace(obs, seq=seq) for seq, obs in enumerate(with_process_names(mine))]


def _judged(group: str, story: Trace, *, is_whole: bool) -> CaseResult:
    evidence, departures, earlier = Evidence(story), Departures(), EarlierMembers()
    for obs in story:
        departures.follow(obs)
    spoken = checkers_spoken(obs for obs in evidence.sent if is_whole or earlier.is_judged(obs))
    is_virtual = bool(story) and story[0].clock == "virtual"
    found = [capped(finding) for part, own in spoken for found in CheckerSet(part.members).by_checker(own) for finding in found]
    findings = all_weighed(found, is_virtual=is_virtual)
    part = spoken[0][0] if spoken else CLASSIC_CHECKERS
    goodbye, why = departures.clean_close()
    judgement = judgement_of(
        part, findings, joined=departures.has_members, names_members=departures.names_members, requests=departures.requests,
        clients=sorted(departures.of), goodbye=goodbye, why=why, is_virtual=is_virtual,
    )  # fmt: skip
    return result_of(case_of(part, group, findings), judgement, story)


def result_of(case: Case, judgement: Judgement, story: Trace) -> CaseResult:
    """Return the result of a case made from a trace."""
    duration_s = (story[-1].at_ns - story[0].at_ns) / 1e9
    play = Play(trace=[replace(obs, case=case.id) for obs in story], stderr={}, duration_s=duration_s)
    return CaseResult(case=case, ruling=rule_on(case, [judgement]), plays=[play], duration_s=duration_s)


def case_of(part: DialectCheckers, group: str, findings: Sequence[Finding]) -> Case:
    """Return the case made from the members of a live group."""
    return case_in(OBSERVED, group, f"What the members of group {group!r} did", findings, part.member_requirements, dialect=part.dialect)


def case_in(area: str, group: str, title: str, findings: Sequence[Finding], requirements: Sequence[str], *, dialect: Dialect) -> Case:
    """Return the case made from a live group in an area, with the requirements of the findings and the checked ones."""
    name = case_place(case_id(area, dialect, group)).rpartition("/")[2].replace("_", "-")
    return Case(
        id=case_id(area, dialect, name),
        title=title,
        requirements=tuple(dict.fromkeys((*(finding.requirement for finding in findings), *requirements))),
        level=Level.MUST,
        plan=Plan(members=(), steps=()),
        judges=(),
    )


def judgement_of(
    part: DialectCheckers, findings: tuple[Finding, ...], *, joined: bool, names_members: bool, requests: int, clients: Sequence[str],
    goodbye: Goodbye, why: str, is_virtual: bool,
) -> Judgement:  # fmt: skip
    """Return the judgement on the members of a group, from the findings and the number of requests.

    A group in which nobody asked to join only stores offsets: it has no members to judge, and says nothing about other groups of the run.
    """
    if not joined and not names_members:
        return Judgement(verdict=Verdict.UNIMPLEMENTED, reason=NOBODY_ASKED, findings=findings, measures_lag=is_virtual)
    if not joined:
        return Judgement(verdict=Verdict.INCONCLUSIVE, reason="nobody joined", findings=findings, measures_lag=is_virtual)
    fine = Finding(
        verdict=Verdict.OK,
        requirement=part.member_requirements[0],
        expected="The members keep to the memberships that they were given.",
        observed=f"Nothing illegal in {requests} requests of {', '.join(clients)}.",
    )
    all_findings = (*findings, fine)
    verdict = worst(finding.verdict for finding in all_findings)
    return Judgement(verdict=verdict, findings=all_findings, goodbye=goodbye, goodbye_reason=why, measures_lag=is_virtual)

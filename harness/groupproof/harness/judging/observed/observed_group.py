"""What is judged of applications that the kit does not drive: those that connect to `serve --judge`, and recorded traces. Pure.

Nobody told these clients what to do, so that only what is illegal or unsafe whatever they are about can be judged, group by group. Client
ids are free text that many members may share: members are told apart by what the wire shows before a judge reads a frame.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from groupproof.harness.judging.case_result import CaseResult, Play
from groupproof.harness.judging.checkers.live_group import MEMBERSHIP
from groupproof.harness.judging.observed.process_identity import told_apart
from groupproof.harness.judging.ruling import Judgement, rule_on
from groupproof.harness.model.case import Case, Judge
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.plan import Plan
from groupproof.harness.model.report_paths import case_place
from groupproof.harness.model.requirement_levels import capped
from groupproof.harness.model.verdicts import Finding, Goodbye, Level, Verdict, worst
from groupproof.protocol.trace import Trace
from groupproof.protocol.vocabulary import Api

__all__ = ["OBSERVED", "case_of", "judge_live", "judgement_of"]

OBSERVED: Final = "observed"
"""The area of the cases that are made of a group seen live."""

_REQUIREMENTS = ("CLIENT-10", "CLIENT-11", "CLIENT-12", "CLIENT-66", "ASSIGN-09", "LEAVE-55")


def judge_live(trace: Trace, universal: Sequence[Judge]) -> list[CaseResult]:
    """Return a result for each group that somebody spoke of in `trace`, in order of appearance."""
    return [_judged(group, story, universal) for group, story in _groups(trace)]


def _groups(trace: Trace) -> Iterator[tuple[str, Trace]]:
    """Yield each group's own trace, renumbered: all that names it, and what befell the connections on which it was spoken of."""
    names = list(dict.fromkeys(seen.group for seen in trace if seen.group is not None and seen.api in MEMBERSHIP))
    for name in names:
        connections = {seen.connection for seen in trace if seen.group == name and seen.connection is not None}
        mine = [seen for seen in trace if seen.group == name or (seen.group is None and seen.connection in connections)]
        yield name, [replace(seen, seq=seq) for seq, seen in enumerate(told_apart(mine))]


def _judged(group: str, story: Trace, universal: Sequence[Judge]) -> CaseResult:
    evidence = Evidence(story)
    findings = tuple(capped(finding) for judge in universal for finding in judge(evidence))
    case = case_of(group, findings)
    judgement = _judgement(evidence, findings)
    duration_s = (story[-1].at_ns - story[0].at_ns) / 1e9
    return CaseResult(
        case=case,
        ruling=rule_on(case, [judgement]),
        plays=[Play(trace=[replace(seen, case=case.id) for seen in story], stderr={}, duration_s=duration_s)],
        duration_s=duration_s,
    )


def case_of(group: str, findings: Sequence[Finding]) -> Case:
    """Return the case that the members of a group seen live make."""
    return case_in(OBSERVED, group, f"What the members of group {group!r} did", findings, _REQUIREMENTS)


def case_in(area: str, group: str, title: str, findings: Sequence[Finding], requirements: Sequence[str]) -> Case:
    """Return the case that a group seen live makes in an area: of what was found, and of the requirements that were looked at."""
    name = case_place(f"{area}/classic/{group}").rpartition("/")[2].replace("_", "-")
    return Case(
        id=f"{area}/classic/{name}",
        title=title,
        requirements=tuple(dict.fromkeys((*(each.requirement for each in findings), *requirements))),
        level=Level.MUST,
        plan=Plan(members=(), steps=()),
        judges=(),
    )


def judgement_of(findings: tuple[Finding, ...], *, joined: bool, requests: int, clients: Sequence[str], goodbye: Goodbye, why: str) -> Judgement:
    """Return the judgement on the members of a group, from what they broke and what there was to look at."""
    if not joined:
        return Judgement(verdict=Verdict.INCONCLUSIVE, reason="nobody joined", findings=findings)
    fine = Finding(
        verdict=Verdict.OK,
        requirement=_REQUIREMENTS[0],
        expected="The members keep to the memberships that they were given.",
        observed=f"Nothing illegal in {requests} requests of {', '.join(clients)}.",
    )
    all_findings = (*findings, fine)
    return Judgement(verdict=worst(each.verdict for each in all_findings), findings=all_findings, goodbye=goodbye, goodbye_reason=why)


def _judgement(evidence: Evidence, findings: tuple[Finding, ...]) -> Judgement:
    goodbye, why = _goodbye(evidence)
    requests = [seen for seen in evidence.select("request") if seen.api in MEMBERSHIP]
    clients = sorted({seen.client for seen in requests if seen.client is not None})
    joined = any(seen.api == Api.JOIN_GROUP.title for seen in requests)
    return judgement_of(findings, joined=joined, requests=len(requests), clients=clients, goodbye=goodbye, why=why)


def _goodbye(evidence: Evidence) -> tuple[Goodbye, str]:
    """Return UNCLEAN where a dynamic member's last connection closed without LeaveGroup; who is still connected has yet to say it."""
    verdicts: list[Goodbye] = []
    for client in dict.fromkeys(seen.client for seen in evidence.select("request", Api.JOIN_GROUP) if seen.client is not None):
        spoken = [seen for seen in evidence.select("request", client=client) if seen.api in MEMBERSHIP]
        if spoken[-1].api == Api.LEAVE_GROUP.title:
            verdicts.append(Goodbye.CLEAN)
        elif _is_gone(evidence, spoken[-1].connection) and not any(seen.instance for seen in spoken):
            return Goodbye.UNCLEAN, f"{client} went without a LeaveGroup"
    return (Goodbye.CLEAN if verdicts else Goodbye.NONE), ""


def _is_gone(evidence: Evidence, connection: int | None) -> bool:
    return any(seen.who == "link" and seen.body.get("name") == "closed" and seen.connection == connection for seen in evidence.trace)

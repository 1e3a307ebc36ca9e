"""What a folded group showed as results: its members by the rules, and the group by the laws. Pure; the same in process and from Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.checkers.live_group import GroupTold, Sighting
from groupproof.harness.judging.observed.observed_group import case_in, case_of, judgement_of
from groupproof.harness.judging.ruling import RUNS, Judgement, rule_on
from groupproof.harness.model.verdicts import Finding, Proof, Verdict, worst

__all__ = ["LAWS", "results_of"]

LAWS: Final = "laws"
"""The area of the cases that are made of a group and the laws of groups."""

_REQUIREMENTS: Final = ("INV-01", "INV-04", "INV-08", "INV-12", "JOIN-13", "ASSIGN-09", "COMMIT-06", "HB-11")


def results_of(told: GroupTold) -> list[CaseResult]:
    """Return the result of a group's members and, where anybody joined, that of the group."""
    return [_members(told), *([_laws(told)] if told.joined else [])]


def _members(told: GroupTold) -> CaseResult:
    findings = tuple(finding for sighting in told.members for finding in sighting.examples)
    case = case_of(told.group, findings)
    judgement = judgement_of(
        findings, joined=told.joined, requests=told.requests, clients=told.clients, goodbye=told.goodbye, why=told.goodbye_reason
    )
    return CaseResult(case=case, ruling=rule_on(case, [judgement]), duration_s=told.duration_s)


def _laws(told: GroupTold) -> CaseResult:
    broken = tuple(finding for sighting in told.laws for finding in _weighed(sighting, is_virtual=told.is_virtual))
    fine = Finding(
        verdict=Verdict.OK, requirement=_REQUIREMENTS[0], expected="The group keeps the laws of groups.",
        observed=f"No law was broken in {told.observations} observations.",
    )  # fmt: skip
    case, findings = (
        case_in(LAWS, told.group, f"What happened in group {told.group!r}, by the laws of groups", broken, _REQUIREMENTS),
        broken or (fine,),
    )
    judgement = Judgement(verdict=worst(each.verdict for each in findings), findings=findings)
    return CaseResult(case=case, ruling=rule_on(case, [judgement]), duration_s=told.duration_s)


def _weighed(sighting: Sighting, *, is_virtual: bool) -> Iterator[Finding]:
    """Yield the findings as they count: lateness and silence in real time only when seen as often as a case is repeated (contract, Repetition)."""
    for each in sighting.examples:
        if each.proof is Proof.SAFETY or is_virtual or sighting.count >= RUNS:
            yield each
        else:
            times = "once" if sighting.count == 1 else f"{sighting.count} times"
            yield replace(each, verdict=Verdict.INFORMATIONAL, observed=f"{each.observed} Seen {times}.")

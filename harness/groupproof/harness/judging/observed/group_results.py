"""The results of one live group: its members by the rules, and the group by its invariants. Pure; the same in process and from Spark."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.checkers.checker_registry import checkers_named
from groupproof.harness.judging.checkers.classic.classic_checkers import CLASSIC_CHECKERS
from groupproof.harness.judging.checkers.dialect_checkers import DialectCheckers
from groupproof.harness.judging.checkers.live_group import FindingCount, GroupResult
from groupproof.harness.judging.observed.observed_group import case_in, case_of, judgement_of
from groupproof.harness.judging.observed.repetition import weighed
from groupproof.harness.judging.ruling import Judgement, rule_on
from groupproof.harness.model.verdicts import Finding, Verdict, worst

__all__ = ["INVARIANTS_AREA", "results_of"]

INVARIANTS_AREA: Final = "laws"
"""The area of the cases made from a group's invariants. The name is printed."""


def results_of(group: GroupResult) -> list[CaseResult]:
    """Return the result of a group's members and, if any member joined, that of the group."""
    return [_members(group), *([_invariants_result(group)] if group.joined else [])]


def _members(group: GroupResult) -> CaseResult:
    findings = _weighed(group.members, is_virtual=group.is_virtual)
    part = _part_of(group)
    case = case_of(part, group.group, findings)
    judgement = judgement_of(
        part, findings, joined=group.joined, names_members=group.names_members, requests=group.requests, clients=group.clients,
        goodbye=group.goodbye, why=group.goodbye_reason, is_virtual=group.is_virtual,
    )  # fmt: skip
    return CaseResult(case=case, ruling=rule_on(case, [judgement]), duration_s=group.duration_s)


def _invariants_result(group: GroupResult) -> CaseResult:
    part = _part_of(group)
    broken = _weighed(group.invariants, is_virtual=group.is_virtual)
    fine = Finding(
        verdict=Verdict.OK, requirement=part.invariant_requirements[0], expected="The group keeps the laws of groups.",
        observed=f"No law was broken in {group.observations} observations.",
    )  # fmt: skip
    title = f"What happened in group {group.group!r}, by the laws of groups"
    case, findings = case_in(INVARIANTS_AREA, group.group, title, broken, part.invariant_requirements, dialect=part.dialect), broken or (fine,)
    verdict = worst(finding.verdict for finding in findings)
    judgement = Judgement(verdict=verdict, findings=findings, measures_lag=group.is_virtual)
    return CaseResult(case=case, ruling=rule_on(case, [judgement]), duration_s=group.duration_s)


def _part_of(group: GroupResult) -> DialectCheckers:
    return checkers_named(group.dialect) or CLASSIC_CHECKERS


def _weighed(counts: Iterable[FindingCount], *, is_virtual: bool) -> tuple[Finding, ...]:
    return tuple(weighed(example, count.count, is_virtual=is_virtual) for count in counts for example in count.examples)

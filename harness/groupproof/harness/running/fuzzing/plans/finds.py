"""The finds of fuzzing a client: each kind of failure once, by requirement and observation, with the smallest plan that showed it. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from groupproof.harness.judging.ruling import Judgement, Ruling
from groupproof.harness.judging.summary.expectations import KnownFailure
from groupproof.harness.model.case import Case, plan_of
from groupproof.harness.model.verdicts import Finding, Proof, Verdict, fingerprint, worst
from groupproof.harness.running.fuzzing.plans.shrink_plan import size_of
from groupproof.protocol.trace import Trace

__all__ = ["Find", "Finds", "Steadiness", "kind_of", "kinds_in"]

ADVERSE = (Verdict.FAILED, Verdict.NON_STRICT)


class Steadiness(Enum):
    """How surely a failure repeats. `OURS`: the reference member fails too, so that it proves nothing about the subject."""

    UNPROVEN = "not tried again"
    STABLE = "stable"
    TIMING = "timing-dependent"
    FLEETING = "fleeting"
    OURS = "ours"


@dataclass(slots=True, kw_only=True)
class Find:
    """One kind of failure: the finding, the plan and the trace that show it, when it was first found (s), and its number of plans so far."""

    kind: str
    finding: Finding
    case: Case
    trace: Trace
    after_s: float
    ruling: Ruling | None = None
    plans: int = 1
    steadiness: Steadiness = Steadiness.UNPROVEN
    repeats: tuple[int, int] = (1, 1)
    shrunk_s: float | None = None

    @property
    def label(self) -> str:
        """Return the steadiness, with the counts of the confirmation."""
        failed, of = self.repeats
        return self.steadiness.value if self.steadiness is Steadiness.UNPROVEN else f"{self.steadiness.value} {failed}/{of}"

    @property
    def counts(self) -> bool:
        """Whether the subject is to blame: the failure repeated, or the wire proved it while the kit was in time."""
        if self.steadiness is Steadiness.FLEETING:
            was_late = any(obs.who == "kit" and obs.body.get("name") == "lag" for obs in self.trace)
            return self.finding.proof is Proof.SAFETY and not was_late
        return self.steadiness is not Steadiness.OURS

    def show(self, finding: Finding, case: Case, trace: Trace) -> None:
        """Keep the plan if it is smaller than the kept one."""
        if size_of(plan_of(case)) < size_of(plan_of(self.case)):
            self.finding, self.case, self.trace = finding, case, trace


def kind_of(finding: Finding) -> str:
    """Return the identity of a failure: the requirement and the observation, as expectations match them."""
    return fingerprint([Finding(verdict=Verdict.FAILED, requirement=finding.requirement, expected="", observed=finding.observed)])


def kinds_in(judgement: Judgement) -> dict[str, Finding]:
    """Return a run's failures of its subject, by kind."""
    return {kind_of(finding): finding for finding in judgement.findings if finding.verdict in ADVERSE}


@dataclass(slots=True)
class Finds:
    """All failures of a run; `known_failures` are excused by the subject's expectations, in any case."""

    known_failures: Iterable[KnownFailure]
    found: dict[str, Find] = field(default_factory=dict)
    excused_findings: dict[str, Finding] = field(default_factory=dict)
    excused: Counter[str] = field(default_factory=Counter)

    def reason(self, kind: str) -> str | None:
        """Return the reason and source of a known failure; None for another kind."""
        return next((f"{entry.reason} ({entry.source})" for entry in self.known_failures if entry.fails_as(kind)), None)

    def unmet(self, judgement: Judgement) -> Judgement:
        """Return the judgement with only its new failures: the others need no repetition."""
        fresh = {kind for kind in kinds_in(judgement) if kind not in self.found and self.reason(kind) is None}
        left = tuple(finding for finding in judgement.findings if finding.verdict not in ADVERSE or kind_of(finding) in fresh)
        if len(left) == len(judgement.findings) or judgement.verdict not in ADVERSE:
            return judgement
        return Judgement(verdict=worst([Verdict.OK, *(finding.verdict for finding in left)]), findings=left, receipts=judgement.receipts)

    def count(self, failures: Mapping[str, tuple[Finding, Trace]], case: Case) -> None:
        """Count a plan's known and already found failures, by kind, and keep smaller plans."""
        for kind, (finding, trace) in failures.items():
            if kind in self.found:
                self.found[kind].plans += 1
                self.found[kind].show(finding, case, trace)
            elif self.reason(kind) is not None:
                self.excused_findings[kind] = finding
                self.excused[kind] += 1

    def add(self, kind: str, finding: Finding, case: Case, trace: Trace, after_s: float) -> Find:
        self.found[kind] = Find(kind=kind, finding=finding, case=case, trace=trace, after_s=after_s)
        return self.found[kind]

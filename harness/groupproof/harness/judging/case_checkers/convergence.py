"""Liveness after healing: every member is back, and every partition has one owner, within a bound (ASSIGN-09, TRIG-03)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from groupproof.harness.judging.case_checkers.findings import end, overdue
from groupproof.harness.judging.case_checkers.trace_queries import moment
from groupproof.harness.judging.checkers.claim import Claim
from groupproof.harness.judging.settling import Settling
from groupproof.harness.model.case import checker
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.trace import Observation

__all__ = ["settles"]


@checker
def settles(
    ev: Evidence, members: tuple[str, ...], topics: Mapping[str, int], *, after: str, within_ms: float, requirement: str
) -> Iterator[Finding]:
    """Judge that the group settles with these members within the bound after an instant, and stays settled until the close.

    Late and never are treated alike: both count only where the kit itself was in time.
    """
    claim = Claim(requirement=requirement, expected="After the healing every member is back, and every partition is owned exactly once.")
    since = moment(ev, after)
    settling = Settling(members, topics, after)
    begun = _settled_from(ev, settling)
    never, late = "The group did not settle.", "The group settled late."
    found = overdue(ev, claim, begun, since=since, within_ms=within_ms, never=never, late=late, late_severity=Verdict.FAILED)
    if found is None:
        yield claim.ok("They are.", begun)
    else:
        detail = f"{found.detail}; {settling.missing()}".strip("; ")
        yield replace(found, proof=Proof.TIMING, seq=(begun or end(ev)).seq, detail=detail)


def _settled_from(ev: Evidence, settling: Settling) -> Observation | None:
    """Return the observation from which on the group stays settled until the close, or None."""
    begun: Observation | None = None
    for obs in ev.trace[: ev.closing]:
        holds = settling.feed(obs)
        if not holds:
            begun = None
        elif begun is None:
            begun = obs
    return begun

"""How a judge says what it found: the claim it tests, and the rule of what is late and what never came.

Time (contract, "Verdicts"): late is FAILED only beyond the deadline + max(500 ms, 10 %), and what never came is judged only if the run
gave it that long; otherwise `NotReached` makes the case INCONCLUSIVE.
"""

from __future__ import annotations

from groupproof.harness.evidence import Evidence, NotReached
from groupproof.harness.folds.claim import Claim, elapsed_ms, tolerated_ms, waited
from groupproof.harness.verdicts import Finding, Proof, Verdict
from groupproof.protocol.trace import Observation

__all__ = ["Claim", "elapsed_ms", "end", "overdue", "tolerated_ms", "waited"]


def end(ev: Evidence, *, whole: bool = False) -> Observation:
    """Return the observation at which the judged part of the run ends, with `whole` the goodbye included; raise `NotReached` for an empty trace."""
    if not ev.trace:
        raise NotReached("the trace is empty")
    return ev.trace[-1] if whole else ev.trace[min(ev.closing, len(ev.trace) - 1)]


def overdue(
    ev: Evidence,
    claim: Claim,
    seen: Observation | None,
    *,
    since: Observation,
    within_ms: float,
    never: str,
    late: str,
    gravity: Verdict = Verdict.FAILED,
    whole: bool = False,
) -> Finding | None:
    """Return the finding that `seen` never came or came late, None when it came in time; `whole` if it may come in the goodbye.

    Raise `NotReached` when it did not come but the run ended before its time was over.
    """
    limit = tolerated_ms(within_ms)
    if seen is not None:
        if elapsed_ms(since, seen) <= limit:
            return None
        return claim.found(gravity, late, seen, proof=Proof.TIMING, detail=f"after {elapsed_ms(since, seen):.0f} ms, due within {within_ms:.0f}")
    last = end(ev, whole=whole)
    if elapsed_ms(since, last) < within_ms:
        raise NotReached(f"the run ended before its time was over: {never}")
    return claim.found(gravity, never, since, proof=Proof.LIVENESS, detail=f"within {within_ms:.0f} ms", wait=waited(since, last, within_ms))

"""A coordinator that is away for a moment: 14, 15 and 16 do not answer the request itself, and a broker may give them at any time. Pure.

A partition of `__consumer_offsets` may change its leader whenever a broker of the cluster starts or stops (FIND-05, FIND-08 to FIND-10), and clients
retry. One such answer proves nothing: it counts if it comes in each run (contract, Repetition).
"""

from __future__ import annotations

from dataclasses import replace

from groupproof.harness.model.verdicts import ADVERSE, Finding, Proof
from groupproof.protocol.trace import Trace
from groupproof.protocol.vocabulary import COORDINATOR_UNAVAILABLE, api_named
from groupproof.protocol.wire.error_responses import error_of

__all__ = ["as_transient"]


def as_transient(finding: Finding, trace: Trace) -> Finding:
    """Return the finding, as LIVENESS where it is based on the answer of a coordinator that is away."""
    if finding.verdict not in ADVERSE or finding.proof is not Proof.SAFETY or finding.seq is None or finding.seq >= len(trace):
        return finding
    obs = trace[finding.seq]
    is_away = obs.kind == "response" and obs.api is not None and error_of(api_named(obs.api), obs.body) in COORDINATOR_UNAVAILABLE
    return replace(finding, proof=Proof.LIVENESS) if is_away else finding

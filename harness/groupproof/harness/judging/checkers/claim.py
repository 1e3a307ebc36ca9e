"""The claim that a checker tests, and the findings about it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from groupproof.harness.model.verdicts import Finding, Proof, Verdict, Wait
from groupproof.protocol.trace import Observation

__all__ = ["Claim", "elapsed_ms", "tolerated_ms", "waited"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A requirement and the sentence about one client that a judge tests."""

    requirement: str
    expected: str

    def ok(self, observed: str, obs: Observation | None = None) -> Finding:
        return self.found(Verdict.OK, observed, obs)

    def tolerated(
        self, observed: str, obs: Observation | None = None, *, detail: str = "", proof: Proof = Proof.SAFETY, wait: Wait | None = None
    ) -> Finding:
        """Return a finding of NON_STRICT."""
        return self.found(Verdict.NON_STRICT, observed, obs, detail=detail, proof=proof, wait=wait)

    def failed(
        self, observed: str, obs: Observation | None = None, *, detail: str = "", proof: Proof = Proof.SAFETY, wait: Wait | None = None
    ) -> Finding:
        return self.found(Verdict.FAILED, observed, obs, detail=detail, proof=proof, wait=wait)

    def found(
        self,
        verdict: Verdict,
        observed: str,
        obs: Observation | None = None,
        *,
        detail: str = "",
        proof: Proof = Proof.SAFETY,
        wait: Wait | None = None,
    ) -> Finding:
        return Finding(
            verdict=verdict,
            requirement=self.requirement,
            expected=self.expected,
            observed=observed,
            proof=proof,
            seq=None if obs is None else obs.seq,
            detail=detail,
            wait=wait,
        )


def tolerated_ms(deadline_ms: float) -> float:
    """Return the time (ms) up to which something due at `deadline_ms` is still in time."""
    return deadline_ms + max(500.0, deadline_ms / 10)


def elapsed_ms(since: Observation, until: Observation) -> float:
    return until.at_ms - since.at_ms


def waited(since: Observation, until: Observation, due_ms: float) -> Wait:
    """Return the wait from `since` to `until` for something that was due within `due_ms`."""
    return Wait(since=since.seq, ms=elapsed_ms(since, until), due_ms=due_ms)

"""Checks that a connection without any fault of its own stays open, whatever others send (INV-10)."""

from __future__ import annotations

from collections.abc import Iterator

from groupproof.harness.model.case import Judge
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.script import MoveGroup, Raw, Script, StopReading
from groupproof.harness.model.verdicts import Finding, Level, Proof, Verdict

__all__ = ["bystanders_stay_connected"]


def bystanders_stay_connected(script: Script, requirement: str, level: Level) -> Judge:
    """Judge that the broker ends only connections that sent raw bytes or stopped reading. `level` gives the gravity.

    Yield nothing where brokers are stopped.
    """
    suspects = {step.connection for step in script.steps if isinstance(step, Raw | StopReading)}
    otherwise = Verdict.FAILED if level is Level.MUST else Verdict.NON_STRICT

    def judge(evidence: Evidence) -> Iterator[Finding]:
        if not suspects or any(isinstance(step, MoveGroup) for step in script.steps):
            return
        for obs in evidence.select("event"):
            name = obs.body.get("connection")
            if obs.who == "link" and obs.body.get("name") == "closed" and obs.body.get("by") == "broker" and name not in suspects:
                # A broker that restarts, or finds a connection idle, ends one too (connections.max.idle.ms): one observation proves nothing.
                yield Finding(
                    verdict=otherwise, proof=Proof.LIVENESS, requirement=requirement, expected="Who sent nothing wrong keeps its connection.",
                    observed=f"The broker ended connection {name}.", seq=obs.seq,
                )  # fmt: skip

    return judge

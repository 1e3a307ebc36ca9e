"""Plans, findings and runs for the tests of what fuzzing a client finds."""

from __future__ import annotations

from groupproof.harness.cases.drawn_case import with_healing
from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.model.plan import Plan
from groupproof.harness.model.plan_builders import answers, commit, delivered, holds, passing, plan, stable, start, subject
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api

__all__ = ["busy_plan", "finding", "judgement", "step_seen", "triggered"]


def busy_plan() -> Plan:
    """Two members with settings, three faults, a commit and pauses."""
    settings = {"session_timeout_ms": 3_000, "assignors": ["range"]}
    head = plan(
        subject("m0", **settings),
        subject("m1", **settings),
        start("m0", "m1"),
        stable("m0", "m1", go_on=True),
        holds("f1", Api.JOIN_GROUP, ms=1_600, client="m1"),
        answers("f2", Api.HEARTBEAT, 27, client="m0", count=3, nth=2),
        delivered("f1", go_on=True),
        passing(800),
        answers("f3", Api.OFFSET_COMMIT, 27, client="m0"),
        commit("m0", wait=False),
        delivered("f3", go_on=True),
        passing(1_500),
        topics={"t": 3, "u": 2},
    )
    return with_healing(head)


def finding(observed: str = "It did it.", *, requirement: str = "CLIENT-68", verdict: Verdict = Verdict.NON_STRICT, **more: object) -> Finding:
    fields = {"proof": Proof.SAFETY, "seq": None, **more}
    return Finding(verdict=verdict, requirement=requirement, expected="It does not.", observed=observed, **fields)  # type: ignore[arg-type] # fields by name


def judgement(*findings: Finding) -> Judgement:
    return Judgement(verdict=findings[0].verdict if findings else Verdict.OK, findings=findings)


def step_seen(seq: int, index: int) -> Observation:
    return Observation(seq=seq, at_ns=seq, kind="event", who="kit", body={"name": "step", "index": index})


def triggered(seq: int, fault: str) -> Observation:
    return Observation(seq=seq, at_ns=seq, kind="fault", who="coordinator", fault=fault, detail="triggered", body={})

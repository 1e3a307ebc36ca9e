"""The fakes of findings, judges and cases that the tests of judging share."""

from __future__ import annotations

from tests.traces import Story

from groupproof.harness.judging.case_judgement import judge_run
from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.model.case import Case, Judge
from groupproof.harness.model.plan import Plan
from groupproof.harness.model.verdicts import Finding, Level, Proof, Verdict, Wait

__all__ = ["FAILED", "OK", "case", "finding", "judged", "says"]


def finding(verdict: Verdict, observed: str = "it did", *, proof: Proof = Proof.SAFETY, seq: int | None = None, wait: Wait | None = None) -> Finding:
    return Finding(verdict=verdict, requirement="HB-03", expected="It does.", observed=observed, proof=proof, seq=seq, wait=wait)


def says(*findings: Finding) -> Judge:
    return lambda evidence: iter(findings)


def case(*judges: Judge, plan: Plan | None = None) -> Case:
    plan = plan or Plan(members=(), steps=())
    return Case(id="a/classic/a", title="a", requirements=("HB-03",), level=Level.MUST, plan=plan, judges=judges or (says(finding(Verdict.OK)),))


def judged(story: Story, *judges: Judge, universal: tuple[Judge, ...] = (), plan: Plan | None = None) -> Judgement:
    return judge_run(case(*judges, plan=plan), story.trace, universal)


FAILED, OK = finding(Verdict.FAILED, "it did not"), finding(Verdict.OK)

"""Scenarios for tests: text of small ones, and a scenario's case carried out with the reference pair in virtual time."""

from __future__ import annotations

from groupproof.chaos.scenarios.scenario import Scenario
from groupproof.chaos.scenarios.scenario_file import read_scenario
from groupproof.clients.shims.reference import run_shim
from groupproof.harness.judging.case_result import Play
from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.model.case import Case, Judge
from groupproof.harness.model.evidence import Evidence, NotReached
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.running.plans.client_stage import Stage
from groupproof.harness.running.plans.plan_runner import Limits
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.harness.subjects.subject import ReferenceSubject

__all__ = ["HEAD", "HEALED", "carried_out", "is_met", "scenario"]

HEAD = """
title = "A crash"
story = "An instance dies."
requirements = ["TRIG-03"]
members = 3
partitions = 6
"""
HEALED = """
[[phase]]
name = "healed"
converges_within = "bound"
"""


def scenario(phases: str, *, head: str = "", after: str = "") -> Scenario:
    """Return a scenario of three members with these phases before the healing."""
    return read_scenario("a-crash", f"{HEAD}{head}\n{phases}\n{HEALED}{after}")


def carried_out(case: Case, seed: int = 1, *, variant: str | None = None) -> tuple[Play, Judgement]:
    """Return what a case of the reference pair came to, or of a `variant` of the member."""
    found: list[tuple[Play, Judgement]] = []

    async def main() -> None:
        subject = ReferenceSubject(run_shim, variant=variant)
        async with subject.opened():
            limits = Limits(steps_s=7_200, observations_max=100_000)
            stage = Stage(subject=subject, reference_peers=subject, profile="kafka-4.1", seed=seed, limits=limits)
            play = await stage.play(case, key="c1")
            found.append((play, stage.judge(case, play.trace)))

    run_virtually(main, seed=seed)
    return found[0]


def is_met(judge: Judge, ev: Evidence) -> bool:
    """Tell whether an expectation holds in a trace."""
    try:
        return all(finding.verdict is Verdict.OK for finding in judge(ev))
    except NotReached:
        return False

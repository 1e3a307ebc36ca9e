"""A case: a member whose heartbeat is answered ILLEGAL_GENERATION joins again with the id that it has. Run before a member that does, and before two that don't."""

from __future__ import annotations

from groupproof.clients.shims.reference import run_shim
from groupproof.harness.cases.client.client_case_builders import case
from groupproof.harness.judging.case_checkers import UNIVERSAL
from groupproof.harness.judging.case_checkers.reactions import Identity, recovers, rejoins, request_came
from groupproof.harness.judging.case_judgement import Judgement, judge_run
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan_builders import answers, delivered, joined, passing, plan, stable, subject
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.running.plans.client_stage import Stage
from groupproof.harness.running.plans.plan_runner import Limits
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.harness.subjects.subject import ReferenceSubject
from groupproof.protocol.vocabulary import Api, ErrorCode

CASE = case(
    "heartbeat/generation-has-passed",
    "A member told that its generation has passed joins again with its id.",
    ("CLIENT-76", "CLIENT-47"),
    # What is done: as data.
    plan(
        subject("m0", session_timeout_ms=3_000),
        *joined("m0"),
        answers("error", Api.HEARTBEAT, ErrorCode.ILLEGAL_GENERATION),
        delivered("error"),
        stable("m0", after="error", within_ms=12_000),
        passing(200),
    ),
    # What must be seen: judges, pure functions of the trace, each with its requirement.
    request_came("error", "m0", Api.HEARTBEAT, requirement="CLIENT-30"),
    rejoins("m0", after="error", requirement="CLIENT-76", identity=Identity.KEPT),
    recovers("m0", after="error", requirement="CLIENT-47"),
)


def judged(case: Case, variant: str | None) -> Judgement:
    """Carry the case out in virtual time, and judge its trace."""
    found: list[Judgement] = []

    async def main() -> None:
        client, reference_peers = ReferenceSubject(run_shim, variant=variant), ReferenceSubject(run_shim)
        async with client.opened(), reference_peers.opened():
            stage = Stage(
                subject=client, reference_peers=reference_peers, profile="kafka-4.1", seed=1, limits=Limits(steps_s=60.0, observations_max=2_500)
            )
            play = await stage.play(case, key="mine")
            found.append(judge_run(case, play.trace, UNIVERSAL))

    run_virtually(main, seed=1)
    return found[0]


for variant in (None, "ignores-heartbeat-22", "heartbeats-stop-on-22"):
    judgement = judged(CASE, variant)
    print(judgement.verdict.name, variant or "the reference member")
    for finding in judgement.findings:
        if finding.verdict is Verdict.FAILED:
            print("  observed", finding.observed)

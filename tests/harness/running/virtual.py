"""One case against the kit's own member, or a variant of it, in virtual time and one process; no run can hang."""

from __future__ import annotations

from functools import cache

from groupproof.clients.shims.reference import run_shim
from groupproof.harness.judging.case_checkers import UNIVERSAL
from groupproof.harness.judging.case_judgement import judge_run
from groupproof.harness.judging.case_result import Play
from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.model.case import Case
from groupproof.harness.running.plans.client_stage import Stage
from groupproof.harness.running.plans.plan_runner import Limits
from groupproof.harness.running.plans.retry_rhythm import MEASURING, Rhythm, rhythm_of
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.harness.subjects.subject import ReferenceSubject

__all__ = ["LIMITS", "judged", "played", "rhythm"]

LIMITS = Limits(steps_s=60.0, observations_max=2_500)
"""Seven times what the longest case of a member that behaves takes; what floods says nothing new beyond."""

TASK_STEPS_MAX = 400_000


@cache
def rhythm(variant: str) -> Rhythm:
    """Return the rhythm of a variant as it is measured before the cases."""
    return rhythm_of([played(case, variant=variant, limits=Limits(steps_s=300.0)).trace for case in MEASURING])


def played(
    case: Case,
    *,
    variant: str | None = None,
    seed: int = 1,
    rhythm: Rhythm | None = None,
    limits: Limits = LIMITS,
    draws_names: bool = False,
) -> Play:
    """Carry the case out; time passes only when everyone waits. Raise `Stuck` for a run that does not end."""
    plays: list[Play] = []

    async def main() -> None:
        subject, reference_peers = ReferenceSubject(run_shim, variant=variant), ReferenceSubject(run_shim)
        async with subject.opened(), reference_peers.opened():
            stage = Stage(
                subject=subject,
                reference_peers=reference_peers,
                profile="kafka-4.1",
                seed=seed,
                limits=limits,
                rhythm=rhythm,
                draws_names=draws_names,
            )
            plays.append(await stage.play(case, key="virtual"))

    run_virtually(main, seed=seed, steps_max=TASK_STEPS_MAX)
    return plays[0]


def judged(
    case: Case,
    *,
    variant: str | None = None,
    seed: int = 1,
    rhythm: Rhythm | None = None,
    draws_names: bool = False,
) -> tuple[Play, Judgement]:
    play = played(case, variant=variant, seed=seed, rhythm=rhythm, draws_names=draws_names)
    return play, judge_run(case, play.trace, UNIVERSAL)

"""One case against the kit's own member, or a variant of it, in virtual time and one process."""

from __future__ import annotations

import trio
import trio.testing

from groupproof.clients.shim import run_shim
from groupproof.harness.case import Case
from groupproof.harness.judges import UNIVERSAL
from groupproof.harness.judging import Judgement, judge_run
from groupproof.harness.play import Play, Stage
from groupproof.harness.subjects import ReferenceSubject

__all__ = ["judged", "played"]


def played(case: Case, *, variant: str | None = None, seed: int = 1) -> Play:
    """Carry the case out; time passes only when everyone waits."""
    plays: list[Play] = []

    async def main() -> None:
        subject, company = ReferenceSubject(run_shim, variant=variant), ReferenceSubject(run_shim)
        async with subject.opened(), company.opened():
            stage = Stage(subject=subject, company=company, profile="kafka-4.1", seed=seed)
            plays.append(await stage.play(case, key="virtual"))

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    return plays[0]


def judged(case: Case, *, variant: str | None = None, seed: int = 1) -> tuple[Play, Judgement]:
    play = played(case, variant=variant, seed=seed)
    return play, judge_run(case, play.trace, UNIVERSAL)

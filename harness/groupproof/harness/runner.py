"""Runs cases side by side and rules on each; repetition, blame and interruption are settled here.

A case of which a process shared with others died is run again with processes of its own, for the death may not be its doing; so is one that was
late while the kit itself was. Absence and lateness are looked for again, in parallel and under the same schedule. Nothing is retried until it is green.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Protocol

import trio

from groupproof.harness.canary import Canary
from groupproof.harness.case import Case
from groupproof.harness.extras import absence
from groupproof.harness.pace import Pace
from groupproof.harness.plan import Arm, Await, Command, Pass, Step
from groupproof.harness.play import Play
from groupproof.harness.rulings import RUNS, Judgement, Ruling, rule_on
from groupproof.harness.script import Pass as ScriptPass
from groupproof.harness.script import Script
from groupproof.harness.troubles import KitFailure, Trouble
from groupproof.harness.verdicts import Goodbye, Verdict
from groupproof.protocol.faults import Hold
from groupproof.protocol.trace import Trace

__all__ = ["BLURRED_MAX", "CaseResult", "Progress", "Runner", "Staged", "length_ms", "trouble_in", "unfinished"]


BLURRED_MAX = 2
"""How often a run that says nothing about the subject is had again."""


class Progress(Enum):
    """What is told of a case while the run goes on."""

    STARTED = "started"
    REPEATED = "repeated"
    DONE = "done"


@dataclass(slots=True, kw_only=True)
class CaseResult:
    """A case that was reached: its runs, the first of which is the one shown, and the ruling. `trouble` is not the subject's."""

    case: Case
    ruling: Ruling
    plays: list[Play] = field(default_factory=list)
    duration_s: float = 0.0
    trouble: Trouble | None = None


Say = Callable[[Progress, Case, CaseResult | None], None]


class Staged(Protocol):
    """Runs a case once, and judges what that leaves behind."""

    @property
    def is_virtual(self) -> bool: ...

    @property
    def canary(self) -> Canary | None: ...

    async def play(self, case: Case, *, key: str, alone: bool = False) -> Play: ...

    def judge(self, case: Case, trace: Trace) -> Judgement: ...


class Runner:
    """One run over one stage. `results` fills as cases end, so that an interrupted run keeps what it reached.

    With `is_eager` as many cases as `jobs` allows begin at once, where each costs little but its waits.
    """

    def __init__(self, stage: Staged, *, jobs: int, say: Say, is_eager: bool = False) -> None:
        self.results: list[CaseResult] = []
        self._stage = stage
        self._pace = Pace(jobs, stage.canary, is_eager=is_eager)
        self._say = say
        self._numbers = itertools.count(1)

    async def run(self, cases: Sequence[Case]) -> None:
        """Run every case, the longest first, and return when all are ruled on; the kit's own failures are among the results."""
        async with self.paced():
            await self.rule(cases)

    @asynccontextmanager
    async def paced(self) -> AsyncIterator[None]:
        """Keep the pace for as long as the context lasts: several sets of cases can be ruled on in it, one after the other or at once."""
        async with trio.open_nursery() as keeper:
            keeper.start_soon(self._pace.run)
            yield
            keeper.cancel_scope.cancel()

    def slot(self) -> AbstractAsyncContextManager[None]:
        """Return a context in which something else than a case runs, in its turn."""
        return self._pace.slot()

    async def rule(self, cases: Sequence[Case]) -> None:
        """Run the cases, the longest first, and return when they are ruled on."""
        async with trio.open_nursery() as nursery:
            for case in sorted(cases, key=length_ms, reverse=True):
                await self._pace.enter()
                nursery.start_soon(self._rule, case)

    def give_up(self, cases: Sequence[Case], trouble: Trouble) -> None:
        """Take down that the cases cannot be run at all."""
        for case in cases:
            self.results.append(unfinished(case, [], trouble))
            self._say(Progress.DONE, case, self.results[-1])

    async def _rule(self, case: Case) -> None:
        self._say(Progress.STARTED, case, None)
        began = trio.current_time()
        plays: list[Play] = []
        try:
            judgements = await self._judged(case, plays)
            result = CaseResult(case=case, ruling=rule_on(case, judgements), plays=plays)
        except Exception as error:
            result = unfinished(case, plays, trouble_in(error, case))
        result.duration_s = trio.current_time() - began
        self.results.append(result)
        self._say(Progress.DONE, case, result)

    async def _judged(self, case: Case, plays: list[Play]) -> list[Judgement]:
        """Run the case as often as its verdict needs; the slot for its first run is taken already."""
        try:
            first = await self._once(case, plays)
        finally:
            self._pace.leave()
        if not first.wants_repetition:
            return [first]
        self._say(Progress.REPEATED, case, None)
        judgements = [first]

        async def again() -> None:
            async with self._pace.slot():
                judgements.append(await self._once(case, plays))

        async with trio.open_nursery() as nursery:
            for _ in range(RUNS - 1):
                nursery.start_soon(again)
        return judgements

    async def _once(self, case: Case, plays: list[Play]) -> Judgement:
        play, judgement = await self._played(case, alone=False)
        blurs: list[str] = []
        shared_ends: list[str] = []
        for _ in range(BLURRED_MAX):
            if judgement is None or not judgement.is_blurred:
                break
            blurs.append(judgement.reason)
            shared_ends += judgement.shared_ends
            play, judgement = await self._played(case, alone=True)
        plays.append(play)
        if judgement is None:
            assert play.trouble is not None
            raise play.trouble
        return replace(judgement, blurs=tuple(blurs), shared_ends=(*shared_ends, *judgement.shared_ends)) if blurs else judgement

    async def _played(self, case: Case, *, alone: bool) -> tuple[Play, Judgement | None]:
        play = await self._stage.play(case, key=f"c{next(self._numbers)}", alone=alone)
        if play.trouble is not None:
            return play, None
        if self._stage.is_virtual:
            return play, self._stage.judge(case, play.trace)
        # In real time the cases beside it go on while a long trace is judged.
        return play, await trio.to_thread.run_sync(self._stage.judge, case, play.trace)


def unfinished(case: Case, plays: list[Play], trouble: Trouble) -> CaseResult:
    """Return the result of a case that could not be carried through: no verdict on the subject, whoever is to blame."""
    ruling = Ruling(
        verdict=Verdict.INCONCLUSIVE,
        goodbye=Goodbye.NONE,
        stability="0/1",
        expected="",
        observed=str(trouble),
        fingerprint="",
        receipts=0,
        findings=(),
    )
    return CaseResult(case=case, ruling=ruling, plays=plays, trouble=trouble)


def trouble_in(error: BaseException, case: Case | None = None) -> Trouble:
    """Return the trouble inside `error`, looking into groups; a package that is missing is the environment's, anything else the kit's own failure."""
    found = list(_leaves(error))
    for leaf in found:
        if isinstance(leaf, Trouble):
            return leaf
    if (absent := absence(found)) is not None:
        absent.__cause__ = error
        return absent
    first = found[0] if found else error
    where = f" in {case.id}" if case is not None else ""
    failure = KitFailure(f"groupproof itself failed{where}: {type(first).__name__}: {first}")
    failure.__cause__ = error
    return failure


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for each in error.exceptions for leaf in _leaves(each)]
    return [] if isinstance(error, trio.Cancelled) else [error]


def length_ms(case: Case) -> int:
    """Estimate how long a case takes: what it lets pass, keeps back and makes its members sleep, and a little for each step that waits."""
    if isinstance(case.plan, Script):
        return sum(step.ms if isinstance(step, ScriptPass) else 50 for step in case.plan.steps)
    handing_over: int = sum(member.settings.get("on_revoked", {}).get("sleep_ms", 0) for member in case.plan.members)
    return handing_over + sum(_length_ms(step) for step in case.plan.steps)


def _length_ms(step: Step) -> int:
    if isinstance(step, Pass):
        return step.ms
    if isinstance(step, Arm) and isinstance(step.fault.action, Hold):
        return step.fault.action.ms or 0
    return 100 if isinstance(step, Await | Command) else 50

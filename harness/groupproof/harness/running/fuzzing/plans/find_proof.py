"""Shrinks a find and runs it again: finds a smaller plan, how often it fails in five runs, and whether the reference member fails too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

import trio

from groupproof.harness.cases.drawn_case import drawn_case
from groupproof.harness.judging.ruling import Judgement, Ruling, rule_on
from groupproof.harness.model.case import Case, plan_of
from groupproof.harness.model.plan import Plan
from groupproof.harness.model.verdicts import Finding, Verdict
from groupproof.harness.running.fuzzing.plans.finds import Find, Steadiness, kinds_in
from groupproof.harness.running.fuzzing.plans.shrink_plan import relevant, shrink_plan, size_of
from groupproof.protocol.trace import Trace

__all__ = ["CONFIRMATIONS", "SHRINKING", "PlanRun", "Prover"]

CONFIRMATIONS: Final = 5

SHRINKING: Final = 0.75
"""The share of a find's time for shrinking; the rest is for confirming the result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRun:
    """One run of a plan with its trace; `judgement` is None where an error prevented it."""

    judgement: Judgement | None
    trace: Trace

    def found(self, kind: str) -> Finding | None:
        """Return the finding of that kind; None where the run does not show it."""
        return None if self.judgement is None else kinds_in(self.judgement).get(kind)


Play = Callable[[Case], Awaitable[PlanRun]]
"""Runs a case once."""


class Prover:
    """Shrinks and confirms the finds of one run, several plans at once. `play` runs them with the subject, `reference` with the reference member
    instead; `say` gets the progress."""

    def __init__(self, play: Play, reference: Play, *, say: Callable[[str], None]) -> None:
        self._play = play
        self._reference = reference
        self._say = say

    async def prove(self, find: Find, within_s: float) -> None:
        """Shrink the find's plan for most of `within_s` seconds, then confirm how often it fails. The smallest plan is confirmed in any case."""
        began, failing = trio.current_time(), {repr(find.case): (find.case, find.trace)}
        with trio.move_on_after(within_s * SHRINKING):
            await self._attempt(find, [relevant(plan_of(find.case), find.trace, find.finding)] * 2, failing)
            await shrink_plan(plan_of(find.case), lambda plans: self._attempt(find, plans, failing))
        find.shrunk_s = trio.current_time() - began
        await self._confirm(find, sorted(failing.values(), key=lambda item: size_of(plan_of(item[0]))), until=began + within_s)

    async def _attempt(self, find: Find, plans: Sequence[Plan], failing: dict[str, tuple[Case, Trace]]) -> list[bool]:
        self._say(f"{find.kind}: {_size(plan_of(find.case))} and less, {len(plans)} attempts")
        cases = [drawn_case(find.case.id, plan) for plan in plans]
        played = await _all(self._play, cases)
        for case, run in zip(cases, played, strict=True):
            if (finding := run.found(find.kind)) is not None:
                failing[repr(case)] = (case, run.trace)
                find.show(finding, case, run.trace)
        return [item.found(find.kind) is not None for item in played]

    async def _confirm(self, find: Find, smallest: Sequence[tuple[Case, Trace]], *, until: float) -> None:
        """Confirm the smallest plan, then larger ones, until one fails most of the time or time is up; otherwise keep the best."""
        best = -1
        for case, trace in (smallest[index] for index in _ever_further(len(smallest))):
            played = await _all(self._play, [case] * CONFIRMATIONS)
            again = [run for run in played if run.found(find.kind) is not None]
            if len(again) > best:
                best = len(again)
                find.case, find.trace = case, again[0].trace if again else trace
                find.ruling, find.repeats = _ruling(case, again), (best, CONFIRMATIONS)
            if 2 * best > CONFIRMATIONS or trio.current_time() >= until:
                break
        find.steadiness = Steadiness.STABLE if best == CONFIRMATIONS else Steadiness.TIMING if best > 0 else Steadiness.FLEETING
        if any(run.found(find.kind) is not None for run in await _all(self._reference, [find.case] * 2)):
            find.steadiness = Steadiness.OURS


def _ever_further(count: int) -> list[int]:
    """Return 0, 1, 3, 7 and so on below `count`, and the last index."""
    return sorted({min(2**step - 1, count - 1) for step in range(count.bit_length() + 1)})


async def _all(play: Play, cases: Sequence[Case]) -> list[PlanRun]:
    """Run the cases side by side."""
    results: dict[int, PlanRun] = {}

    async def one(index: int) -> None:
        results[index] = await play(cases[index])

    async with trio.open_nursery() as nursery:
        for index in range(len(cases)):
            nursery.start_soon(one, index)
    return [results[index] for index in range(len(cases))]


def _ruling(case: Case, played: Sequence[PlanRun]) -> Ruling | None:
    """Return the most common verdict of the runs, which a replay has to reproduce."""
    rulings = [rule_on(case, [run.judgement]) for run in played if run.judgement is not None]
    common = Counter((ruling.verdict, ruling.fingerprint) for ruling in rulings).most_common(1)
    return next(
        (ruling for ruling in rulings if (ruling.verdict, ruling.fingerprint) == common[0][0] and ruling.verdict is not Verdict.INCONCLUSIVE), None
    )


def _size(plan: Plan) -> str:
    faults, members, steps, *_ = size_of(plan)
    return f"{faults} faults, {members} members, {steps} steps"

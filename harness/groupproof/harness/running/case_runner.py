"""Runs cases side by side and rules on each; repetition, blame and interruption are settled here.

A case is run again with processes of its own if a process that it shared with other cases died, or if it was late while the kit was.
An absence or lateness counts only in repeated runs, in parallel and with the same schedule. A long case in the list of known failures is
repeated from the start. No case is retried until it passes.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Protocol

import trio

from groupproof.harness.judging.case_result import CaseResult, Play, unfinished
from groupproof.harness.judging.ruling import RUNS, Judgement, rule_on
from groupproof.harness.judging.tried_word import with_trial, words_of
from groupproof.harness.model.case import Case
from groupproof.harness.model.case_length import length_ms
from groupproof.harness.model.errors import RunError
from groupproof.harness.running.canary import Canary
from groupproof.harness.running.case_turns import ScheduledCase, scheduled_cases
from groupproof.harness.running.error_search import trouble_in
from groupproof.harness.running.pace import Pace
from groupproof.harness.running.runs.case_durations import expected_ms
from groupproof.protocol.trace import Trace

if TYPE_CHECKING:
    from groupproof.harness.running.shim_check.word_trial import WordTrial

__all__ = ["BLURRED_MAX", "CaseStage", "Progress", "Runner"]


BLURRED_MAX = 2
"""How often a run that proves nothing about the subject is repeated."""


class Progress(Enum):
    """The progress of a case during the run."""

    STARTED = "started"
    REPEATED = "repeated"
    DONE = "done"


Say = Callable[[Progress, Case, CaseResult | None], None]


class CaseStage(Protocol):
    """Runs a case once, and judges its trace."""

    @property
    def is_virtual(self) -> bool: ...

    @property
    def canary(self) -> Canary | None: ...

    async def play(self, case: Case, *, key: str, alone: bool = False) -> Play: ...

    def judge(self, case: Case, trace: Trace) -> Judgement: ...


@dataclass(slots=True)
class _Run:
    """One run of a case: its plays, and its judgement or the error that prevented one."""

    plays: list[Play] = field(default_factory=list)
    judgement: Judgement | None = None
    error: Exception | None = None

    @property
    def is_enough(self) -> bool:
        """Whether the run was judged and no other run is needed."""
        return self.judgement is not None and not self.judgement.wants_repetition


class Runner:
    """One run over one stage. `results` grows as cases end, so that an interrupted run keeps its results.

    With `is_eager`, `jobs` cases begin at once, for stages where a case costs little but its waits. With a `trial`, the shim is tested before
    its events decide a verdict against the client. `failing` are the ids of known failures, `client` is the client's registered name.
    """

    def __init__(
        self, stage: CaseStage, *, jobs: int, say: Say, is_eager: bool = False, trial: WordTrial | None = None, failing: Collection[str] = (),
        client: str = "",
    ) -> None:  # fmt: skip
        self.results: list[CaseResult] = []
        self._stage = stage
        self._jobs = jobs
        self._failing = failing
        self._client = client
        self._pace = Pace(jobs, stage.canary, is_eager=is_eager)
        self._say = say
        self._trial = trial
        self._numbers = itertools.count(1)

    async def run(self, cases: Sequence[Case]) -> None:
        """Run every case, the longest first; return when all have a ruling. The kit's own failures are among the results."""
        async with self.paced():
            await self.rule(cases)

    @asynccontextmanager
    async def paced(self) -> AsyncIterator[None]:
        """Keep the pace until the context ends. It allows several sets of cases, one after the other or at once."""
        async with trio.open_nursery() as keeper:
            keeper.start_soon(self._pace.run)
            yield
            keeper.cancel_scope.cancel()

    def slot(self) -> AbstractAsyncContextManager[None]:
        """Return a context that takes a case's slot for other work."""
        return self._pace.slot()

    async def rule(self, cases: Sequence[Case]) -> None:
        """Run the cases, the longest first; return when all have a ruling."""
        length = length_ms if self._stage.is_virtual else partial(expected_ms, client=self._client)
        async with trio.open_nursery() as nursery:
            for entry in scheduled_cases(cases, length, failing=self._failing, jobs=self._jobs):
                await self._pace.enter()
                nursery.start_soon(self._rule, entry)

    def give_up(self, cases: Sequence[Case], error: RunError) -> None:
        """Record that the cases cannot be run at all."""
        for case in cases:
            self.results.append(unfinished(case, [], error))
            self._say(Progress.DONE, case, self.results[-1])

    async def _rule(self, entry: ScheduledCase) -> None:
        case = entry.case
        self._say(Progress.STARTED, case, None)
        began = trio.current_time()
        plays: list[Play] = []
        try:
            judgements = await (self._judged_at_once if entry.is_repeated_at_once else self._judged)(case, plays)
            result = CaseResult(case=case, ruling=rule_on(case, judgements), plays=plays)
        except Exception as error:
            result = unfinished(case, plays, trouble_in(error, case))
        result.duration_s = trio.current_time() - began
        self.results.append(result)
        self._say(Progress.DONE, case, result)

    async def _judged(self, case: Case, plays: list[Play]) -> list[Judgement]:
        """Run the case as often as its verdict needs. The caller holds the slot of the first run."""
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

    async def _judged_at_once(self, case: Case, plays: list[Play]) -> list[Judgement]:
        """Run the case as often as a failure needs, side by side. Where the first run is enough, the others do not count."""
        first, *others = runs = [_Run() for _ in range(RUNS)]
        async with trio.open_nursery() as nursery:
            for run in others:
                nursery.start_soon(self._judge_beside, case, run, first)
            try:
                await self._judge_run(case, first)
            finally:
                self._pace.leave()
            if first.judgement is not None and first.judgement.wants_repetition:
                self._say(Progress.REPEATED, case, None)
        counted = [first] if first.is_enough else runs
        plays.extend(play for run in counted for play in run.plays)
        for run in counted:
            if run.error is not None:
                raise run.error
        return [run.judgement for run in counted if run.judgement is not None]

    async def _judge_beside(self, case: Case, run: _Run, first: _Run) -> None:
        async with self._pace.slot():
            if not first.is_enough:
                await self._judge_run(case, run)

    async def _judge_run(self, case: Case, run: _Run) -> None:
        try:
            run.judgement = await self._once(case, run.plays)
        except Exception as error:
            run.error = error

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
        judgement = await self._judge(case, play.trace)
        if self._trial is None or not (words := words_of(judgement)):
            return play, judgement
        found = await self._trial.of(words)
        play = replace(play, trace=with_trial(play.trace, found.tried, found.refuted))
        return play, await self._judge(case, play.trace)

    async def _judge(self, case: Case, trace: Trace) -> Judgement:
        if self._stage.is_virtual:
            return self._stage.judge(case, trace)
        # In real time other cases continue while a long trace is judged.
        return await trio.to_thread.run_sync(self._stage.judge, case, trace)

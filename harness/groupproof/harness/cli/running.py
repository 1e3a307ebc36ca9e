"""One whole run of a subject: opened, its selected cases run and ruled on, the known failures settled, and summed up for the report.

An interruption ends it early and keeps what was reached. A shim that breaks its contract in every one of the first cases is not asked
for more: the rest would say the same.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Any

import trio

from groupproof.harness.canary import Canary
from groupproof.harness.candidates import Candidate, company
from groupproof.harness.case import Case
from groupproof.harness.contract_lines import Hello
from groupproof.harness.driver import Limits
from groupproof.harness.expectations import Expectations, Known, Observed, settle
from groupproof.harness.grade import exit_code, grade_of
from groupproof.harness.hold import Hold
from groupproof.harness.judging import Ruling
from groupproof.harness.pauses import set_aside, short_pauses
from groupproof.harness.play import Stage
from groupproof.harness.report import CaseReport, RunInfo, RunSummary, SubjectInfo, SuiteInfo
from groupproof.harness.runner import CaseResult, Progress, Runner, trouble_in
from groupproof.harness.signals import mind_signals
from groupproof.harness.suites import CASES
from groupproof.harness.verdicts import Goodbye, Verdict
from groupproof.harness.version import release
from groupproof.harness.virtual_time import run_virtually

__all__ = ["Order", "Outcome", "Run"]

BROKEN_MAX = 8
"""How many cases in a row, from the first on, may be BROKEN, or fail by the environment, before the run is given up."""

Say = Callable[[Progress, Case, CaseReport | None], None]
OnHello = Callable[[Hello], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be run, and how."""

    cases: Sequence[Case]
    profile: str
    level: str
    seed: int
    jobs: int
    command: Sequence[str]
    timeout_s: float | None = None
    bind: str = "127.0.0.1"
    advertise: str | None = None
    fail_on: frozenset[str] = frozenset()
    expectations: Expectations = field(default_factory=Expectations)
    hold: Hold | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a run came to. `gave_up` says why it ended before its last case, when it was neither finished nor interrupted."""

    summary: RunSummary
    exit_code: int
    gave_up: str | None = None


class Run:
    """One run; `say` is told of each case, `on_hello` of the subject before the first."""

    def __init__(self, candidate: Candidate, order: Order, *, say: Say, on_hello: OnHello) -> None:
        self._candidate = candidate
        self._order = order
        self._say = say
        self._on_hello = on_hello
        self._canary = Canary()
        self._scope = trio.CancelScope()
        self._results: Sequence[CaseResult] = ()
        self._hello: Hello | None = None
        self._is_interrupted = False
        self._gave_up: str | None = None

    def go(self) -> Outcome:
        """Block until the run is over. Raise `Trouble` when the subject can't be had at all; what goes wrong in a case is in its result.

        `KeyboardInterrupt` comes out where there is nothing yet to report.
        """
        started, began = datetime.now(UTC), time.monotonic()
        try:
            with short_pauses():
                self._run()
        except ExceptionGroup as error:
            raise trouble_in(error) from error
        if self._hello is None:
            raise KeyboardInterrupt
        return self._outcome(self._hello, started, time.monotonic() - began)

    def _run(self) -> None:
        if self._candidate.subject.is_virtual:
            run_virtually(self._main, seed=self._order.seed)
        else:
            trio.run(self._main, clock=None if self._order.hold is None else self._order.hold.clock)

    async def _main(self) -> None:
        subject = self._candidate.subject
        others = company(is_virtual=subject.is_virtual)
        async with trio.open_nursery() as nursery:
            await nursery.start(mind_signals, self._interrupted)
            if not subject.is_virtual:
                nursery.start_soon(self._canary.run)
            if self._order.hold is not None:
                nursery.start_soon(self._order.hold.mind_keyboard)
            with self._scope:
                async with subject.opened(), others.opened():
                    self._hello = subject.hello
                    self._on_hello(subject.hello)
                    await self._rule(self._stage())
            nursery.cancel_scope.cancel()

    def _interrupted(self) -> None:
        self._is_interrupted = True
        self._scope.cancel()

    def _stage(self) -> Stage:
        order, subject = self._order, self._candidate.subject
        return Stage(
            subject=subject,
            company=company(is_virtual=subject.is_virtual),
            profile=order.profile,
            seed=order.seed,
            bind=order.bind,
            advertise=order.advertise,
            limits=Limits() if order.timeout_s is None else Limits(steps_s=order.timeout_s),
            canary=None if subject.is_virtual else self._canary,
            on_started=None if order.hold is None else order.hold.on_started,
        )

    async def _rule(self, stage: Stage) -> None:
        able = stage.subject.hello.capabilities
        runner = Runner(stage, jobs=self._order.jobs, say=self._told)
        self._results = runner.results
        for case in self._order.cases:
            if not case.needs <= able:
                runner.results.append(_unimplemented(case, case.needs - able))
                self._told(Progress.DONE, case, runner.results[-1])
        await runner.run([case for case in self._order.cases if case.needs <= able])

    def _told(self, progress: Progress, case: Case, result: CaseResult | None) -> None:
        self._say(progress, case, None if result is None else CaseReport(result=result, excuse=self._excuse(result)))
        if progress is Progress.DONE:
            set_aside()
        ran = [each for each in self._results if each.ruling.verdict is not Verdict.UNIMPLEMENTED]
        if progress is Progress.DONE and len(ran) == BROKEN_MAX and all(_is_in_vain(each) for each in ran):
            self._gave_up = _gave_up(ran)
            self._scope.cancel()

    @property
    def _release(self) -> str:
        return self._candidate.release or (self._hello.version if self._hello else "")

    def _known(self) -> tuple[Known, ...]:
        return self._order.expectations.about(self._release, self._order.profile)

    def _excuse(self, result: CaseResult) -> Known | None:
        return settle(self._known(), [_observed(result)], date.today()).excused.get(result.case.id)

    def _outcome(self, hello: Hello, started: datetime, duration_s: float) -> Outcome:
        order, results = self._order, list(self._results)
        settled = settle(self._known(), [_observed(each) for each in results], date.today())
        summary = RunSummary(
            suite=SuiteInfo(version=release(), profile=order.profile),
            subject=self._subject_info(hello),
            run=self._run_info(started, duration_s),
            results=results,
            grade="NO_VERDICT",
            selected=order.cases,
            settled=settled,
        )
        summary = replace(summary, grade=grade_of(summary.counted, CASES, order.level))
        code = exit_code(summary.counted, summary.grade, stale=settled.stale, fail_on=order.fail_on, interrupted=self._is_interrupted)
        return Outcome(summary=summary, exit_code=code, gave_up=self._gave_up)

    def _subject_info(self, hello: Hello) -> SubjectInfo:
        return SubjectInfo(
            name=self._candidate.name if self._candidate.release else hello.client,
            version=self._release,
            language=hello.language,
            capabilities=sorted(hello.capabilities),
            spec=self._candidate.spec,
        )

    def _run_info(self, started: datetime, duration_s: float) -> RunInfo:
        order = self._order
        return RunInfo(
            seed=order.seed,
            started=started.isoformat(timespec="seconds"),
            duration_s=duration_s,
            jobs=order.jobs,
            command=list(order.command),
            environment=self._environment(),
            clock="virtual" if self._candidate.subject.is_virtual else "wall",
            level=order.level,
            fail_on=order.fail_on,
            interrupted=self._is_interrupted,
        )

    def _environment(self) -> dict[str, Any]:
        return {
            "python": platform.python_version(),
            "platform": platform.platform(),
            "cpus": os.cpu_count() or 1,
            "lag_ms_worst": round(self._canary.worst_ms, 1),
        }


def _is_in_vain(result: CaseResult) -> bool:
    return result.trouble is not None or result.ruling.verdict is Verdict.BROKEN


def _gave_up(ran: Sequence[CaseResult]) -> str:
    troubles = [each.trouble for each in ran if each.trouble is not None]
    if troubles:
        return f"none of the first {BROKEN_MAX} cases could be carried through: {troubles[0]}"
    return f"the first {BROKEN_MAX} cases are all BROKEN; try the shim with: groupproof shim check"


def _observed(result: CaseResult) -> Observed:
    return Observed(case=result.case.id, verdict=result.ruling.verdict, fingerprint=result.ruling.fingerprint)


def _unimplemented(case: Case, missing: Collection[str]) -> CaseResult:
    ruling = Ruling(
        verdict=Verdict.UNIMPLEMENTED,
        goodbye=Goodbye.NONE,
        stability="0/0",
        expected="",
        observed=f"Its shim declares no {' and no '.join(sorted(missing))}.",
        fingerprint="",
        receipts=0,
        findings=(),
    )
    return CaseResult(case=case, ruling=ruling)

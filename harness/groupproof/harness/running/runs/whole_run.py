"""One whole run, for either side: runs and rules on the selected cases, settles the known failures, and sums up for the report.

An interruption ends the run early and keeps the results so far. The run also ends when none of the first cases can be run,
or when the subject fails in the middle: the remaining cases would end alike.
"""

from __future__ import annotations

import os
import platform
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import trio

from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.summary.baseline import Baseline, RunScope
from groupproof.harness.judging.summary.exit_codes import ending_of, graded, held_against
from groupproof.harness.judging.summary.expectations import CaseVerdict, Expectations, KnownFailure, settle, verdict_of
from groupproof.harness.judging.summary.grade import required_of
from groupproof.harness.judging.summary.run_summary import CaseReport, RunInfo, RunSummary, SubjectInfo, SuiteInfo
from groupproof.harness.judging.summary.shards import Share
from groupproof.harness.model.case import Case
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.running.canary import Canary
from groupproof.harness.running.case_runner import Progress
from groupproof.harness.running.error_search import trouble_in
from groupproof.harness.running.gc_pauses import set_aside, short_pauses
from groupproof.harness.running.hold import Hold
from groupproof.harness.running.signals import mind_signals
from groupproof.harness.subjects.client_registry import Candidate
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.harness.subjects.shims.contract_lines import Hello
from groupproof.protocol.kit_release import release

__all__ = ["BROKEN_MAX", "GONE_MAX", "CertifyRun", "RunConfig", "RunOutcome", "Say", "info_of"]

BROKEN_MAX = 8
"""How many cases from the first on may be BROKEN, or fail because of the environment, before the run is given up."""

GONE_MAX = 16
"""How many later cases in a row may fail because of the environment before the run is given up. The results so far stay."""

Say = Callable[[Progress, Case, CaseReport | None], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """What to run, and how. For a shard, `elsewhere` are the cases of the other shards; for a baseline, `wanted` is the user's selection."""

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
    shard: Share | None = None
    elsewhere: frozenset[str] = frozenset()
    baseline: Baseline | None = None
    wanted: RunScope = field(default_factory=RunScope)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """The result of a run. `gave_up` says why it ended before its last case, unless it was interrupted; `left_out` is
    the number of cases missing for the grade because they were not selected; `notes` are printed beside the verdicts."""

    summary: RunSummary
    exit_code: int
    gave_up: str | None = None
    left_out: int = 0
    notes: tuple[str, ...] = ()


class CertifyRun(ABC):
    """One run; `say` gets each case. A subclass for each side runs its cases and describes its subject."""

    hint_where_broken = ""
    """The advice where every case is BROKEN."""
    hint_where_troubled = ""
    """The advice where no case could be carried through."""

    def __init__(self, config: RunConfig, catalogue: Sequence[Case], *, say: Say, is_virtual: bool) -> None:
        self.config = config
        self.canary = Canary()
        self.is_virtual = is_virtual
        self.results: Sequence[CaseResult] = ()
        self._catalogue = catalogue
        self._say = say
        self._scope = trio.CancelScope()
        self._is_interrupted = False
        self._gave_up: str | None = None

    @abstractmethod
    async def work(self) -> None:
        """Run the cases; fill `results` as they end."""

    @abstractmethod
    def subject_info(self) -> SubjectInfo | None:
        """Return the report's description of the subject; None while it is unknown, when nothing can be reported."""

    @property
    @abstractmethod
    def release(self) -> str:
        """The subject's release, for expectations."""

    def go(self) -> RunOutcome:
        """Block until the run is over. Raise `RunError` when the subject cannot be started at all; an error in a case is in its result.

        Raise `KeyboardInterrupt` where there is nothing yet to report.
        """
        started, began = datetime.now(UTC), time.monotonic()
        try:
            with short_pauses():
                self._run()
        except ExceptionGroup as error:
            raise trouble_in(error) from error
        subject = self.subject_info()
        if subject is None:
            raise KeyboardInterrupt
        return self._outcome(subject, started, time.monotonic() - began)

    def _run(self) -> None:
        if self.is_virtual:
            run_virtually(self._main, seed=self.config.seed)
        else:
            trio.run(self._main, clock=None if self.config.hold is None else self.config.hold.clock)

    async def _main(self) -> None:
        async with trio.open_nursery() as nursery:
            await nursery.start(mind_signals, self._interrupted)
            if not self.is_virtual:
                nursery.start_soon(self.canary.run)
            if self.config.hold is not None:
                nursery.start_soon(self.config.hold.mind_keyboard)
            with self._scope:
                await self.work()
            nursery.cancel_scope.cancel()

    def _interrupted(self) -> None:
        self._is_interrupted = True
        self._scope.cancel()

    def report(self, progress: Progress, case: Case, result: CaseResult | None) -> None:
        """Report a case, and give the run up if it is in vain. After that, report nothing."""
        if self._gave_up is not None:
            return
        self._say(progress, case, None if result is None else CaseReport(result=result, excuse=self._excuse(result)))
        if progress is Progress.DONE:
            set_aside()
        ran = [result for result in self.results if result.ruling.verdict is not Verdict.UNIMPLEMENTED]
        if progress is Progress.DONE and len(ran) == BROKEN_MAX and all(_has_no_result(result) for result in ran):
            self._gave_up = self._reason_to_stop(ran)
            self._scope.cancel()
        last = [result.trouble for result in self.results[-GONE_MAX:] if isinstance(result.trouble, BrokenEnvironment)]
        if progress is Progress.DONE and len(last) == GONE_MAX and self._gave_up is None:
            self._gave_up = f"the last {GONE_MAX} cases could not be carried through: {last[0]}"
            self._scope.cancel()

    def _known_failures(self) -> tuple[KnownFailure, ...]:
        return self.config.expectations.about(self.release, self.config.profile)

    def failing(self) -> frozenset[str]:
        """Return the cases whose verdicts need more than one run: those that are known to fail each time, and those that were repeated before.
        None with `--hold`, which runs one at a time, or in virtual time, where speed does not matter."""
        if self.config.hold is not None or self.is_virtual:
            return frozenset()
        entries = [entry for entry in self._known_failures() if not entry.by_chance]
        return self.repeated_before() | {case.id for case in self.config.cases if any(entry.covers(case.id) for entry in entries)}

    def repeated_before(self) -> frozenset[str]:
        """Return the cases that earlier runs of this subject repeated."""
        return frozenset()

    def _excuse(self, result: CaseResult) -> KnownFailure | None:
        # Whether an entry over several cases holds is clear only at the end.
        failures = [entry for entry in self._known_failures() if entry.case == result.case.id or entry.is_race]
        return settle(failures, [_observed(result)], datetime.now(UTC).date()).excused.get(result.case.id)

    def _outcome(self, subject: SubjectInfo, started: datetime, duration_s: float) -> RunOutcome:
        config, results = self.config, list(self.results)
        settled = settle(self._known_failures(), [_observed(result) for result in results], datetime.now(UTC).date())
        summary = RunSummary(
            suite=SuiteInfo(version=release(), profile=config.profile),
            subject=subject,
            run=self._run_info(started, duration_s),
            results=results,
            grade="NO_VERDICT",
            selected=config.cases,
            settled=settled,
        )
        summary = graded(summary, self._catalogue)
        if config.baseline is not None:
            summary = held_against(summary, config.baseline, config.wanted, self._catalogue)
        code = ending_of(summary, self._catalogue)
        return RunOutcome(summary=summary, exit_code=code, gave_up=self._gave_up, left_out=self._left_out(summary.grade), notes=self.notes())

    def _left_out(self, grade: str) -> int:
        selected = {case.id for case in self.config.cases} | self.config.elsewhere
        missing = sum(1 for case in required_of(self._catalogue, self.config.level) if case.id not in selected)
        return missing if grade.startswith("PARTIAL") else 0

    def _run_info(self, started: datetime, duration_s: float) -> RunInfo:
        config = self.config
        return RunInfo(
            seed=config.seed,
            started=started.isoformat(timespec="seconds"),
            duration_s=duration_s,
            jobs=config.jobs,
            command=list(config.command),
            environment=self.environment(),
            clock="virtual" if self.is_virtual else "wall",
            level=config.level,
            fail_on=config.fail_on,
            interrupted=self._is_interrupted,
            shard=config.shard,
        )

    def environment(self) -> dict[str, Any]:
        """Return the report's description of the host."""
        return {
            "python": platform.python_version(),
            "platform": platform.platform(),
            "cpus": os.cpu_count() or 1,
            "lag_ms_worst": round(self.canary.worst_ms, 1),
        }

    def notes(self) -> tuple[str, ...]:
        """Return lines for the end of the run that are no verdicts."""
        return ()

    def _reason_to_stop(self, ran: Sequence[CaseResult]) -> str:
        troubles = [result.trouble for result in ran if result.trouble is not None]
        if troubles:
            return f"none of the first {BROKEN_MAX} cases could be carried through: {troubles[0]}{self.hint_where_troubled}"
        return f"the first {BROKEN_MAX} cases are all BROKEN{self.hint_where_broken}"


def info_of(candidate: Candidate, hello: Hello) -> SubjectInfo:
    """Return the report's description of a client: its registered name and release, or else those of its shim."""
    return SubjectInfo(
        name=candidate.name if candidate.release else hello.client,
        version=candidate.release or hello.version,
        language=hello.language,
        capabilities=sorted(hello.capabilities),
        spec=candidate.spec,
    )


def _has_no_result(result: CaseResult) -> bool:
    return result.trouble is not None or result.ruling.verdict is Verdict.BROKEN


def _observed(result: CaseResult) -> CaseVerdict:
    return verdict_of(result.case.id, result.ruling)

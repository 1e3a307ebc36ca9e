"""The runs of `groupproof certify` in a thread beside pytest: they handle no signals, and another thread can stop them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import trio

from groupproof.harness.cases.catalogue import DIALECT_CAPABILITIES, as_declared, cases_of, shown_only
from groupproof.harness.commands.pytest_plugin.run_plan import RunPlan
from groupproof.harness.commands.pytest_plugin.xdist_shares import RunEnd, SubjectRecord
from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.summary.run_summary import SubjectInfo
from groupproof.harness.model.case import Case
from groupproof.harness.running.runs.client_run import ClientRun
from groupproof.harness.running.runs.coordinator_run import JOBS, CoordinatorRun, expectations_of
from groupproof.harness.running.runs.whole_run import CertifyRun, RunOutcome, Say
from groupproof.harness.subjects.brokers.broker_providers import meet, subject_named
from groupproof.harness.subjects.client_registry import candidate
from groupproof.harness.subjects.shims.contract_lines import Hello

__all__ = ["BackgroundRun", "SummaryRun", "background_run_of", "summed_up"]


class BackgroundRun(CertifyRun):
    """A run without signal handling; `shipped` is the file of known failures of its subject."""

    shipped: Path | None = None
    _trio: trio.lowlevel.TrioToken | None = None
    _is_stopped = False

    async def _main(self) -> None:
        self._trio = trio.lowlevel.current_trio_token()
        if self._is_stopped:
            self._interrupted()
        async with trio.open_nursery() as nursery:
            if not self.is_virtual:
                nursery.start_soon(self.canary.run)
            with self._scope:
                await self.work()
            nursery.cancel_scope.cancel()

    @property
    def subject_record(self) -> SubjectRecord:
        return SubjectRecord(subject=self.subject_info(), release=self.release, profile=self.config.profile, shipped=self.shipped)

    def about(self, started: datetime, duration_s: float) -> RunEnd | None:
        """Return the facts of the run; None while the subject is unknown."""
        subject = self.subject_info()
        if subject is None:
            return None
        return RunEnd(
            subject=subject,
            subject_record=self.subject_record,
            jobs=self.config.jobs,
            is_virtual=self.is_virtual,
            started=started,
            duration_s=duration_s,
            environment=self.environment(),
            gave_up=self._gave_up,
        )

    def stop(self) -> None:
        """Stop the run from another thread, in order: results stay, and no process remains."""
        self._is_stopped = True
        if self._trio is not None:
            with suppress(trio.RunFinishedError):
                self._trio.run_sync_soon(self._interrupted)


class BackgroundClientRun(BackgroundRun, ClientRun):
    """A client's run beside pytest. Its items were collected before the client's hello: cases of dialects that it does not speak are skipped."""

    def _keep_to_dialects(self, hello: Hello) -> None:
        self._catalogue = as_declared(self._catalogue, hello.capabilities, self.config.profile)
        self.config = replace(self.config, cases=shown_only(self.config.cases, hello.capabilities))


class BackgroundCoordinatorRun(BackgroundRun, CoordinatorRun):
    """A coordinator's run beside pytest."""


def background_run_of(run_plan: RunPlan, cases: Sequence[Case], *, processes: int, say: Say) -> BackgroundRun:
    """Install the subject if needed, and return the run of `cases`; with several `processes` this one uses its part of the host.

    Raise `RunError` where the subject cannot be started.
    """
    options = run_plan.options
    if options.side == "coordinator":
        broker = subject_named(options.named, profile=options.profile, say=_quiet)
        meet(broker, _quiet)
        jobs = options.jobs or JOBS
        config = run_plan.run_config(
            cases, profile=options.profile or broker.profile, jobs=_part(jobs, processes), shipped=expectations_of(broker.name)
        )
        background_run: BackgroundRun = BackgroundCoordinatorRun(broker, config, say=say)
        background_run.shipped = expectations_of(broker.name)
        return background_run
    found = candidate(
        None if options.program else options.named,
        options.program,
        profile=run_plan.profile,
        seed=options.seed,
        shim_level=options.shim_level,
        jobs=options.jobs,
        say=_quiet,
    )
    config = run_plan.run_config(cases, profile=run_plan.profile, jobs=_part(found.jobs, processes), shipped=found.expectations)
    catalogue = cases_of("client", DIALECT_CAPABILITIES, run_plan.profile)
    background_run = BackgroundClientRun(found, config, say=say, on_hello=_quiet, catalogue=catalogue)
    background_run.shipped = found.expectations
    return background_run


def _part(jobs: int, processes: int) -> int:
    return max(1, -(-jobs // processes))


def _quiet(_: object) -> None:
    """Print nothing: pytest owns the terminal."""


class SummaryRun(CertifyRun):
    """Sums up a run that other processes have done."""

    def __init__(self, run_plan: RunPlan, cases: Sequence[Case], about: RunEnd, *, interrupted: bool) -> None:
        options = run_plan.options
        config = run_plan.run_config(cases, profile=about.subject_record.profile, jobs=about.jobs, shipped=about.subject_record.shipped)
        super().__init__(
            config, cases_of(options.side, about.subject.capabilities, about.subject_record.profile), say=lambda *_: None, is_virtual=about.is_virtual
        )
        self._about = about
        self._is_interrupted = interrupted
        self._gave_up = about.gave_up

    async def work(self) -> None:
        """Do nothing: the cases have been run."""

    def subject_info(self) -> SubjectInfo | None:
        return self._about.subject

    @property
    def release(self) -> str:
        return self._about.subject_record.release

    def environment(self) -> dict[str, Any]:
        return {**super().environment(), **self._about.environment}

    def outcome(self, results: Sequence[CaseResult]) -> RunOutcome:
        self.results = results
        return self._outcome(self._about.subject, self._about.started, self._about.duration_s)


def _of_spoken_dialects(
    run_plan: RunPlan, cases: Sequence[Case], about: RunEnd, results: Sequence[CaseResult]
) -> tuple[Sequence[Case], Sequence[CaseResult]]:
    """Leave out the cases of dialects that a client does not speak, which were never run, unless only such cases were selected."""
    if run_plan.options.side == "coordinator":
        return cases, results
    own = as_declared(cases, about.subject.capabilities, about.subject_record.profile)
    kept = {case.id for case in own or cases}
    return own or cases, [result for result in results if result.case.id in kept]


def summed_up(run_plan: RunPlan, cases: Sequence[Case], about: RunEnd, results: Sequence[CaseResult]) -> RunOutcome:
    """Return the outcome of all cases of a session. Cases without a result make it interrupted."""
    cases, results = _of_spoken_dialects(run_plan, cases, about, results)
    reached = {result.case.id for result in results}
    interrupted = about.gave_up is None and any(case.id not in reached for case in cases)
    return SummaryRun(run_plan, cases, about, interrupted=interrupted).outcome(results)

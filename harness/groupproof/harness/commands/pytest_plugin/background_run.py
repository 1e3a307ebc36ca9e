"""The campaigns of `groupproof certify`, run in a thread beside pytest: no signals are minded there, and another thread can end them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import trio

from groupproof.harness.cases.catalogue import cases_of
from groupproof.harness.commands.pytest_plugin.run_plan import Commission
from groupproof.harness.commands.pytest_plugin.xdist_shares import About, Standing
from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.summary.run_summary import SubjectInfo
from groupproof.harness.model.case import Case
from groupproof.harness.running.runs.client_run import Run
from groupproof.harness.running.runs.coordinator_run import JOBS, CoordinatorRun, expectations_of
from groupproof.harness.running.runs.whole_run import Campaign, Outcome, Say
from groupproof.harness.subjects.brokers.broker_providers import meet, subject_named
from groupproof.harness.subjects.client_registry import candidate

__all__ = ["Beside", "Summed", "campaign_of", "summed_up"]


class Beside(Campaign):
    """A campaign for which another thread minds the signals; `shipped` is the file of known failures that its subject came with."""

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
    def standing(self) -> Standing:
        return Standing(subject=self.subject_info(), release=self.release, profile=self.order.profile, shipped=self.shipped)

    def about(self, started: datetime, duration_s: float) -> About | None:
        """Return what there is to tell of the run; None where nothing is known of the subject."""
        subject = self.subject_info()
        if subject is None:
            return None
        return About(
            subject=subject,
            standing=self.standing,
            jobs=self.order.jobs,
            is_virtual=self.is_virtual,
            started=started,
            duration_s=duration_s,
            environment=self.environment(),
            gave_up=self._gave_up,
        )

    def stop(self) -> None:
        """End the run from another thread, in order: what was reached stays, and no process is left."""
        self._is_stopped = True
        if self._trio is not None:
            with suppress(trio.RunFinishedError):
                self._trio.run_sync_soon(self._interrupted)


class ClientBeside(Beside, Run):
    """A client's campaign beside pytest."""


class CoordinatorBeside(Beside, CoordinatorRun):
    """A coordinator's."""


def campaign_of(commission: Commission, cases: Sequence[Case], *, processes: int, say: Say) -> Beside:
    """Return the run of `cases`, the subject installed where it must be; with several `processes` this one takes its part of the machine.

    Raise `Trouble` where the subject can't be had.
    """
    wishes = commission.wishes
    if wishes.side == "coordinator":
        broker = subject_named(wishes.named, profile=wishes.profile, say=_quiet)
        meet(broker, _quiet)
        jobs = wishes.jobs or JOBS
        order = commission.order(cases, profile=wishes.profile or broker.profile, jobs=_part(jobs, processes), shipped=expectations_of(broker))
        campaign: Beside = CoordinatorBeside(broker, order, say=say)
        campaign.shipped = expectations_of(broker)
        return campaign
    found = candidate(
        None if wishes.program else wishes.named,
        wishes.program,
        profile=commission.profile,
        seed=wishes.seed,
        shim_level=wishes.shim_level,
        jobs=wishes.jobs,
        say=_quiet,
    )
    order = commission.order(cases, profile=commission.profile, jobs=_part(found.jobs, processes), shipped=found.expectations)
    campaign = ClientBeside(found, order, say=say, on_hello=_quiet)
    campaign.shipped = found.expectations
    return campaign


def _part(jobs: int, processes: int) -> int:
    return max(1, -(-jobs // processes))


def _quiet(_: object) -> None:
    """Say nothing: pytest holds the terminal."""


class Summed(Campaign):
    """A campaign that others have run: it only sums up."""

    def __init__(self, commission: Commission, cases: Sequence[Case], about: About, *, interrupted: bool) -> None:
        wishes = commission.wishes
        order = commission.order(cases, profile=about.standing.profile, jobs=about.jobs, shipped=about.standing.shipped)
        super().__init__(order, cases_of(wishes.side), say=lambda *_: None, is_virtual=about.is_virtual)
        self._about = about
        self._is_interrupted = interrupted
        self._gave_up = about.gave_up

    async def work(self) -> None:
        """There is nothing left to do."""

    def subject_info(self) -> SubjectInfo | None:
        return self._about.subject

    @property
    def release(self) -> str:
        return self._about.standing.release

    def environment(self) -> dict[str, Any]:
        return {**super().environment(), **self._about.environment}

    def outcome(self, results: Sequence[CaseResult]) -> Outcome:
        self.results = results
        return self._outcome(self._about.subject, self._about.started, self._about.duration_s)


def summed_up(commission: Commission, cases: Sequence[Case], about: About, results: Sequence[CaseResult]) -> Outcome:
    """Return what the cases of a session have come to, whoever ran them; those that nobody reached make it interrupted."""
    reached = {each.case.id for each in results}
    interrupted = about.gave_up is None and any(case.id not in reached for case in cases)
    return Summed(commission, cases, about, interrupted=interrupted).outcome(results)

"""Runs the selected cases side by side in the background, while pytest runs its items; an item waits only for its own case."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import chain
from typing import TYPE_CHECKING, Final, Protocol

from groupproof.harness.commands.pytest_plugin.xdist_shares import ENDED, SharedResult, ShareEnd, share_cases
from groupproof.harness.judging.summary.expectations import CaseVerdict, load, settle, verdict_of, without_races
from groupproof.harness.judging.summary.run_summary import CaseReport
from groupproof.harness.running.case_runner import Progress
from groupproof.harness.running.error_search import trouble_in

if TYPE_CHECKING:
    from groupproof.harness.commands.pytest_plugin.background_run import BackgroundRun
    from groupproof.harness.commands.pytest_plugin.run_plan import RunPlan
    from groupproof.harness.commands.pytest_plugin.xdist_shares import RunEnd, SharedFolder, SubjectRecord
    from groupproof.harness.judging.summary.expectations import Expectations, KnownFailure, MatchedExpectations
    from groupproof.harness.judging.summary.run_summary import SubjectInfo
    from groupproof.harness.model.case import Case
    from groupproof.harness.model.errors import RunError

__all__ = ["CaseQueue", "Result", "SingleProcessQueue", "WorkerQueue"]

LOOK_S: Final = 0.05
STOP_S: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A case's result for its item, or the reason why there is none; `stale` is the error in an expectation that the case represents."""

    report: CaseReport | None = None
    missing: str = ""
    stale: str = ""


class _Running:
    """One run in a thread of its own, of the share called `name`; `results` has its rulings, and `over` says that no more come."""

    def __init__(
        self, run_plan: RunPlan, cases: Sequence[Case], *, processes: int, folder: SharedFolder | None = None, name: str | None = None
    ) -> None:
        self.results: dict[str, SharedResult] = {}
        self.about: RunEnd | None = None
        self.trouble: RunError | None = None
        self.over = False
        self.changed = threading.Condition()
        self._run_plan, self._cases, self._processes = run_plan, cases, processes
        self._folder, self._name = folder, name
        self._background_run: BackgroundRun | None = None
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name="groupproof", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        from groupproof.harness.commands.pytest_plugin.background_run import background_run_of  # loaded when a case runs

        started, began = datetime.now(UTC), time.monotonic()
        try:
            background_run = background_run_of(self._run_plan, self._cases, processes=self._processes, say=self._say)
            self._background_run = background_run
            if self._is_stopped:
                background_run.stop()
            background_run.go()
        except KeyboardInterrupt:
            pass  # stopped before the subject was known
        except Exception as error:
            self.trouble = trouble_in(error)
        finally:
            if self._background_run is not None:
                self.about = self._background_run.about(started, time.monotonic() - began)
            self._leave()
            with self.changed:
                self.over = True
                self.changed.notify_all()

    def _say(self, progress: Progress, case: Case, report: CaseReport | None) -> None:
        if progress is not Progress.DONE or report is None:
            return
        assert self._background_run is not None
        result = SharedResult.of(report.result, self._background_run.subject_record)
        if self._folder is not None:
            self._folder.tell(result)
        with self.changed:
            self.results[case.id] = result
            self.changed.notify_all()

    def _leave(self) -> None:
        if self._folder is not None and self._name is not None:
            self._folder.put(f"{self._name}{ENDED}", ShareEnd(about=self.about, trouble=self.trouble))

    def stop(self) -> None:
        self._is_stopped = True
        if self._background_run is not None:
            self._background_run.stop()
        self._thread.join(STOP_S)


class CaseQueue(ABC):
    """Runs the cases of a session; subclasses decide in which processes."""

    def __init__(self, run_plan: RunPlan, cases: Sequence[Case]) -> None:
        self._run_plan = run_plan
        self._settling = _Settling(run_plan, cases, self._result_of)

    @property
    def subject(self) -> SubjectInfo | None:
        """The subject; None before the first result."""
        return self._settling.subject

    def wait(self, case: Case) -> Result:
        """Return when the case has a ruling, or cannot get one; the first call starts the run."""
        return self._settling.result(case)

    @abstractmethod
    def stop(self) -> None:
        """Stop the runs, and return when they have ended."""

    @abstractmethod
    def _result_of(self, case: Case) -> SharedResult | str:
        """Wait for a case's result; return it, or the reason why there will be none."""


class SingleProcessQueue(CaseQueue):
    """The queue of a session in one process."""

    def __init__(self, run_plan: RunPlan, cases: Sequence[Case]) -> None:
        super().__init__(run_plan, cases)
        self.running: _Running | None = None
        self._cases = cases

    def _result_of(self, case: Case) -> SharedResult | str:
        running = self.running = self.running or _Running(self._run_plan, self._cases, processes=1)
        with running.changed:
            running.changed.wait_for(lambda: case.id in running.results or running.over)
        return running.results.get(case.id) or _why(running.trouble, running.about)

    def stop(self) -> None:
        if self.running is not None:
            self.running.stop()


class WorkerQueue(CaseQueue):
    """The queue of one of several workers: runs its share, and unclaimed shares whose cases it waits for."""

    def __init__(self, run_plan: RunPlan, cases: Sequence[Case], folder: SharedFolder, *, worker: int, workers: int) -> None:
        super().__init__(run_plan, cases)
        self._folder = folder
        self._worker, self._workers = worker, workers
        self._shares = share_cases(cases, workers)
        self._share_of = {case.id: number for number, share in enumerate(self._shares) for case in share}
        self._running: list[_Running] = []
        self._taken_over: dict[str, _Running] = {}

    def _result_of(self, case: Case) -> SharedResult | str:
        if not self._running:
            self._take(self._worker)
        share = self._share_of[case.id]
        while True:
            is_deserted = not self._take(share) and self._folder.is_deserted(share)
            ended: ShareEnd | None = self._folder.get(f"{share}{ENDED}")
            own = next((running.results[case.id] for running in self._running if case.id in running.results), None)
            result = own or self._folder.result(case.id)
            if result is not None:
                return result
            if (ended is not None or is_deserted) and (missing := self._left_out(case, ended)):
                return missing
            time.sleep(LOOK_S)

    def _left_out(self, case: Case, ended: ShareEnd | None) -> str:
        """Return why a case of an ended share has no result; empty while this worker runs it.

        The share's own worker had no more items and ended (`ended`), or it died or was too slow to end (no `ended`).
        """
        if ended is not None and (ended.trouble is not None or (ended.about is not None and ended.about.gave_up)):
            return _why(ended.trouble, ended.about)
        if case.id not in self._taken_over:
            self._taken_over[case.id] = _Running(self._run_plan, [case], processes=self._workers, folder=self._folder)
            self._running.append(self._taken_over[case.id])
        running = self._taken_over[case.id]
        return _why(running.trouble, running.about) if running.over and case.id not in running.results else ""

    def _take(self, share: int) -> bool:
        """Run a share that nobody has claimed; return whether it was free."""
        if not self._shares[share] or not self._folder.claim(share):
            return False
        running = _Running(self._run_plan, self._shares[share], processes=self._workers, folder=self._folder, name=str(share))
        self._running.append(running)
        return True

    def stop(self) -> None:
        for running in self._running:
            running.stop()
        self._folder.let_go()


class _Tell(Protocol):
    def __call__(self, case: Case) -> SharedResult | str: ...


class _Settling:
    """Applies known failures to results. An entry covers one case, or several: then the first passing case reports it as stale."""

    def __init__(self, run_plan: RunPlan, cases: Sequence[Case], result_of: _Tell) -> None:
        self._run_plan, self._result_of = run_plan, result_of
        self._cases = cases
        self._shipped: dict[object, Expectations] = {}
        self.subject: SubjectInfo | None = None

    def result(self, case: Case) -> Result:
        reported = self._result_of(case)
        if isinstance(reported, str):
            return Result(missing=reported)
        self.subject = reported.subject_record.subject
        expected = [entry for entry in self._known_failures(reported.subject_record) if entry.covers(case.id)]
        result = reported.result(case)
        own = settle(expected, [verdict_of(case.id, reported.ruling)], date.today())
        excuse = own.excused.get(case.id)
        if excuse is not None and not excuse.is_race and self._with_others(excuse, case, reported)[0].stale:
            excuse = None
        report = CaseReport(result=result, excuse=excuse)
        stale = "" if report.excuse else "; ".join(name for entry in expected for name in self._stale(entry, case, reported))
        return Result(report=report, stale=stale)

    def _stale(self, entry: KnownFailure, case: Case, result: SharedResult) -> list[str]:
        """Return the errors of an entry, if this case has to report them."""
        if not settle([entry], self._observed(result), date.today()).stale:
            return []
        settled, observed = self._with_others(entry, case, result)
        passing = sorted([case.id, *(id for id, value in observed.items() if settle([entry], value, date.today()).stale)])
        return list(settled.stale) if passing[0] == case.id else []

    def _with_others(self, entry: KnownFailure, case: Case, result: SharedResult) -> tuple[MatchedExpectations, dict[str, list[CaseVerdict]]]:
        """Return the state of an entry over all the cases that it covers, and the verdicts of the other ones."""
        others = [item for item in self._cases if entry.covers(item.id) and item is not case]
        by_name = {case.id: self._result_of(case) for case in others}
        observed = {id: self._observed(value) for id, value in by_name.items() if isinstance(value, SharedResult)}
        return settle([entry], [*self._observed(result), *chain.from_iterable(observed.values())], date.today()), observed

    def _observed(self, result: SharedResult) -> list[CaseVerdict]:
        """Return the verdict that entries are compared with; nothing where the case failed only by a race."""
        left = without_races(self._known_failures(result.subject_record), verdict_of(result.case, result.ruling), date.today())
        return [] if left is None else [left]

    def _known_failures(self, subject: SubjectRecord) -> tuple[KnownFailure, ...]:
        expectations = self._run_plan.expectations
        if not self._run_plan.options.expect and subject.shipped is not None:
            if subject.shipped not in self._shipped:
                self._shipped[subject.shipped] = load(subject.shipped)
            expectations = self._shipped[subject.shipped]
        return expectations.about(subject.release, subject.profile)


def _why(error: RunError | None, about: RunEnd | None) -> str:
    if error is not None:
        return str(error)
    return f"not reached: {about.gave_up}" if about is not None and about.gave_up else "not reached: the run was ended before"

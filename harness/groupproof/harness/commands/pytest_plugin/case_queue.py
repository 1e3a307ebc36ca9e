"""Runs the selected cases in the background, side by side, while pytest goes through its items; an item waits for its own case alone."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final, Protocol

from groupproof.harness.commands.pytest_plugin.background_run import Beside, campaign_of
from groupproof.harness.commands.pytest_plugin.run_plan import Commission
from groupproof.harness.commands.pytest_plugin.xdist_shares import ENDED, About, Ended, Folder, Standing, Told, dealt
from groupproof.harness.judging.summary.expectations import Expectations, Known, Observed, Settled, load, settle
from groupproof.harness.judging.summary.run_summary import CaseReport, SubjectInfo
from groupproof.harness.model.case import Case
from groupproof.harness.model.errors import Trouble
from groupproof.harness.running.case_runner import Progress
from groupproof.harness.running.error_search import trouble_in

__all__ = ["Alone", "Engine", "Result", "Shared"]

LOOK_S: Final = 0.05
STOP_S: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What an item is told of its case: its result, or why there is none; `stale` is what is wrong with an expectation that it stands for."""

    report: CaseReport | None = None
    missing: str = ""
    stale: str = ""


class _Running:
    """One campaign in a thread of its own; `told` holds what it has ruled on, `over` that there will be no more."""

    def __init__(self, commission: Commission, cases: Sequence[Case], *, processes: int, folder: Folder | None = None, name: str = "") -> None:
        self.told: dict[str, Told] = {}
        self.about: About | None = None
        self.trouble: Trouble | None = None
        self.over = False
        self.changed = threading.Condition()
        self._commission, self._cases, self._processes = commission, cases, processes
        self._folder, self._name = folder, name
        self._campaign: Beside | None = None
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name="groupproof", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        started, began = datetime.now(UTC), time.monotonic()
        try:
            campaign = campaign_of(self._commission, self._cases, processes=self._processes, say=self._say)
            self._campaign = campaign
            if self._is_stopped:
                campaign.stop()
            campaign.go()
        except KeyboardInterrupt:
            pass  # stopped before anything was known of the subject
        except Exception as error:
            self.trouble = trouble_in(error)
        finally:
            if self._campaign is not None:
                self.about = self._campaign.about(started, time.monotonic() - began)
            self._leave()
            with self.changed:
                self.over = True
                self.changed.notify_all()

    def _say(self, progress: Progress, case: Case, report: CaseReport | None) -> None:
        if progress is not Progress.DONE or report is None:
            return
        assert self._campaign is not None
        told = Told.of(report.result, self._campaign.standing)
        if self._folder is not None:
            self._folder.tell(told)
        with self.changed:
            self.told[case.id] = told
            self.changed.notify_all()

    def _leave(self) -> None:
        if self._folder is not None:
            self._folder.put(f"{self._name}{ENDED}", Ended(about=self.about, trouble=self.trouble))

    def stop(self) -> None:
        self._is_stopped = True
        if self._campaign is not None:
            self._campaign.stop()
        self._thread.join(STOP_S)


class Engine(ABC):
    """Whoever runs the cases of a session; how they come to run is the engine's own."""

    def __init__(self, commission: Commission, cases: Sequence[Case]) -> None:
        self._commission = commission
        self._settling = _Settling(commission, cases, self._told)

    @property
    def subject(self) -> SubjectInfo | None:
        """What is under test; known from the first result on."""
        return self._settling.subject

    def wait(self, case: Case) -> Result:
        """Return when the case is ruled on, or can't be any more; the first call sets the cases going."""
        return self._settling.result(case)

    @abstractmethod
    def stop(self) -> None:
        """End what runs, and return when it has."""

    @abstractmethod
    def _told(self, case: Case) -> Told | str:
        """Return what was found of a case, once it is; or why nothing will be."""


class Alone(Engine):
    """The engine of a session in one process."""

    def __init__(self, commission: Commission, cases: Sequence[Case]) -> None:
        super().__init__(commission, cases)
        self.running: _Running | None = None
        self._cases = cases

    def _told(self, case: Case) -> Told | str:
        running = self.running = self.running or _Running(self._commission, self._cases, processes=1)
        with running.changed:
            running.changed.wait_for(lambda: case.id in running.told or running.over)
        return running.told.get(case.id) or _why(running.trouble, running.about)

    def stop(self) -> None:
        if self.running is not None:
            self.running.stop()


class Shared(Engine):
    """The engine of one of several workers: runs its share, and what nobody else has taken up when it is waited for."""

    def __init__(self, commission: Commission, cases: Sequence[Case], folder: Folder, *, worker: int, workers: int) -> None:
        super().__init__(commission, cases)
        self._folder = folder
        self._worker, self._workers = worker, workers
        self._shares = dealt(cases, workers)
        self._share_of = {case.id: number for number, share in enumerate(self._shares) for case in share}
        self._running: list[_Running] = []

    def _told(self, case: Case) -> Told | str:
        if not self._running:
            self._take(self._worker)
        share = self._share_of[case.id]
        while True:
            is_deserted = not self._take(share) and self._folder.is_deserted(share)
            ended: Ended | None = self._folder.get(f"{share}{ENDED}")
            own = next((running.told[case.id] for running in self._running if case.id in running.told), None)
            told = own or self._folder.told(case.id)
            if told is not None:
                return told
            if ended is not None:
                return _why(ended.trouble, ended.about)
            if is_deserted:
                return "not reached: the worker that ran this case is gone"
            time.sleep(LOOK_S)

    def _take(self, share: int) -> bool:
        """Run a share that nobody has taken up; tell whether it was there to be taken."""
        if not self._shares[share] or not self._folder.claim(share):
            return False
        running = _Running(self._commission, self._shares[share], processes=self._workers, folder=self._folder, name=str(share))
        self._running.append(running)
        return True

    def stop(self) -> None:
        for running in self._running:
            running.stop()
        self._folder.let_go()


class _Tell(Protocol):
    def __call__(self, case: Case) -> Told | str: ...


class _Settling:
    """Makes known failures of what was told: an entry stands for its case alone, or for several, of which the first that passes answers for it."""

    def __init__(self, commission: Commission, cases: Sequence[Case], told: _Tell) -> None:
        self._commission, self._told = commission, told
        self._cases = cases
        self._shipped: dict[object, Expectations] = {}
        self.subject: SubjectInfo | None = None

    def result(self, case: Case) -> Result:
        told = self._told(case)
        if isinstance(told, str):
            return Result(missing=told)
        self.subject = told.standing.subject
        known = [entry for entry in self._known(told.standing) if entry.covers(case.id)]
        result = told.result(case)
        own = settle(known, [_observed(told)], date.today())
        excuse = own.excused.get(case.id)
        if excuse is not None and self._with_others(excuse, case, told)[0].stale:
            excuse = None
        report = CaseReport(result=result, excuse=excuse)
        stale = "" if report.excuse else "; ".join(each for entry in known for each in self._stale(entry, case, told))
        return Result(report=report, stale=stale)

    def _stale(self, entry: Known, case: Case, told: Told) -> list[str]:
        """Return what is wrong with an entry, if this case is the one to tell it."""
        if not settle([entry], [_observed(told)], date.today()).stale:
            return []
        settled, observed = self._with_others(entry, case, told)
        passing = sorted([case.id, *(id for id, each in observed.items() if settle([entry], [each], date.today()).stale)])
        return list(settled.stale) if passing[0] == case.id else []

    def _with_others(self, entry: Known, case: Case, told: Told) -> tuple[Settled, dict[str, Observed]]:
        """Return what becomes of an entry by all the cases that it covers, and what was found of the others."""
        others = [each for each in self._cases if entry.covers(each.id) and each is not case]
        seen = {each.id: self._told(each) for each in others}
        observed = {id: _observed(each) for id, each in seen.items() if isinstance(each, Told)}
        return settle([entry], [_observed(told), *observed.values()], date.today()), observed

    def _known(self, standing: Standing) -> tuple[Known, ...]:
        expectations = self._commission.expectations
        if not self._commission.wishes.expect and standing.shipped is not None:
            if standing.shipped not in self._shipped:
                self._shipped[standing.shipped] = load(standing.shipped)
            expectations = self._shipped[standing.shipped]
        return expectations.about(standing.release, standing.profile)


def _observed(told: Told) -> Observed:
    return Observed(case=told.case, verdict=told.ruling.verdict, fingerprint=told.ruling.fingerprint)


def _why(trouble: Trouble | None, about: About | None) -> str:
    if trouble is not None:
        return str(trouble)
    return f"not reached: {about.gave_up}" if about is not None and about.gave_up else "not reached: the run was ended before"

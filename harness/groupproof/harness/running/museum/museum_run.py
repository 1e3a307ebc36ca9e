"""One run of the museum: the releases that its rows need, one after the other, each with a report of its own.

A verdict of an earlier run with the same rules is not run again, so that an interrupted run continues where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from groupproof.harness.cases.catalogue import DIALECT_CAPABILITIES, cases_of
from groupproof.harness.model.errors import RunError, WrongUsage
from groupproof.harness.model.museum_row import Visit
from groupproof.harness.model.report_json import read_report
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.running.runs.client_run import ClientRun
from groupproof.harness.running.runs.coordinator_run import JOBS, CoordinatorRun
from groupproof.harness.running.runs.whole_run import CertifyRun, RunConfig, RunOutcome, Say
from groupproof.harness.subjects.brokers.cluster import BrokerSubject
from groupproof.harness.subjects.client_registry import Candidate
from groupproof.protocol.kit_release import release
from groupproof.protocol.rules.requirements import catalogue_sha256

__all__ = ["Found", "FoundOf", "MuseumRun", "is_decided"]

Found = Candidate | BrokerSubject
"""An installed release of a client or a coordinator."""

FoundOf = Callable[[Visit], Found]
"""Installs the release; raises `RunError` where that is impossible."""

_OPEN: Final = (Verdict.INCONCLUSIVE.value, Verdict.BROKEN.value)


def is_decided(folder: Path, cases: Sequence[str]) -> bool:
    """Return whether the report in `folder` has a verdict on each of the cases, by this release's rules."""
    try:
        report = read_report(folder)
    except WrongUsage:
        return False
    verdicts = {case["id"]: case["verdict"] for case in report["cases"]}
    suite: Mapping[str, Any] = report["suite"]
    is_by_these_rules = (suite["version"], suite["catalogue_sha256"]) == (release(), catalogue_sha256())
    return is_by_these_rules and all(verdicts.get(case, _OPEN[0]) not in _OPEN for case in cases)


class MuseumRun:
    """Runs the undecided cases. `say` gets each case, `done` each finished run; `absent` has the reason why a release could not be installed."""

    def __init__(self, found_of: FoundOf, *, seed: int, command: Sequence[str], say: Say, done: Callable[[Visit, RunOutcome], None]) -> None:
        self.absent: dict[Visit, str] = {}
        self.is_interrupted = False
        self._found_of = found_of
        self._seed = seed
        self._command = command
        self._say = say
        self._done = done

    def go(self, visits: Mapping[Visit, Sequence[str]]) -> None:
        """Block until all visits are run; an interruption ends the run and keeps the results so far.

        All releases are installed before the first run: an installation would slow the others down.
        """
        installed = {visit: found for visit in visits if (found := self._found_at(visit)) is not None}
        for visit, found in installed.items():
            self._run(visit, found, visits[visit])
            if self.is_interrupted:
                return

    def _found_at(self, visit: Visit) -> Found | None:
        try:
            return self._found_of(visit)
        except RunError as error:
            self.absent[visit] = str(error)
            return None

    def _run(self, visit: Visit, found: Found, cases: Sequence[str]) -> None:
        try:
            outcome = self._certify(visit, found, cases).go()
        except KeyboardInterrupt:  # before there is anything to report
            self.is_interrupted = True
            return
        except RunError as error:
            self.absent[visit] = str(error)
            return
        self.is_interrupted = outcome.summary.run.interrupted
        self._done(visit, outcome)

    def _certify(self, visit: Visit, found: Found, cases: Sequence[str]) -> CertifyRun:
        wanted = [case for case in cases_of(visit.side, DIALECT_CAPABILITIES) if case.id in cases]
        jobs = found.jobs if isinstance(found, Candidate) else JOBS
        config = RunConfig(cases=wanted, profile=visit.profile, level="info", seed=self._seed, jobs=jobs, command=self._command)
        if isinstance(found, Candidate):
            return ClientRun(found, config, say=self._say, on_hello=lambda _: None)
        return CoordinatorRun(found, config, say=self._say)

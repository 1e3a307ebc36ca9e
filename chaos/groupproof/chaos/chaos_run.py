"""One whole run of scenarios: in virtual time with the reference pair, or over the wire with any client and coordinator."""

from __future__ import annotations

import itertools
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from math import inf
from typing import Any, Final

from groupproof.chaos.scenarios.scenario import RunMode
from groupproof.chaos.scenarios.scenario_json import case_of_scenario
from groupproof.chaos.shrink_scenario import SmallerScenario, shrunk
from groupproof.chaos.wire.wire_stage import ChaosStage
from groupproof.harness.judging.summary.run_summary import SubjectInfo
from groupproof.harness.model.case import Case
from groupproof.harness.model.verdicts import Finding, Verdict
from groupproof.harness.running.case_runner import CaseStage
from groupproof.harness.running.plans.client_stage import Stage
from groupproof.harness.running.plans.plan_runner import Limits
from groupproof.harness.running.runs.client_run import ClientRun, OnHello
from groupproof.harness.running.runs.whole_run import RunConfig, Say
from groupproof.harness.subjects.brokers.cluster import BrokerSubject
from groupproof.harness.subjects.client_registry import Candidate, reference_subject

__all__ = ["WIRE_STEPS_S", "ChaosRun"]

WIRE_STEPS_S: Final = 90.0
"""The time limit of a scenario's steps in real time."""

_SHRINK_S: Final = 600.0
_VIRTUAL: Final = Limits(steps_s=7_200, observations_max=100_000)
"""Virtual time is cheap: a scenario may last several hours."""


class ChaosRun(ClientRun):
    """One run of `config.cases`. With `brokers` None it uses the reference coordinator, in virtual time. `unsupported` has the reason why a case cannot
    run here; `drawn` is the random scenario of its case, which is shrunk if it fails."""

    def __init__(
        self, candidate: Candidate, brokers: BrokerSubject | None, config: RunConfig, *, say: Say, on_hello: OnHello, note: Callable[[str], None], unsupported: Mapping[str, str],
        drawn: SmallerScenario | None = None,
    ) -> None:  # fmt: skip
        super().__init__(candidate, config, say=say, on_hello=on_hello, catalogue=config.cases)
        self._brokers = brokers
        self._note = note
        self._unsupported_reason = unsupported
        self._drawn = drawn
        self.shrunk: Case | None = None
        self._provided_by = ""
        self._logs: Sequence[str] = ()

    async def rule(self, stage: CaseStage) -> None:
        """Run the cases; if a random scenario fails, find the smallest one that fails alike, `shrunk`."""
        await super().rule(stage)
        failed = next((result.ruling for result in self.results if result.ruling.verdict is Verdict.FAILED), None)
        if self._drawn is None or failed is None:
            return
        self._note("it fails; looking for less that fails so")
        kinds, numbers = _kinds(failed.findings), itertools.count(1)

        async def shows(less: SmallerScenario) -> bool:
            case = self._compiled(less)
            play = await stage.play(case, key=f"s{next(numbers)}")
            return bool(_kinds(stage.judge(case, play.trace).findings) & kinds)

        found = await shrunk(self._drawn, shows, at_once=self.config.jobs, within_s=inf if self._brokers is None else _SHRINK_S)
        self.shrunk = self._compiled(found)

    def _compiled(self, less: SmallerScenario) -> Case:
        mode = RunMode.VIRTUAL if self._brokers is None else RunMode.WIRE
        return case_of_scenario(less.scenario, mode=mode, members=less.members)

    def lack(self, case: Case) -> str:
        return self._unsupported_reason.get(case.id) or super().lack(case)

    @asynccontextmanager
    async def staged(self) -> AsyncIterator[CaseStage]:
        if self._brokers is None:
            yield self._in_memory()
            return
        stage = self._on_the_wire(self._brokers)
        # Scenarios end connections on purpose; the trace has each of them.
        logging.getLogger("groupproof").setLevel(logging.ERROR)
        async with stage.opened():
            yield stage
            self._provided_by, self._logs = stage.clusters.provided_by, tuple(stage.clusters.logs)

    def _in_memory(self) -> Stage:
        config, subject = self.config, self._candidate.subject
        limits = _VIRTUAL if config.timeout_s is None else replace(_VIRTUAL, steps_s=config.timeout_s)
        return Stage(subject=subject, reference_peers=reference_subject(is_virtual=True), profile=config.profile, seed=config.seed, limits=limits)

    def _on_the_wire(self, brokers: BrokerSubject) -> ChaosStage:
        config = self.config
        return ChaosStage(
            subject=self._candidate.subject,
            reference_peers=reference_subject(is_virtual=False),
            brokers=brokers,
            seed=config.seed,
            limits=Limits(steps_s=config.timeout_s or WIRE_STEPS_S),
            canary=self.canary,
            say=self._note,
        )

    def subject_info(self) -> SubjectInfo | None:
        info = super().subject_info()
        return info if info is None or self._brokers is None else replace(info, coordinator=self._brokers.spec)

    def environment(self) -> dict[str, Any]:
        environment = {"coordinator": "groupproof" if self._brokers is None else self._brokers.spec}
        provided = {"provided_by": self._provided_by} if self._provided_by else {}
        logs = {"broker_logs": sorted(set(self._logs))} if self._logs else {}
        return {**super().environment(), **environment, **provided, **logs}


def _kinds(findings: Iterable[Finding]) -> set[tuple[str, str]]:
    return {(finding.requirement, finding.observed) for finding in findings if finding.verdict is Verdict.FAILED}

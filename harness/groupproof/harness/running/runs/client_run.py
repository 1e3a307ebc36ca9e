"""One whole run of a client: opens it, and runs its selected cases against the reference coordinator."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from groupproof.harness.cases.catalogue import as_declared, shown_only
from groupproof.harness.cases.client import CASES
from groupproof.harness.judging.summary.run_summary import SubjectInfo
from groupproof.harness.judging.unsupported import lack_of, unimplemented
from groupproof.harness.model.case import Case
from groupproof.harness.model.case_dialect import CLASSIC_CAPABILITY
from groupproof.harness.running.case_runner import CaseStage, Progress, Runner
from groupproof.harness.running.plans.client_stage import Stage
from groupproof.harness.running.plans.own_assignor import own_assignor_of
from groupproof.harness.running.plans.plan_runner import Limits
from groupproof.harness.running.runs.case_durations import repeated_cases
from groupproof.harness.running.runs.whole_run import BROKEN_MAX, CertifyRun, RunConfig, RunOutcome, Say, info_of
from groupproof.harness.subjects.client_registry import Candidate, reference_subject
from groupproof.harness.subjects.shims.contract_lines import Hello
from groupproof.harness.subjects.subject import ProcessSubject, ReferenceSubject, jobs_of, warnings_of

if TYPE_CHECKING:
    from groupproof.harness.running.shim_check.word_trial import WordTrial

__all__ = ["BROKEN_MAX", "ClientRun", "RunConfig", "RunOutcome"]

OnHello = Callable[[Hello], None]


class ClientRun(CertifyRun):
    """One run; `say` gets each case, and `on_hello` the subject's hello before the first."""

    hint_where_broken = "; try the shim with: groupproof shim check"

    def __init__(self, candidate: Candidate, config: RunConfig, *, say: Say, on_hello: OnHello, catalogue: Sequence[Case] = CASES) -> None:
        super().__init__(config, catalogue, say=say, is_virtual=candidate.subject.is_virtual)
        self._candidate = candidate
        self._on_hello = on_hello
        self._hello: Hello | None = None

    async def work(self) -> None:
        subject = self._candidate.subject
        others = reference_subject(is_virtual=subject.is_virtual)
        async with subject.opened(), others.opened():
            self._hello = subject.hello
            self._keep_to_dialects(subject.hello)
            self._on_hello(subject.hello)
            async with self.staged() as stage:
                await self.rule(stage)

    def _keep_to_dialects(self, hello: Hello) -> None:
        """Leave out the cases of dialects that the client or its brokers do not speak. Cases that the user named stay and are UNIMPLEMENTED."""
        declared, config = hello.capabilities, self.config
        self._catalogue = as_declared(self._catalogue, declared, config.profile)
        cases = shown_only(config.cases, declared) if config.wanted.only else as_declared(config.cases, declared, config.profile)
        self.config = replace(config, cases=cases)

    async def measured(self, stage: Stage) -> Stage:
        """Return the stage with the client's measured rhythm; with `--hold` nothing is measured."""
        is_consumer = CLASSIC_CAPABILITY in self._candidate.subject.hello.capabilities  # the measuring is a consumer's
        return await stage.in_rhythm() if is_consumer and self.config.hold is None else stage

    @asynccontextmanager
    async def staged(self) -> AsyncIterator[CaseStage]:
        """Yield the stage of the cases."""
        yield await self.measured(self._stage())

    def lack(self, case: Case) -> str:
        """Return why the subject cannot run the case; empty where it can."""
        return lack_of(case, self._candidate.subject.hello.capabilities, self.config.profile)

    def repeated_before(self) -> frozenset[str]:
        return repeated_cases(self._candidate.name)

    def _stage(self) -> Stage:
        config, subject = self.config, self._candidate.subject
        return Stage(
            subject=subject,
            reference_peers=reference_subject(is_virtual=subject.is_virtual),
            profile=config.profile,
            seed=config.seed,
            bind=config.bind,
            advertise=config.advertise,
            limits=Limits() if config.timeout_s is None else Limits(steps_s=config.timeout_s),
            canary=None if subject.is_virtual else self.canary,
            on_started=None if config.hold is None else config.hold.on_started,
            draws_names=True,
            own_assignor=own_assignor_of(subject.hello.capabilities),
        )

    async def rule(self, stage: CaseStage) -> None:
        """Run the cases that the subject can run; the others are UNIMPLEMENTED."""
        runner = Runner(stage, jobs=self._jobs(), say=self.report, trial=self._trial(), failing=self.failing(), client=self._candidate.name)
        self.results = runner.results
        for case in self.config.cases:
            if lack := self.lack(case):
                runner.results.append(unimplemented(case, lack))
                self.report(Progress.DONE, case, runner.results[-1])
        await runner.run([case for case in self.config.cases if not self.lack(case)])

    def _trial(self) -> WordTrial | None:
        """Return the trial of the shim; None for one of ours, whose tests do that, and for a level 0 program, which reads no commands."""
        config, subject = self.config, self._candidate.subject
        if self._candidate.is_shim_ours or not isinstance(subject, ProcessSubject | ReferenceSubject):
            return None
        from groupproof.harness.running.shim_check.shim_check import ShimCheck
        from groupproof.harness.running.shim_check.word_trial import WordTrial

        program = subject.program if isinstance(subject, ProcessSubject) else subject.run_shim
        return WordTrial(
            partial(ShimCheck, program, say=_say_nothing, seed=config.seed, profile=config.profile, bind=config.bind, advertise=config.advertise)
        )

    def notes(self) -> tuple[str, ...]:
        return tuple(f"the shim wrote {warning}; it was ignored" for warning in warnings_of(self._candidate.subject))

    def environment(self) -> dict[str, Any]:
        warnings = warnings_of(self._candidate.subject)
        return {**super().environment(), **({"shim_warnings": warnings} if warnings else {})}

    def _jobs(self) -> int:
        """Return the number of cases at once: the user's number, or what the host can bear."""
        return self.config.jobs if self._candidate.jobs_given else jobs_of(self._candidate.subject, self.config.jobs)

    @property
    def release(self) -> str:
        info = self.subject_info()
        return "" if info is None else info.version or ""

    def subject_info(self) -> SubjectInfo | None:
        return None if self._hello is None else info_of(self._candidate, self._hello)


def _say_nothing(line: str) -> None:
    """Show nothing: the verdict reports a trial's findings."""

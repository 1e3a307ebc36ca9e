"""One fuzzing run of a client: runs drawn plans side by side until a time limit or a new kind of failure, then shrinks and confirms each find."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import trio

from groupproof.harness.cases.drawn_case import drawn_case
from groupproof.harness.judging.case_result import CaseResult, Play
from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.judging.summary.run_summary import SubjectInfo
from groupproof.harness.model.case import Case, plan_of, seed_of
from groupproof.harness.model.case_dialect import CLASSIC_CAPABILITY
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.model.plan import Plan
from groupproof.harness.model.verdicts import Finding, Verdict
from groupproof.harness.running.canary import Canary
from groupproof.harness.running.case_runner import Runner
from groupproof.harness.running.fuzzing.hypothesis_source import drawn
from groupproof.harness.running.fuzzing.plans.epoch_plans import epoch_plan_drawn
from groupproof.harness.running.fuzzing.plans.find_proof import PlanRun, Prover
from groupproof.harness.running.fuzzing.plans.finds import Find, Finds, kinds_in
from groupproof.harness.running.fuzzing.plans.plan_source import Traits, plan_drawn
from groupproof.harness.running.fuzzing.plans.shrink_plan import count_of_faults
from groupproof.harness.running.fuzzing.plans.themes import Theme, theme_of, themes_of
from groupproof.harness.running.plans.client_stage import Stage
from groupproof.harness.running.plans.own_assignor import own_assignor_of
from groupproof.harness.running.plans.plan_runner import Limits
from groupproof.harness.running.runs.whole_run import CertifyRun, RunConfig, info_of
from groupproof.harness.subjects.client_registry import Candidate, reference_subject
from groupproof.harness.subjects.shims.contract_lines import Hello
from groupproof.harness.subjects.subject import Subject
from groupproof.protocol.trace import Trace
from groupproof.protocol.wire.message_codec import warm

__all__ = ["ClientFuzzing", "Effort", "plan_numbered"]

PROGRESS_S: Final = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """The limits of a run: the time (s of the wall clock) or number of plans, and at most `members` members in each. With `goes_on` the run
    continues after the first find; `shrink_s` is the time for shrinking the finds. `dialect` is the members' protocol."""

    max_time_s: float
    plans: int | None = None
    members: int = 3
    goes_on: bool = False
    shrink_s: float = 600.0
    dialect: str = CLASSIC_CAPABILITY


@dataclass(slots=True, kw_only=True)
class _Stage:
    """The stage of a run: plays as certify does, and repeats only new failures. `failures` has the kinds of failure in the runs of a case, each with
    the first trace that shows it; `last` has the trace of its last run."""

    inner: Stage
    finds: Finds
    failures: dict[str, dict[str, tuple[Finding, Trace]]] = field(default_factory=dict)
    last: dict[str, Trace] = field(default_factory=dict)
    requests: int = 0

    @property
    def is_virtual(self) -> bool:
        return self.inner.is_virtual

    @property
    def canary(self) -> Canary | None:
        return self.inner.canary

    async def play(self, case: Case, *, key: str, alone: bool = False) -> Play:
        return await self.inner.play(case, key=key, alone=alone)

    def judge(self, case: Case, trace: Trace) -> Judgement:
        judgement = self.inner.judge(case, trace)
        failures = self.failures.setdefault(case.id, {})
        failures |= {kind: (finding, trace) for kind, finding in kinds_in(judgement).items() if kind not in failures}
        self.last[case.id] = trace
        self.requests += sum(obs.kind == "request" for obs in trace)
        return self.finds.unmet(judgement)


class ClientFuzzing(CertifyRun):
    """One run; `found` gets each find after it is shrunk. `finds` are all finds, `plans` and `requests` are counts; `undecided` are the plans
    without a verdict."""

    def __init__(self, candidate: Candidate, config: RunConfig, effort: Effort, *, say: Callable[[str], None], found: Callable[[Find], None]) -> None:
        super().__init__(config, (), say=lambda *_: None, is_virtual=candidate.subject.is_virtual)
        self.finds = Finds(())
        self.plans = 0
        self.faults = 0
        self.undecided: list[CaseResult] = []
        self.took_s = 0.0
        self._candidate = candidate
        self._effort = effort
        self._line = say
        self._found = found
        self._hello: Hello | None = None
        self._numbers = itertools.count(1)
        self._drawing = trio.CapacityLimiter(1)
        self._themes: dict[str, Theme] = {}
        self._themes_covered: set[Theme] = set()
        self._began = 0.0
        self._search_scope = trio.CancelScope()
        self._stage: _Stage | None = None

    @property
    def requests(self) -> int:
        return 0 if self._stage is None else self._stage.requests

    @property
    def release(self) -> str:
        info = self.subject_info()
        return "" if info is None else info.version or ""

    def subject_info(self) -> SubjectInfo | None:
        return None if self._hello is None else info_of(self._candidate, self._hello)

    async def work(self) -> None:
        subject, others = self._candidate.subject, reference_subject(is_virtual=self.is_virtual)
        if not self.is_virtual:
            await trio.to_thread.run_sync(warm)
        async with subject.opened(), others.opened():
            self._hello = subject.hello
            if self._effort.dialect not in subject.hello.capabilities:
                raise WrongUsage(f"{subject.hello.client} does not speak the protocol {self._effort.dialect}: its shim does not declare it")
            self.finds = Finds(self._known_failures())
            self._stage = _Stage(inner=await self._inner(subject, others).in_rhythm(), finds=self.finds)
            runner = Runner(self._stage, jobs=self.config.jobs, say=self.report)
            self.results = runner.results
            self._began = time.monotonic()
            async with runner.paced():
                await self._search(runner, self._stage)
                self.took_s = time.monotonic() - self._began
                await self._prove(runner, self._stage.inner, others)

    def _inner(self, subject: Subject, others: Subject) -> Stage:
        config = self.config
        return Stage(
            subject=subject,
            reference_peers=others,
            profile=config.profile,
            seed=config.seed,
            bind=config.bind,
            advertise=config.advertise,
            limits=Limits() if config.timeout_s is None else Limits(steps_s=config.timeout_s),
            canary=None if self.is_virtual else self.canary,
            own_assignor=own_assignor_of(subject.hello.capabilities),
        )

    # The hunt.

    async def _search(self, runner: Runner, stage: _Stage) -> None:
        with self._search_scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._report_periodically)
                async with trio.open_nursery() as workers:
                    for _ in range(self.config.jobs):
                        workers.start_soon(self._worker, runner, stage)
                nursery.cancel_scope.cancel()

    async def _report_periodically(self) -> None:
        while not self.is_virtual:
            await trio.sleep(PROGRESS_S)
            self._line(self.state())
            if self._is_late:
                self._search_scope.cancel()
        await trio.sleep_forever()

    @property
    def _is_late(self) -> bool:
        return time.monotonic() - self._began >= self._effort.max_time_s

    async def _worker(self, runner: Runner, stage: _Stage) -> None:
        while not self._is_late and (case := await self._next()) is not None:
            before = len(runner.results)
            await runner.rule([case])
            result = next(result for result in reversed(runner.results[before:]) if result.case is case)
            self._settle(result, stage)

    async def _next(self) -> Case | None:
        number = next(self._numbers)
        if self._effort.plans is not None and number > self._effort.plans:
            return None
        assert self._hello is not None
        traits = Traits(capabilities=self._hello.capabilities, profile=self.config.profile, members_max=self._effort.members)
        draw = partial(plan_numbered, number, traits, seed=self.config.seed, dialect=self._effort.dialect)
        theme, plan = draw() if self.is_virtual else await trio.to_thread.run_sync(draw, limiter=self._drawing)
        case = drawn_case(f"{self.config.seed:x}-{number}", plan)
        if theme is not None:
            self._themes[case.id] = theme
        return case

    def _settle(self, result: CaseResult, stage: _Stage) -> None:
        """Count a plan's result, and record its new finds."""
        case, ruling = result.case, result.ruling
        failures, trace = stage.failures.pop(case.id, {}), stage.last.pop(case.id, [])
        result.plays.clear()
        self.plans += 1
        self.faults += count_of_faults(plan_of(case))
        self.finds.count(failures, case)
        theme = self._themes.pop(case.id, None)
        if theme is not None and theme.has_acted(plan_of(case), trace):
            self._themes_covered.add(theme)
        if ruling.verdict in (Verdict.INCONCLUSIVE, Verdict.BROKEN, Verdict.UNIMPLEMENTED):
            self.undecided.append(result)
        for kind, finding in kinds_in_ruling(result).items():
            if kind not in self.finds.found and self.finds.reason(kind) is None:
                find = self.finds.add(kind, finding, case, failures[kind][1] if kind in failures else trace, time.monotonic() - self._began)
                self._line(f"after {find.after_s:.0f} s, {case.id}: {finding.verdict.value} {finding.requirement}: {finding.observed}")
        if self.finds.found and not self._effort.goes_on:
            self._search_scope.cancel()

    def state(self) -> str:
        """Return the run's progress, in a line."""
        seconds = time.monotonic() - self._began if self.took_s == 0 else self.took_s
        kinds = f"{len(self.finds.found)} kinds of failure found, {len(self.finds.excused)} known ones found"
        is_classic = self._effort.dialect == CLASSIC_CAPABILITY
        themes = f"{len(self._themes_covered)} of {len(themes_of(self.config.profile))} themes covered, " if is_classic else ""
        done = f"{self.plans} plans, {themes}{self.faults} faults, {self.requests} requests"
        return f"{done}, {kinds}, {len(self.undecided)} plans undecided, {seconds:.0f} s"

    # The proof.

    async def _prove(self, runner: Runner, stage: Stage, others: Subject) -> None:
        """Shrink all finds at once; they share the host."""
        keys = itertools.count(1)

        async def play(stage: Stage, case: Case) -> PlanRun:
            async with runner.slot():
                played = await stage.play(case, key=f"s{next(keys)}")
            if played.trouble is not None:
                return PlanRun(judgement=None, trace=played.trace)
            judgement = stage.judge(case, played.trace) if self.is_virtual else await trio.to_thread.run_sync(stage.judge, case, played.trace)
            return PlanRun(judgement=judgement, trace=played.trace)

        prover = Prover(partial(play, stage), partial(play, replace(stage, subject=others)), say=self._line)
        async with trio.open_nursery() as nursery:
            for find in self.finds.found.values():
                nursery.start_soon(self._prove_one, prover, find)

    async def _prove_one(self, prover: Prover, find: Find) -> None:
        await prover.prove(find, self._effort.shrink_s)
        self._found(find)


def plan_numbered(number: int, traits: Traits, *, seed: int, dialect: str = CLASSIC_CAPABILITY) -> tuple[Theme | None, Plan]:
    """Return the theme and the plan of a number (from 1) in a run; each plan has a seed of its own."""
    if dialect != CLASSIC_CAPABILITY:
        return None, drawn(lambda choices: epoch_plan_drawn(choices, traits), seed=seed_of(seed, f"plan/{dialect}/{number}"), count=2)[-1]
    theme = theme_of(number - 1, profile_name=traits.profile, seed=seed)
    # Hypothesis' first result is its simplest, and the same for all seeds.
    return theme, drawn(lambda choices: plan_drawn(choices, traits, theme), seed=seed_of(seed, f"plan/{number}"), count=2)[-1]


def kinds_in_ruling(result: CaseResult) -> dict[str, Finding]:
    """Return the kinds of failure that a plan's runs prove: violations on the wire, and absences in every run."""
    if result.ruling.verdict not in (Verdict.FAILED, Verdict.NON_STRICT):
        return {}
    return kinds_in(Judgement(verdict=result.ruling.verdict, findings=result.ruling.findings))

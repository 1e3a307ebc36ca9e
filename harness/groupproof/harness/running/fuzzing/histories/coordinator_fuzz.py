"""One fuzzing run of a coordinator: batches of random histories on one cluster, until enough requests are answered or one history diverges."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

import trio

from groupproof.coordinator.broker.advertised_versions import accepted
from groupproof.coordinator.machine.coordinator_settings import Settings, UnknownSetting
from groupproof.harness.judging.case_result import CaseResult, Play
from groupproof.harness.judging.ruling import Judgement, Ruling, rule_on
from groupproof.harness.judging.script_judgement import judge_script_run
from groupproof.harness.judging.summary.run_summary import SubjectInfo
from groupproof.harness.model.case import Case, script_of, seed_of
from groupproof.harness.model.case_dialect import case_id, dialect_of_apis
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.model.script import Ask, Script
from groupproof.harness.model.verdicts import Level, Verdict
from groupproof.harness.running.canary import Canary
from groupproof.harness.running.case_runner import Runner
from groupproof.harness.running.fuzzing.histories.answer_contrast import overlap
from groupproof.harness.running.fuzzing.histories.divergence import Divergence, answered_counts, divergences_in, excused
from groupproof.harness.running.fuzzing.histories.history_registry import histories_on
from groupproof.harness.running.fuzzing.histories.history_source import Kind, histories
from groupproof.harness.running.fuzzing.histories.shrink_history import shrunk, size_of
from groupproof.harness.running.runs.whole_run import CertifyRun, RunConfig
from groupproof.harness.running.scripts.coordinator_stage import BrokerStage, ClusterSpec, PooledCluster, opened
from groupproof.harness.running.scripts.script_runner import STEPS_S
from groupproof.harness.subjects.brokers.cluster import BrokerSubject
from groupproof.protocol.trace import Trace
from groupproof.protocol.wire.message_codec import warm

__all__ = ["KINDS", "FuzzEffort", "FuzzFinding", "Fuzzing", "drawn_case", "kinds_of", "topics_drawn"]

ATTEMPTS: Final = 5
"""How often a divergence is reproduced before it is shrunk: some show only now and then."""

SHRINK_S: Final = 120.0
"""How long a history is shrunk, in seconds; the smallest one so far is the result."""

KINDS: Final[tuple[Mapping[str, Any], ...]] = (
    {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 100},
    {
        "group.initial.rebalance.delay.ms": 1_000,
        "group.min.session.timeout.ms": 100,
        "group.max.size": 3,
        "transaction.partition.verification.enable": "false",
    },
)
"""The settings for random histories: half of the steps use each.

Without verification, offsets are accepted in transactions that nobody began (KIP-890).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FuzzFinding:
    """A shrunk history that the rules do not explain, with the trace that shows it. `is_fleeting`: it did not show again."""

    case: Case
    divergence: Divergence
    trace: Trace
    ruling: Ruling
    is_fleeting: bool = False


@dataclass(slots=True, kw_only=True)
class _Stage:
    """The stage of a batch: it judges strictly, and remembers the divergences."""

    inner: BrokerStage
    divergence: dict[str, tuple[Divergence, Trace]] = field(default_factory=dict)

    @property
    def is_virtual(self) -> bool:
        return self.inner.is_virtual

    @property
    def canary(self) -> Canary | None:
        return self.inner.canary

    async def play(self, case: Case, *, key: str, alone: bool = False) -> Play:
        return await self.inner.play(case, key=key)

    def judge(self, case: Case, trace: Trace) -> Judgement:
        judgement = self.inner.judge(case, trace)
        if all(finding.verdict is Verdict.OK for finding in judgement.findings):
            return judgement
        if divergences := divergences_in(trace):
            self.divergence[case.id] = (divergences[0], trace)
            return judgement
        return excused(judgement, trace)


@dataclass(frozen=True, slots=True, kw_only=True)
class FuzzEffort:
    """The amount of work: at least `steps` answered requests, in histories of `length` requests; `goes_on` continues after the first divergence.

    With `dialect` the histories are of that dialect, some of all dialects.
    """

    steps: int
    length: int = 25
    goes_on: bool = False
    dialect: str | None = None


def kinds_of(profile: str) -> list[dict[str, Any]]:
    """Return the settings for random histories that the release has."""
    return [
        {name: value for name, value in {**kind, **_own(profile, number)}.items() if _is_known(name, value, profile)}
        for number, kind in enumerate(KINDS)
    ]


def _own(profile: str, number: int) -> dict[str, Any]:
    """Return the settings that the profile's dialects need beside the kind of that number."""
    own: dict[str, Any] = {}
    for part in histories_on(profile):
        own |= {**part.settings, **dict(*part.settings_of_kinds[number : number + 1])}
    return own


def topics_drawn(profile: str) -> dict[str, int]:
    """Return the topics in histories of the profile's dialects."""
    return {name: count for part in histories_on(profile) for name, count in part.topics.items()}


def _is_known(name: str, value: Any, profile: str) -> bool:
    try:
        Settings.of({name: value}, profile)
    except UnknownSetting:
        return False
    return True


class Fuzzing(CertifyRun):
    """One run; `found` is called with the first divergence of each sort.

    `by_api` counts the answered requests. `diverged` are the findings given to `found`. `more` counts the further histories that diverged in each
    way; they are not kept. `undecided` are the histories without a verdict.
    """

    def __init__(
        self,
        subject: BrokerSubject,
        config: RunConfig,
        steps: FuzzEffort,
        *,
        say: Callable[[str], None],
        found: Callable[[FuzzFinding], None],
        prefix: str,
    ) -> None:
        super().__init__(config, (), say=lambda *_: None, is_virtual=subject.is_virtual)
        self.by_api: Counter[str] = Counter()
        self.diverged: list[FuzzFinding] = []
        self.more: Counter[tuple[str, str]] = Counter()
        self.undecided: list[CaseResult] = []
        self._subject = subject
        self._steps = steps
        self._line = say
        self._found = found
        self._prefix = prefix
        self._token = "" if subject.is_virtual else f"{random.SystemRandom().getrandbits(24):06x}-"
        self._numbers = itertools.count(1)
        self._ruled: list[CaseResult] = []

    @property
    def release(self) -> str:
        return self._subject.release or self._subject.version or ""

    def subject_info(self) -> SubjectInfo | None:
        spec = self._subject.spec
        return SubjectInfo(name=self._subject.name, version=self.release or None, language=None, capabilities=[], spec=spec, side="coordinator")

    async def work(self) -> None:
        self.results = self._ruled
        if not self.is_virtual:
            await trio.to_thread.run_sync(warm)
        kinds = kinds_of(self.config.profile)
        for number, settings in enumerate(kinds):
            if not self._is_over:
                await self._under(settings, number, goal=self._steps.steps * (number + 1) // len(kinds))

    @property
    def answered(self) -> int:
        return self.by_api.total()

    @property
    def divergences(self) -> int:
        return len(self.diverged) + self.more.total()

    @property
    def _is_over(self) -> bool:
        return bool(self.diverged) and not self._steps.goes_on

    async def _under(self, settings: Mapping[str, Any], number: int, *, goal: int) -> None:
        """Fuzz a cluster with these settings until `goal` requests are answered in all."""
        spec = ClusterSpec(settings=tuple(sorted(settings.items())), brokers=1)
        nothing = drawn_case("none", Script(steps=(), topics=topics_drawn(self.config.profile)))
        async with opened(self._subject, spec, [nothing], self._prefix) as cluster:
            stage = self._stage(spec, cluster)
            # The rules of a release do not contain versions that came after it.
            ranges = overlap(cluster.where.readable, accepted(self.config.profile))
            kind = Kind(profile=self.config.profile, settings=cluster.settings, ranges=ranges, steps=self._steps.length, dialect=self._steps.dialect)
            for batch in itertools.count():
                if self.answered >= goal or self._is_over:
                    return
                await self._batch(stage, kind, seed=seed_of(self.config.seed, f"{number}/{batch}"))

    def _stage(self, spec: ClusterSpec, cluster: PooledCluster) -> _Stage:
        return _Stage(
            inner=BrokerStage(
                subject=self._subject,
                spec=spec,
                cluster=cluster,
                profile=self.config.profile,
                seed=self.config.seed,
                token=self._token,
                prefix=self._prefix,
                steps_s=self.config.timeout_s or STEPS_S,
                canary=None if self.is_virtual else self.canary,
            )
        )

    async def _batch(self, stage: _Stage, kind: Kind, *, seed: int) -> None:
        draw = partial(histories, kind, seed=seed, count=self.config.jobs)
        scripts = draw() if self.is_virtual else await trio.to_thread.run_sync(draw)
        cases = [drawn_case(f"{self.config.seed:x}-{next(self._numbers)}", script) for script in scripts]
        runner = Runner(stage, jobs=self.config.jobs, say=self.report, is_eager=True)
        async with runner.paced():
            await runner.rule(cases)
        before = self.answered
        for result in runner.results:
            await self._settle(result, stage)
        self._line(f"{self.answered} requests answered, {self.divergences} divergences, {len(self.undecided)} histories undecided")
        if self.answered == before:
            raise BrokenEnvironment(f"{self._subject.spec} answered none of the requests of {len(cases)} histories{_why(runner.results)}")

    async def _settle(self, result: CaseResult, stage: _Stage) -> None:
        """Count the answered requests. Shrink a divergence unless it is of a known sort or the caller wants no more."""
        self._ruled.append(result)
        for play in result.plays[:1]:
            self.by_api += answered_counts(play.trace)
        verdict, found = result.ruling.verdict, stage.divergence.pop(result.case.id, None)
        result.plays.clear()
        if verdict in (Verdict.INCONCLUSIVE, Verdict.BROKEN, Verdict.UNIMPLEMENTED):
            self.undecided.append(result)
            self._line(f"{result.case.id} undecided: {result.ruling.observed}")
        elif found is not None and (self._is_over or any(found[0].sort == diverged.divergence.sort for diverged in self.diverged)):
            self.more[found[0].sort] += 1
        elif found is not None:
            self._line(f"{result.case.id}: {found[0].finding.observed}")
            first = FuzzFinding(case=result.case, divergence=found[0], trace=found[1], ruling=result.ruling)
            self.diverged.append(first)
            try:
                self.diverged[-1] = await self._shrunk(first, stage)
            finally:
                self._found(self.diverged[-1])

    async def _shrunk(self, first: FuzzFinding, stage: _Stage) -> FuzzFinding:
        """Return the smallest history with the same divergence; the original one if the divergence does not show again."""
        case, divergence = first.case, first.divergence
        limit = trio.CapacityLimiter(self.config.jobs)
        kept: dict[str, FuzzFinding] = {}

        async def attempt(scripts: Sequence[Script]) -> list[bool]:
            self._line(f"{case.id}: {sum(isinstance(step, Ask) for step in scripts[0].steps)} requests and fewer, {len(scripts)} attempts")
            shows = [False] * len(scripts)

            async def one(index: int) -> None:
                async with limit:
                    found = await self._tried(replace(case, plan=scripts[index]), divergence, stage)
                if found is not None:
                    shows[index] = True
                    kept[repr(scripts[index])] = found

            async with trio.open_nursery() as nursery:
                for index in range(len(scripts)):
                    nursery.start_soon(one, index)
            return shows

        whole = script_of(case)
        if not any(await attempt([whole] * ATTEMPTS)):
            return replace(first, is_fleeting=True)
        with trio.move_on_after(SHRINK_S):
            await shrunk(whole, attempt)
        return min(kept.values(), key=lambda diverged: size_of(script_of(diverged.case)))

    async def _tried(self, case: Case, divergence: Divergence, stage: _Stage) -> FuzzFinding | None:
        """Run a smaller history; return None unless it shows the same divergence."""
        play = await stage.play(case, key=f"s{next(self._numbers)}")
        if play.trouble is not None:
            return None
        again = [item for item in divergences_in(play.trace) if item.sort == divergence.sort]
        ruling = rule_on(case, [judge_script_run(case, play.trace)])
        return FuzzFinding(case=case, divergence=again[0], trace=play.trace, ruling=ruling) if again else None


def drawn_case(name: str, script: Script) -> Case:
    """Return a random history as a case, which the oracle judges."""
    dialect = dialect_of_apis(step.api.title for step in script.steps if isinstance(step, Ask))
    return Case(
        id=case_id("fuzz", dialect, name), title="A drawn history.", requirements=(), level=Level.MUST, plan=script, judges=(), side="coordinator"
    )


def _why(results: Sequence[CaseResult]) -> str:
    return next((f": {result.ruling.observed}" for result in results if result.ruling.observed), "")

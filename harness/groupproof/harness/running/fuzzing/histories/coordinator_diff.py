"""Runs the same schedules against two coordinators: cases and random histories. Finds for each the first answer that differs."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

import trio

from groupproof.harness.model.case import Case, script_of, seed_of
from groupproof.harness.model.errors import RunError
from groupproof.harness.model.script import Script
from groupproof.harness.model.script_bindings import GROUP_PREFIX
from groupproof.harness.running.error_search import trouble_in
from groupproof.harness.running.fuzzing.histories.answer_contrast import Contrast, contrast, leveled, overlap
from groupproof.harness.running.fuzzing.histories.coordinator_fuzz import drawn_case, kinds_of, topics_drawn
from groupproof.harness.running.fuzzing.histories.model_state import Ranges
from groupproof.harness.running.scripts.coordinator_stage import BrokerStage, ClusterSpec, PooledCluster, cases_by_cluster, opened
from groupproof.harness.running.scripts.script_runner import STEPS_S
from groupproof.harness.subjects.brokers.cluster import BrokerSubject
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.protocol.wire.message_codec import warm

__all__ = ["Comparison", "ScriptComparison"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptComparison:
    """One script: the point where the two coordinators differ, or None. With `trouble` it could not be run on both."""

    case: Case
    contrast: Contrast | None = None
    trouble: RunError | None = None


class Comparison:
    """One comparison; `compared` fills as scripts end."""

    def __init__(
        self, subjects: tuple[BrokerSubject, BrokerSubject], cases: Sequence[Case], *, steps: int, seed: int, jobs: int, say: Callable[[str], None]
    ) -> None:
        self.compared: list[ScriptComparison] = []
        self._subjects = subjects
        self._cases = cases
        self._steps = steps
        self._seed = seed
        self._say = say
        self._limit = trio.CapacityLimiter(jobs)
        self._token = f"{random.SystemRandom().getrandbits(24):06x}-"
        self._is_virtual = all(subject.is_virtual for subject in subjects)
        self._common: Ranges | None = None

    def go(self) -> None:
        """Block until all scripts are compared; raise `RunError` where a subject cannot be started."""
        try:
            if self._is_virtual:
                run_virtually(self._main, seed=self._seed)
            else:
                trio.run(self._main)
        except ExceptionGroup as error:
            raise trouble_in(error) from error

    async def _main(self) -> None:
        if not self._is_virtual:
            await trio.to_thread.run_sync(warm)
        for spec, cases in sorted(cases_by_cluster(self._cases).items(), key=lambda item: (item[0].only is not None, -len(item[1]))):
            await self._compare_on(spec, cases)
        if self._steps:
            for number, settings in enumerate(kinds_of(self._subjects[0].profile)):
                await self._drawn(ClusterSpec(settings=tuple(sorted(settings.items())), brokers=1), number)

    async def _compare_on(self, spec: ClusterSpec, cases: Sequence[Case]) -> None:
        async with AsyncExitStack() as stack:
            clusters = [None, None] if spec.only is not None else [await self._opened(stack, subject, spec, cases) for subject in self._subjects]
            await self._compare(spec, clusters, cases)

    async def _opened(self, stack: AsyncExitStack, subject: BrokerSubject, spec: ClusterSpec, cases: Sequence[Case]) -> PooledCluster:
        return await stack.enter_async_context(opened(subject, spec, cases))

    async def _drawn(self, spec: ClusterSpec, number: int) -> None:
        """Compare by random histories too, half of the steps on each cluster spec."""
        from groupproof.harness.running.fuzzing.histories.history_source import Kind, histories

        async with AsyncExitStack() as stack:
            nothing = drawn_case("none", Script(steps=(), topics=topics_drawn(self._subjects[0].profile)))
            clusters = [await self._opened(stack, subject, spec, [nothing]) for subject in self._subjects]
            ranges = overlap(clusters[0].where.readable, clusters[1].where.readable)
            kind = Kind(profile=self._subjects[0].profile, settings=dict(spec.settings), ranges=ranges)
            count = max(1, self._steps // (2 * kind.steps))
            scripts = histories(kind, seed=seed_of(self._seed, f"{number}/0"), count=count)
            cases = [drawn_case(f"{self._seed:x}-{number}-{index}", script) for index, script in enumerate(scripts)]
            await self._compare(spec, list(clusters), cases)

    async def _compare(self, spec: ClusterSpec, clusters: Sequence[PooledCluster | None], cases: Sequence[Case]) -> None:
        first, second = clusters
        if first is not None and second is not None:
            self._common = overlap(first.where.readable, second.where.readable)
        stages = [self._stage(subject, spec, cluster) for subject, cluster in zip(self._subjects, clusters, strict=True)]
        async with trio.open_nursery() as nursery:
            for case in cases:
                nursery.start_soon(self._one, self._alike(case), stages)
        self._say(f"{len(self.compared)} schedules, {sum(result.contrast is not None for result in self.compared)} diverge")

    def _alike(self, case: Case) -> Case:
        """Return the case at the versions that both support; a request stays unchanged where one of them lacks its API."""
        return case if self._common is None else replace(case, plan=leveled(script_of(case), self._common))

    async def _one(self, case: Case, stages: Sequence[BrokerStage]) -> None:
        async with self._limit:
            plays = [await stage.play(case, key=f"d{number}") for number, stage in enumerate(stages)]
        error = next((play.trouble for play in plays if play.trouble is not None), None)
        difference = None if error is not None else contrast(plays[0].trace, plays[1].trace)
        self.compared.append(ScriptComparison(case=case, contrast=difference, trouble=error))

    def _stage(self, subject: BrokerSubject, spec: ClusterSpec, cluster: PooledCluster | None) -> BrokerStage:
        return BrokerStage(
            subject=subject,
            spec=spec,
            cluster=cluster,
            profile=subject.profile,
            seed=self._seed,
            token=self._token,
            prefix=GROUP_PREFIX,
            steps_s=STEPS_S,
        )

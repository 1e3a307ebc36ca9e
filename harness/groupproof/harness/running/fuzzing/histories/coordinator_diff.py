"""The same schedules against two coordinators: cases and drawn histories, and for each the first answer that the two do not give alike."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

import trio

from groupproof.harness.model.case import Case, script_of, seed_of
from groupproof.harness.model.errors import Trouble
from groupproof.harness.model.script import Script
from groupproof.harness.model.script_bindings import GROUP_PREFIX
from groupproof.harness.running.error_search import trouble_in
from groupproof.harness.running.fuzzing.histories.answer_contrast import Contrast, contrast, leveled, overlap
from groupproof.harness.running.fuzzing.histories.coordinator_fuzz import drawn_case, kinds_of
from groupproof.harness.running.fuzzing.histories.model_state import Ranges
from groupproof.harness.running.scripts.coordinator_stage import BrokerStage, Ground, World, opened, worlds_of
from groupproof.harness.running.scripts.script_runner import STEPS_S
from groupproof.harness.subjects.brokers.cluster import BrokerSubject
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.protocol.wire.message_codec import warm

__all__ = ["Compared", "Comparison"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One script: where the two diverge, or None; with `trouble` it could not be carried out on both."""

    case: Case
    contrast: Contrast | None = None
    trouble: Trouble | None = None


class Comparison:
    """One comparison; `compared` fills as scripts end."""

    def __init__(
        self, subjects: tuple[BrokerSubject, BrokerSubject], cases: Sequence[Case], *, steps: int, seed: int, jobs: int, say: Callable[[str], None]
    ) -> None:
        self.compared: list[Compared] = []
        self._subjects = subjects
        self._cases = cases
        self._steps = steps
        self._seed = seed
        self._say = say
        self._limit = trio.CapacityLimiter(jobs)
        self._token = f"{random.SystemRandom().getrandbits(24):06x}-"
        self._is_virtual = all(each.is_virtual for each in subjects)
        self._common: Ranges | None = None

    def go(self) -> None:
        """Block until all is compared; raise `Trouble` where a subject cannot be had."""
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
        for world, cases in sorted(worlds_of(self._cases).items(), key=lambda each: (each[0].only is not None, -len(each[1]))):
            await self._world(world, cases)
        if self._steps:
            for number, settings in enumerate(kinds_of(self._subjects[0].profile)):
                await self._drawn(World(settings=tuple(sorted(settings.items())), brokers=1), number)

    async def _world(self, world: World, cases: Sequence[Case]) -> None:
        async with AsyncExitStack() as stack:
            grounds = [None, None] if world.only is not None else [await self._opened(stack, each, world, cases) for each in self._subjects]
            await self._compare(world, grounds, cases)

    async def _opened(self, stack: AsyncExitStack, subject: BrokerSubject, world: World, cases: Sequence[Case]) -> Ground:
        return await stack.enter_async_context(opened(subject, world, cases))

    async def _drawn(self, world: World, number: int) -> None:
        """Compare by drawn histories too, half of the steps in each world."""
        from groupproof.harness.running.fuzzing.histories.history_source import Kind, histories

        async with AsyncExitStack() as stack:
            grounds = [await self._opened(stack, each, world, [drawn_case("none", Script(steps=()))]) for each in self._subjects]
            ranges = overlap(grounds[0].where.readable, grounds[1].where.readable)
            kind = Kind(profile=self._subjects[0].profile, settings=dict(world.settings), ranges=ranges)
            count = max(1, self._steps // (2 * kind.steps))
            scripts = histories(kind, seed=seed_of(self._seed, f"{number}/0"), count=count)
            cases = [drawn_case(f"{self._seed:x}-{number}-{index}", script) for index, script in enumerate(scripts)]
            await self._compare(world, list(grounds), cases)

    async def _compare(self, world: World, grounds: Sequence[Ground | None], cases: Sequence[Case]) -> None:
        first, second = grounds
        if first is not None and second is not None:
            self._common = overlap(first.where.readable, second.where.readable)
        stages = [self._stage(subject, world, ground) for subject, ground in zip(self._subjects, grounds, strict=True)]
        async with trio.open_nursery() as nursery:
            for case in cases:
                nursery.start_soon(self._one, self._alike(case), stages)
        self._say(f"{len(self.compared)} schedules, {sum(each.contrast is not None for each in self.compared)} diverge")

    def _alike(self, case: Case) -> Case:
        """Return the case with the versions that both speak; where a request's API is not spoken by both, as it is."""
        return case if self._common is None else replace(case, plan=leveled(script_of(case), self._common))

    async def _one(self, case: Case, stages: Sequence[BrokerStage]) -> None:
        async with self._limit:
            plays = [await stage.play(case, key=f"d{number}") for number, stage in enumerate(stages)]
        trouble = next((each.trouble for each in plays if each.trouble is not None), None)
        told = None if trouble is not None else contrast(plays[0].trace, plays[1].trace)
        self.compared.append(Compared(case=case, contrast=told, trouble=trouble))

    def _stage(self, subject: BrokerSubject, world: World, ground: Ground | None) -> BrokerStage:
        return BrokerStage(
            subject=subject,
            world=world,
            ground=ground,
            profile=subject.profile,
            seed=self._seed,
            token=self._token,
            prefix=GROUP_PREFIX,
            steps_s=STEPS_S,
        )

"""What the coordinator cases of a run share: clusters, one for each set of settings that they need, and how a case is run on one and judged.

Groups are independent, so that all cases of a set run side by side on one cluster; a case that stops brokers has clusters of its own.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import trio

from groupproof.harness.brokers.cluster import BrokerSubject
from groupproof.harness.brokers.told import settings_told
from groupproof.harness.canary import Canary
from groupproof.harness.case import Case, script_of
from groupproof.harness.judging import LAG_MS_MAX, Judgement
from groupproof.harness.needs import needs_of, unspoken
from groupproof.harness.play import Play, seed_of
from groupproof.harness.runner import trouble_in
from groupproof.harness.script import Ask, MoveGroup, Script
from groupproof.harness.script_judging import judge_script_run
from groupproof.harness.script_names import GROUP_PREFIX, Names, topics_of
from groupproof.harness.scripted import STEPS_S, perform
from groupproof.harness.troubles import Trouble
from groupproof.harness.whereabouts import Whereabouts
from groupproof.protocol.trace import Recorder, Trace
from groupproof.protocol.vocabulary import Api

__all__ = ["BrokerStage", "Ground", "Stages", "World", "opened", "world_of", "worlds_of"]

INITIAL_DELAY = "group.initial.rebalance.delay.ms"
MAX_SIZE = "group.max.size"
MIN_SESSION = "group.min.session.timeout.ms"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What a cluster must be like for a set of cases; `only` names the case that it is for alone."""

    settings: tuple[tuple[str, Any], ...]
    brokers: int
    only: str | None = None


def world_of(case: Case) -> World:
    """Return the cluster that the case needs; one that stops brokers would end the others' connections."""
    script = script_of(case)
    stops = any(isinstance(step, MoveGroup) for step in script.steps)
    return World(settings=tuple(sorted(script.settings.items())), brokers=script.brokers, only=case.id if stops else None)


def worlds_of(cases: Iterable[Case]) -> dict[World, list[Case]]:
    """Return the cases by the cluster that they need."""
    worlds: dict[World, list[Case]] = {}
    for case in cases:
        worlds.setdefault(world_of(case), []).append(case)
    return worlds


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """A running cluster with what is known of it: the `settings` that hold, and of those asked for which do not, and why."""

    where: Whereabouts
    settings: Mapping[str, Any]
    unmet: Mapping[str, str]

    def hindrances(self, script: Script) -> list[str]:
        """Return why the script makes no sense here, a line for each setting.

        A broker that waits before its first rebalance only takes longer; session timeouts that no member asks for need not be allowed, nor
        need a group be bounded that has no more members.
        """
        named = {name: why for name, why in self.unmet.items() if name in script.settings and not self._is_bearable(name, script)}
        return [f"{name}={script.settings[name]}: {why}" for name, why in named.items()]

    def _is_bearable(self, name: str, script: Script) -> bool:
        known = self.settings.get(name)
        if name == MAX_SIZE:
            return len({step.member for step in _joins(script)}) <= int(script.settings[name])
        if name == INITIAL_DELAY:
            return known is not None and int(script.settings[name]) == 0
        return name == MIN_SESSION and known is not None and all(session >= int(known) for session in _sessions(script))


def _joins(script: Script) -> list[Ask]:
    return [step for step in script.steps if isinstance(step, Ask) and step.api is Api.JOIN_GROUP]


def _sessions(script: Script) -> list[int]:
    return [int(step.fields["session_timeout_ms"]) for step in _joins(script) if "session_timeout_ms" in step.fields]


@asynccontextmanager
async def opened(subject: BrokerSubject, world: World, cases: Iterable[Case], prefix: str = GROUP_PREFIX) -> AsyncIterator[Ground]:
    """Start the cluster of a world and get to know it; raise `BrokenEnvironment`."""
    topics = {name: partitions for case in cases for name, partitions in topics_of(script_of(case).topics, prefix).items()}
    async with subject.cluster(settings=dict(world.settings), brokers=world.brokers, topics=topics) as cluster:
        where = Whereabouts(cluster)
        try:
            await where.learn()
            told = await settings_told(cluster.connect, cluster.addresses[0]) if cluster.unmet else {}
            yield Ground(where=where, settings=_holding(dict(world.settings), cluster.unmet, told), unmet=cluster.unmet)
        finally:
            await where.close()


def _holding(asked: dict[str, Any], unmet: Mapping[str, str], told: Mapping[str, str | None] | str) -> dict[str, Any]:
    """Return the settings that hold: those asked for, and in place of the unmet what the broker tells, where it does."""
    held = {name: value for name, value in asked.items() if name not in unmet}
    known = {} if isinstance(told, str) else told
    return {**held, **{name: _number(value) for name in unmet if (value := known.get(name)) is not None}}


def _number(value: str) -> int | str:
    return int(value) if value.lstrip("-").isdigit() else value


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerStage:
    """Runs and judges the cases of one world, on `ground`, or without one each on a cluster of its own. `token` tells runs of the kit apart."""

    subject: BrokerSubject
    world: World
    ground: Ground | None
    profile: str
    seed: int
    token: str
    prefix: str = GROUP_PREFIX
    steps_s: float = STEPS_S
    canary: Canary | None = None

    @property
    def is_virtual(self) -> bool:
        return self.subject.is_virtual

    async def play(self, case: Case, *, key: str, alone: bool = False) -> Play:
        """Run `case` once; `key` is unique in the run. What ends it from outside is the play's `trouble`, beside the trace so far."""
        began = trio.current_time()
        recorder = Recorder(lambda: round((trio.current_time() - began) * 1e9), **self._columns(case, key))
        stop = self._watch(recorder)
        trouble: Trouble | None = None
        try:
            async with self._ground(case) as ground:
                await self._perform(case, ground, recorder, key)
        except Exception as error:
            trouble = trouble_in(error, case)
        finally:
            stop()
        return Play(trace=list(recorder.trace), stderr={}, duration_s=trio.current_time() - began, trouble=trouble)

    def _ground(self, case: Case) -> AbstractAsyncContextManager[Ground]:
        return opened(self.subject, self.world, [case], self.prefix) if self.ground is None else nullcontext(self.ground)

    async def _perform(self, case: Case, ground: Ground, recorder: Recorder, key: str) -> None:
        script = script_of(case)
        missing, hindrances = unspoken(needs_of(case), ground.where.ranges), ground.hindrances(script)
        if missing or hindrances:
            _note(recorder, "unimplemented" if missing else "unmet", why="; ".join(missing or hindrances))
            return
        names = Names(case=case.id, key=f"{self.token}{key}", topics=script.topics, prefix=self.prefix)
        await perform(script, ground.where, recorder, names=names, steps_s=self.steps_s, settings=dict(ground.settings), profile=self.profile)

    def _columns(self, case: Case, key: str) -> dict[str, Any]:
        clock = "virtual" if self.is_virtual else "wall"
        return {"run": f"{self.seed:x}.{key}", "case": case.id, "seed": seed_of(self.seed, case.id), "clock": clock}

    def _watch(self, recorder: Recorder) -> Callable[[], None]:
        """Record the canary's lags that matter; return the function that ends it."""
        if self.canary is None:
            return lambda: None

        def record(source: str, lag_ms: float) -> None:
            if lag_ms >= LAG_MS_MAX:
                _note(recorder, "lag", source=source, lag_ms=round(lag_ms, 1))

        return self.canary.listen(record)

    def judge(self, case: Case, trace: Trace) -> Judgement:
        return judge_script_run(case, trace)


@dataclass(slots=True, kw_only=True)
class Stages:
    """The stages of a run, each opened while its world's cases run; a case goes to that of its world."""

    is_virtual: bool
    canary: Canary | None = None
    of: dict[World, BrokerStage] = field(default_factory=dict)

    async def play(self, case: Case, *, key: str, alone: bool = False) -> Play:
        return await self.of[world_of(case)].play(case, key=key)

    def judge(self, case: Case, trace: Trace) -> Judgement:
        return judge_script_run(case, trace)


def _note(recorder: Recorder, name: str, **body: Any) -> None:
    recorder.record("event", who="kit", body={"name": name, **body})

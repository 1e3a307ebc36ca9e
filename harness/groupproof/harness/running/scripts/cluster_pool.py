"""The clusters that coordinator cases share: one for each set of settings that cases need, with its known properties.

Groups are independent, so that all cases of a set run side by side on one cluster. A case that stops brokers has its own clusters.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import trio

from groupproof.coordinator.machine.storage import partition_of
from groupproof.harness.model.case import Case, script_of
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.model.script import Ask, MoveGroup, Script
from groupproof.harness.model.script_bindings import GROUP_PREFIX, topics_of
from groupproof.harness.running.scripts.cluster_settings import ClusterSettings
from groupproof.harness.running.scripts.group_overrides import BY_CASE, broker_settings, configured, overridable
from groupproof.harness.subjects.brokers.broker_lag import LagReporter
from groupproof.harness.subjects.brokers.cluster import BrokerSubject, KnownSetting, has_fixed_settings, moves_by_election, topics_change_all_groups
from groupproof.harness.subjects.brokers.cluster_map import ClusterMap, mapped
from groupproof.harness.subjects.brokers.coordinator_election import offsets_partitions
from groupproof.harness.subjects.brokers.version_probe import unreadable
from groupproof.protocol.rules.classic.classic_settings import GROUP_MAX_SIZE, INITIAL_DELAY, MIN_SESSION
from groupproof.protocol.rules.consumer.group_configs import MAX_SIZE as CONSUMER_MAX_SIZE
from groupproof.protocol.vocabulary import Api

__all__ = ["DEATHS_MAX", "ClusterKeeper", "ClusterSpec", "PartitionTurns", "PooledCluster", "cases_by_cluster", "cluster_spec_of", "opened"]

_LOOK_S = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSpec:
    """The properties of the cluster for a set of cases. `only` names the case, or its run, that has the cluster alone. `has_slow_disk`: its
    brokers' disks can be slowed. `moves`: groups move on it; cases whose groups would move together take turns."""

    settings: tuple[tuple[str, Any], ...]
    brokers: int
    only: str | None = None
    has_slow_disk: bool = False
    moves: bool = False


def cluster_spec_of(case: Case, subject: object = None) -> ClusterSpec:
    """Return the cluster that the case needs on `subject`.

    A case that moves coordinators stops brokers, unless coordinators are elected, and would end the connections of other cases. A case that creates
    topics has the cluster alone where that would change the other cases' groups.
    """
    elects = moves_by_election(subject)
    script = script_of(case)
    stops = not elects and any(isinstance(step, MoveGroup) for step in script.steps)
    is_alone = stops or (bool(script.own_topics) and topics_change_all_groups(subject))
    settings = tuple(sorted(script.settings.items()))
    return ClusterSpec(settings=settings, brokers=script.brokers, only=case.id if is_alone else None, moves=elects and script.brokers > 1)


def cases_by_cluster(cases: Iterable[Case], subject: object = None) -> dict[ClusterSpec, list[Case]]:
    """Return the cases by the cluster that they need."""
    found: dict[ClusterSpec, list[Case]] = {}
    for case in cases:
        found.setdefault(cluster_spec_of(case, subject), []).append(case)
    return found


class PartitionTurns:
    """Gives the groups in one partition of `__consumer_offsets`, which move together, to one case at a time. Without `partitions` nobody waits."""

    def __init__(self, partitions: int = 0) -> None:
        self._turns = [trio.Lock() for _ in range(partitions)]

    @asynccontextmanager
    async def held(self, groups: Iterable[str]) -> AsyncIterator[None]:
        """Hold the partitions of `groups` while the context lasts."""
        wanted = {partition_of(group, len(self._turns)) for group in groups} if self._turns else set()
        async with AsyncExitStack() as held:
            for index in sorted(wanted):  # in the same order for all, so that no two cases wait for each other
                await held.enter_async_context(self._turns[index])
            yield


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledCluster:
    """A running cluster with its known properties: its effective `settings`, and the requested ones that it lacks, with the reason.

    `known_settings` are those that it has in any case: reported by the user, or observed. All are those of its first broker, or, after `with_groups`,
    of the broker that coordinates the groups of a script; `disagreement` says why there is no such broker.
    """

    where: ClusterMap
    settings: Mapping[str, Any]
    unmet: Mapping[str, str]
    turns: PartitionTurns = field(default_factory=PartitionTurns)
    known_settings: Mapping[str, KnownSetting] = field(default_factory=dict)
    disagreement: str = ""
    learned: ClusterSettings | None = None

    @property
    def has_fixed_settings(self) -> bool:
        """Whether the unmet settings do not exist in the program at all."""
        return has_fixed_settings(self.where.cluster)

    @property
    def deaths(self) -> list[str]:
        """The last log lines of its brokers that ended unexpectedly."""
        return self.where.cluster.deaths()

    async def dies(self, within_s: float) -> bool:
        """Return whether a broker has ended unexpectedly or does so within `within_s`: its connections end before the process does."""
        until = trio.current_time() + within_s
        while True:
            is_dead = bool(self.deaths)
            if is_dead or trio.current_time() >= until:
                return is_dead
            await trio.sleep(_LOOK_S)

    async def with_groups(self, groups: Iterable[str]) -> PooledCluster:
        """Return the cluster with the settings of the broker that coordinates `groups`; raise `BrokenEnvironment` where none does."""
        if self.learned is None or not self.where.may_differ:
            return self
        found = await self.learned.of_groups(groups)
        return replace(self, settings=found.values, unmet=found.unmet, known_settings=found.known_settings, disagreement=found.disagreement)

    @asynccontextmanager
    async def configured(self, script: Script, groups: Collection[str]) -> AsyncIterator[PooledCluster]:
        """Yield the cluster as `groups`, those of the script, have it: with configs of their own if these are all that the script lacks.

        Where the broker refuses them, its settings stay `unmet`, with its message. If the script lacks other settings too, it will not run: only those
        are `unmet`, and no group is changed.
        """
        configs = overridable(script, self.unmet)
        possible = self._with(broker_settings(configs))
        if not configs or possible.hindrances(script):
            yield possible
            return
        async with configured(self.where, groups, configs) as refusal:
            reasons = {name: f"{self.unmet[name]}; {refusal}" for name in broker_settings(configs)}
            yield replace(self, unmet={**self.unmet, **reasons}) if refusal else possible

    def _with(self, settings: Mapping[str, Any]) -> PooledCluster:
        """Return the cluster with these settings in force for the groups of a case."""
        return replace(
            self,
            settings={**self.settings, **settings},
            unmet={name: why for name, why in self.unmet.items() if name not in settings},
            known_settings={**self.known_settings, **{name: KnownSetting(value, BY_CASE) for name, value in settings.items()}},
        )

    def known_texts(self) -> list[str]:
        """Return the known settings of its brokers with their sources, for the report."""
        return [] if self.learned is None else list(self.learned.known_texts())

    def hindrances(self, script: Script) -> list[str]:
        """Return why the script makes no sense on this cluster, a line for each setting.

        A delay of the first rebalance only makes the script slower. Session timeouts that no member requests need not be allowed, and
        a group without many members may be limited.
        """
        named = {name: why for name, why in self.unmet.items() if name in script.settings and not self._is_bearable(name, script)}
        lines = [f"{name}={script.settings[name]}: {why}" for name, why in named.items()]
        return [*lines, self.disagreement] if self.disagreement else lines

    def _is_bearable(self, name: str, script: Script) -> bool:
        setting = self.settings.get(name)
        if name in (GROUP_MAX_SIZE, CONSUMER_MAX_SIZE):
            return len({step.member for step in _joins(script)}) <= int(script.settings[name])
        if name == INITIAL_DELAY:
            return setting is not None and int(script.settings[name]) == 0
        return name == MIN_SESSION and setting is not None and all(session >= int(setting) for session in _sessions(script))


def _joins(script: Script) -> list[Ask]:
    return [step for step in script.steps if isinstance(step, Ask) and step.api in (Api.JOIN_GROUP, Api.CONSUMER_GROUP_HEARTBEAT)]


def _sessions(script: Script) -> list[int]:
    return [int(step.fields["session_timeout_ms"]) for step in _joins(script) if "session_timeout_ms" in step.fields]


@asynccontextmanager
async def opened(subject: BrokerSubject, spec: ClusterSpec, cases: Iterable[Case], prefix: str = GROUP_PREFIX) -> AsyncIterator[PooledCluster]:
    """Start the cluster of a cluster spec and learn its properties; raise `BrokenEnvironment`."""
    topics = {name: partitions for case in cases for name, partitions in topics_of(script_of(case).topics, prefix).items()}
    async with subject.cluster(settings=dict(spec.settings), brokers=spec.brokers, topics=topics) as cluster, mapped(cluster) as where:
        where.unreadable = await unreadable(where, f"{prefix}versions")
        learned = ClusterSettings(subject, where, dict(spec.settings), prefix, next(iter(topics), ""))
        first = await learned.of_first_broker()
        turns = PartitionTurns(await offsets_partitions(cluster) if spec.moves else 0)
        yield PooledCluster(where=where, turns=turns, learned=learned, settings=first.values, unmet=first.unmet, known_settings=first.known_settings)


ALONE_MAX = 2
"""How many clusters run at once to find out which case killed one."""

DEATHS_MAX = 12
"""How many clusters of one cluster spec may die before the rest of its cases is given up."""


class ClusterKeeper:
    """Keeps a cluster running for the cases that share it. After its death another one starts for the remaining cases.

    Only a run of each case alone shows which case killed it: the stage does that, and `alone` limits it. With `lag_group`, Heartbeats for that group
    measure the cluster, and `lag_reporter` reports how late the brokers are.
    """

    def __init__(self, start: Callable[[], AbstractAsyncContextManager[PooledCluster]], *, lag_group: str = "") -> None:
        self.lag_reporter: LagReporter | None = None
        self._lag_group = lag_group
        self.alone = trio.CapacityLimiter(ALONE_MAX)
        self._start = start
        self._cluster: PooledCluster | None = None
        self._up = trio.Event()
        self._died = trio.Event()

    async def run(self, task_status: trio.TaskStatus[PooledCluster]) -> None:
        """Keep a cluster running until cancelled; raise `BrokenEnvironment` where it cannot be started, or dies too often."""
        for deaths in range(DEATHS_MAX):
            async with self._start() as self._cluster, trio.open_nursery() as nursery:
                self._died = trio.Event()
                if self._lag_group:
                    self.lag_reporter = LagReporter(self._cluster.where, self._lag_group)
                    nursery.start_soon(self.lag_reporter.run)
                self._up.set()
                if deaths == 0:
                    task_status.started(self._cluster)
                await self._died.wait()
                nursery.cancel_scope.cancel()
        raise BrokenEnvironment(f"the broker died {DEATHS_MAX} times; the last: {'; '.join(self._cluster.deaths) if self._cluster else ''}")

    async def current(self) -> PooledCluster:
        """Return the running cluster; wait for it if there is none."""
        await self._up.wait()
        assert self._cluster is not None
        return self._cluster

    async def has_died(self, cluster: PooledCluster, *, within_s: float = 0.0) -> bool:
        """Return whether `cluster` has died, or dies within `within_s`; replace it if it is the current one."""
        is_dead = await cluster.dies(within_s)
        if is_dead and cluster is self._cluster and not self._died.is_set():
            self._up = trio.Event()
            self._died.set()
        return is_dead

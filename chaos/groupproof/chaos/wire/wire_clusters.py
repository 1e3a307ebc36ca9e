"""The clusters for cases: one for each set of settings, running while cases use it, and only a few at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

import trio

from groupproof.coordinator.machine.storage import partition_of
from groupproof.harness.model.plan import Arm, BreakBroker, MoveCoordinator, Plan, Step
from groupproof.harness.running.plans.client_stage import COORDINATOR_DEFAULTS
from groupproof.harness.running.scripts.cluster_pool import ClusterSpec
from groupproof.harness.subjects.brokers.apache.apache_kafka import ApacheKafka
from groupproof.harness.subjects.brokers.cluster import BrokerSubject, RunningCluster
from groupproof.harness.subjects.brokers.cluster_map import ClusterMap, mapped
from groupproof.harness.subjects.brokers.coordinator_election import offsets_partitions
from groupproof.harness.subjects.networks.request_connection import GONE, NoCommonVersion
from groupproof.protocol.faults import Move
from groupproof.protocol.vocabulary import Api

__all__ = ["CLUSTERS_MAX", "ClusterPool", "WireCluster", "cluster_spec_of"]

CLUSTERS_MAX: Final = 2
"""The maximum number of clusters at once."""


_DEFAULTS: Final[Mapping[str, Any]] = {**COORDINATOR_DEFAULTS, "offsets.topic.num.partitions": 16}
"""Enough partitions to separate the groups of many cases, and few enough to load fast."""


def cluster_spec_of(plan: Plan, key: str, *, moves_by_killing: bool = False) -> ClusterSpec:
    """Return the spec of the cluster that a plan needs. A plan that breaks brokers needs one of its own, or it would disturb other cases."""
    settings = tuple(sorted({**_DEFAULTS, **plan.coordinator}.items()))
    breaks = any(isinstance(step, BreakBroker) or (moves_by_killing and _moves(step)) for step in plan.steps)
    slows = any(isinstance(step, BreakBroker) and step.how == "slow-disk" for step in plan.steps)
    return ClusterSpec(settings=settings, brokers=plan.brokers, only=key if breaks else None, has_slow_disk=slows)


def _moves(step: Step) -> bool:
    return isinstance(step, MoveCoordinator) or (isinstance(step, Arm) and isinstance(step.fault.action, Move))


@dataclass(slots=True, eq=False)
class WireCluster:
    """A running cluster and its map; `groups` are those of its cases, whose partitions are kept apart."""

    running: RunningCluster
    where: ClusterMap
    partitions: int
    groups: set[str] = field(default_factory=set)

    def is_free(self, group: str) -> bool:
        """Return whether no other case has a group in the same partition of `__consumer_offsets`: they would move together."""
        if not self.partitions:
            return True
        in_use = {partition_of(group, self.partitions) for group in self.groups}
        return partition_of(group, self.partitions) not in in_use


@dataclass(slots=True, eq=False)
class _PoolEntry:
    ready: trio.Event = field(default_factory=trio.Event)
    leave: trio.Event = field(default_factory=trio.Event)
    cluster: WireCluster | None = None
    failure: Exception | None = None
    users: int = 0


class ClusterPool:
    """Starts clusters of `subject` on demand, `at_most` that many at a time; `opened` keeps them."""

    def __init__(self, subject: BrokerSubject, *, at_most: int = CLUSTERS_MAX) -> None:
        self.logs: list[str] = []
        self.provided_by = ""
        self.ranges: Mapping[Api, tuple[int, int]] = {}
        self._subject = subject
        self._at_most = at_most
        self._kept: dict[ClusterSpec, _PoolEntry] = {}
        self._changed = trio.Event()
        self._nursery: trio.Nursery | None = None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """End every cluster at the end, in any case."""
        async with trio.open_nursery() as self._nursery:
            yield
            self._nursery.cancel_scope.cancel()

    @asynccontextmanager
    async def cluster(self, spec: ClusterSpec) -> AsyncIterator[WireCluster]:
        """Yield a cluster while the context lasts; raise `BrokenEnvironment` where it does not come up."""
        entry = await self._entry_for(spec)
        try:
            await entry.ready.wait()
            if entry.cluster is None:
                assert entry.failure is not None
                raise entry.failure
            yield entry.cluster
        finally:
            entry.users -= 1
            is_spoilt = spec.only is not None or (entry.cluster is not None and bool(entry.cluster.running.deaths()))
            if is_spoilt and not entry.users:
                entry.leave.set()
            self._tell()

    async def _entry_for(self, spec: ClusterSpec) -> _PoolEntry:
        """Return the spec's cluster, started if there is none; wait for another one to be released where there are too many."""
        while True:
            entry = self._kept.get(spec)
            if entry is not None and not entry.leave.is_set():
                break
            if entry is None and len(self._kept) < self._at_most:
                entry = self._started(spec)
                break
            idle = next((entry for entry in self._kept.values() if not entry.users and not entry.leave.is_set()), None)
            if entry is None and idle is not None:
                idle.leave.set()
            await self._changed.wait()
        entry.users += 1
        return entry

    def _started(self, spec: ClusterSpec) -> _PoolEntry:
        assert self._nursery is not None
        entry = self._kept[spec] = _PoolEntry()
        self._nursery.start_soon(self._keep, spec, entry)
        return entry

    async def _keep(self, spec: ClusterSpec, entry: _PoolEntry) -> None:
        try:
            cluster = self._subject_of(spec).cluster(settings=dict(spec.settings), brokers=spec.brokers, topics={})
            async with cluster as running, mapped(running) as where:
                entry.cluster = WireCluster(running, where, await _partitions(running))
                self._note(entry.cluster)
                entry.ready.set()
                await entry.leave.wait()
        except Exception as error:
            entry.failure = error
        finally:
            del self._kept[spec]
            entry.ready.set()
            self._tell()

    def _subject_of(self, spec: ClusterSpec) -> BrokerSubject:
        """Return the broker provider for the spec: Kafka's disks can be slowed only if the broker was started for it."""
        subject = self._subject
        return replace(subject, has_slow_disk=True) if spec.has_slow_disk and isinstance(subject, ApacheKafka) else subject

    def _note(self, cluster: WireCluster) -> None:
        self.provided_by = cluster.running.provided_by
        self.ranges = cluster.where.ranges
        self.logs += [str(log) for log in cluster.running.logs()]

    def _tell(self) -> None:
        self._changed.set()
        self._changed = trio.Event()


async def _partitions(running: RunningCluster) -> int:
    try:
        return await offsets_partitions(running)
    except (*GONE, NoCommonVersion):
        return 0

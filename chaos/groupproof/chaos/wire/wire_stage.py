"""Runs cases over the wire: any client against any coordinator, with the kit's tap and Toxiproxy between them."""

from __future__ import annotations

import itertools
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import trio
from packaging.version import Version

from groupproof.chaos.wire.member_networks import ToxicNetwork
from groupproof.chaos.wire.private_names import Renaming
from groupproof.chaos.wire.tapped_cluster import TappedCluster
from groupproof.chaos.wire.wire_clusters import CLUSTERS_MAX, ClusterPool, WireCluster, cluster_spec_of
from groupproof.clients.registry.install_cache import default_cache
from groupproof.coordinator.broker.interception import Interception
from groupproof.harness.judging.case_checkers import UNIVERSAL
from groupproof.harness.judging.case_judgement import judge_run
from groupproof.harness.judging.case_result import Play
from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.model.case import Case, plan_of, seed_of
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.model.plan import Impair, Plan
from groupproof.harness.running.canary import Canary, watch_lags
from groupproof.harness.running.plans.client_stage import COORDINATOR_DEFAULTS, FLOOD, record_origin
from groupproof.harness.running.plans.member_control import Actor
from groupproof.harness.running.plans.plan_runner import Driver, Limits
from groupproof.harness.running.run_clock import clock_from_now
from groupproof.harness.subjects.brokers.cluster import BrokerSubject
from groupproof.harness.subjects.brokers.readiness import create_topics, delete_topics
from groupproof.harness.subjects.brokers.topic_admin import fill_topics
from groupproof.harness.subjects.networks.request_connection import GONE, NoCommonVersion
from groupproof.harness.subjects.subject import Subject
from groupproof.harness.subjects.tap.addresses import NamedBroker
from groupproof.harness.subjects.tap.groups_in_frames import GroupsInFrames
from groupproof.harness.subjects.tap.hub import Doors, Hub
from groupproof.harness.subjects.tap.topic_names import TopicNames
from groupproof.protocol.trace import Recorder, Trace
from groupproof.protocol.wire.message_codec import warm

if TYPE_CHECKING:
    from groupproof.chaos.wire.toxiproxy import Toxiproxy

__all__ = ["ChaosStage"]

_DELETED_S: Final = 10.0
_ELECTING: Final = Version("2.4")
"""From this release on an election moves a coordinator; before, killing its broker does."""


def toxiproxy_of(cache: Path, say: Callable[[str], None], seed: int) -> Callable[[], AbstractAsyncContextManager[Toxiproxy]]:
    """Return the function that provisions a Toxiproxy and runs it while its context lasts."""

    @asynccontextmanager
    async def running() -> AsyncIterator[Toxiproxy]:
        # Imported here: only a plan that impairs links needs the extra `chaos`.
        from groupproof.chaos.wire.toxiproxy_server import provision_toxiproxy, running_toxiproxy

        program = await trio.to_thread.run_sync(provision_toxiproxy, cache, say)
        async with running_toxiproxy(program, cache=cache, seed=seed) as server:
            yield server

    return running


@dataclass(slots=True, kw_only=True)
class ChaosStage:
    """What all cases of a run share, like `client_stage.Stage` for the reference coordinator; use it within `opened`.

    Cases with the same broker settings share a cluster, in which each has groups and topics of its own. A case that breaks brokers has a cluster
    to itself. The first case that impairs a link starts a Toxiproxy.
    """

    subject: Subject
    reference_peers: Subject
    brokers: BrokerSubject
    seed: int
    limits: Limits = field(default_factory=Limits)
    canary: Canary | None = None
    on_started: Callable[[Case, Actor], Awaitable[None]] | None = None
    cache: Path = field(default_factory=default_cache)
    say: Callable[[str], None] = lambda _: None
    clusters_max: int = CLUSTERS_MAX
    is_virtual: bool = False
    clusters: ClusterPool = field(init=False)
    _toxiproxy: Toxiproxy | None = None
    _starting: trio.Lock = field(default_factory=trio.Lock)
    _nursery: trio.Nursery | None = None
    _token: str = field(default_factory=lambda: f"{random.SystemRandom().getrandbits(24):06x}")

    def __post_init__(self) -> None:
        self.clusters = ClusterPool(self.brokers, at_most=self.clusters_max)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Remove every broker, proxy and topic at the end."""
        await trio.to_thread.run_sync(warm)
        async with trio.open_nursery() as self._nursery, self.clusters.opened():
            yield
            self._nursery.cancel_scope.cancel()

    def judge(self, case: Case, trace: Trace) -> Judgement:
        """Judge one run with the case's own judges and the universal ones."""
        return judge_run(case, trace, UNIVERSAL)

    async def play(self, case: Case, *, key: str, alone: bool = False) -> Play:
        """Run `case` once; `key` is unique in the run. Raise `BrokenEnvironment` and the kit's own errors, possibly in an exception group."""
        plan, began = plan_of(case), trio.current_time()
        server = await self._server() if any(isinstance(step, Impair) for step in plan.steps) else None
        by_killing = Version(self.brokers.profile.split("-")[1]) < _ELECTING
        async with self.clusters.cluster(cluster_spec_of(plan, key, moves_by_killing=by_killing)) as cluster:
            names = Renaming.of(plan, f"{self._token}-{key}", is_free=cluster.is_free)
            recorder = Recorder(clock_from_now(), run=f"{self.seed:x}.{key}", case=case.id, seed=self.seed, clock="wall")
            record_origin(case, recorder)
            run = _Run(self, case, names.plan(plan), key=key, recorder=recorder, cluster=cluster, server=server, alone=alone)
            stderr = await run.carried_out()
        return Play(trace=names.trace(recorder.trace), stderr=stderr, duration_s=trio.current_time() - began)

    async def _server(self) -> Toxiproxy:
        async with self._starting:
            if self._toxiproxy is None:
                assert self._nursery is not None
                self._toxiproxy = await self._nursery.start(self._keep_toxiproxy)
            return self._toxiproxy

    async def _keep_toxiproxy(self, task_status: trio.TaskStatus[Toxiproxy]) -> None:
        async with toxiproxy_of(self.cache, self.say, self.seed)() as server:
            task_status.started(server)
            await trio.sleep_forever()


class _Run:
    """One run of one case; `plan` has real names."""

    def __init__(
        self, stage: ChaosStage, case: Case, plan: Plan, *, key: str, recorder: Recorder, cluster: WireCluster, server: Toxiproxy | None, alone: bool
    ) -> None:  # fmt: skip
        self._stage = stage
        self._case = case
        self._plan = plan
        self._key = key
        self._recorder = recorder
        self._running, self._where, self._wire_cluster = cluster.running, cluster.where, cluster
        self._server = server
        self._alone = alone
        self._groups = tuple(dict.fromkeys(str(member.settings["group"]) for member in plan.members))
        self._interception = Interception(recorder)
        self._groups_in_frames, self._topic_names, self._numbers = GroupsInFrames(), TopicNames(), itertools.count(1)
        self._cluster = TappedCluster(
            self._running, self._where, self._interception, groups=self._groups, topics=list(plan.topics), names=self._topic_names
        )  # fmt: skip

    async def carried_out(self) -> dict[str, list[str]]:
        """Create the topics, run the plan, and delete the topics; return the members' stderr."""
        if unmet_setting := self._unmet_setting():
            self._recorder.record("event", who="kit", body=unmet_setting)
            return {}
        self._wire_cluster.groups.update(self._groups)
        self._running.used(self._groups)
        try:
            await create_topics(self._running.connect, self._running.addresses[0], self._plan.topics, replicas=len(self._where.nodes))
            await fill_topics(self._running.connect, self._running.addresses[0], self._plan.topics, self._plan.records)
            await self._cluster.learn_topics()
            return await self._played()
        finally:
            self._wire_cluster.groups.difference_update(self._groups)
            await self._tidied()

    def _unmet_setting(self) -> dict[str, Any]:
        """Return the trace event for a setting that the coordinator cannot have, which makes the case UNIMPLEMENTED; empty if it can have all."""
        wanted = {name: value for name, value in self._plan.coordinator.items() if name not in COORDINATOR_DEFAULTS}
        lacking = next((name for name in wanted if name in self._running.unmet), None)
        if lacking is None:
            return {}
        return {"name": "refused", "command": f"{lacking}={wanted[lacking]}", "unimplemented": True, "reason": self._running.unmet[lacking]}

    async def _played(self) -> dict[str, list[str]]:
        stop = watch_lags(self._stage.canary, self._recorder)
        try:
            async with trio.open_nursery() as nursery:
                network = ToxicNetwork(
                    make_hub=self._hub,
                    brokers=[NamedBroker(node=node.node_id, address=(node.host, node.port)) for node in self._where.nodes],
                    recorder=self._recorder,
                    nursery=nursery,
                    server=self._server,
                    key=f"{self._stage.seed:x}-{self._key}",
                    is_flooded=lambda: len(self._recorder.trace) > FLOOD,
                )
                async with network.opened():
                    driver = self._driver(network)
                    await driver.run()
                    await network.record_traffic()
                nursery.cancel_scope.cancel()
        finally:
            stop()
        if deaths := self._running.deaths():
            raise BrokenEnvironment("; ".join(deaths))
        return driver.stderr

    def _hub(self, doors: Doors) -> Hub:
        return Hub(
            recorder=self._recorder, connect=self._running.connect, doors=doors, interception=self._interception, groups=self._groups_in_frames,
            topics=self._topic_names, numbers=self._numbers, move=self._cluster.move_group, is_quiet=True,
        )  # fmt: skip

    def _driver(self, network: ToxicNetwork) -> Driver:
        stage, case = self._stage, self._case
        started = None if stage.on_started is None else partial(stage.on_started, case)
        return Driver(
            self._plan,
            self._cluster,
            network,
            self._recorder,
            subject_of=lambda kind: stage.subject if kind == "subject" else stage.reference_peers,
            key=self._key,
            seed=seed_of(stage.seed, case.id),
            is_isolated=case.isolated or self._alone,
            limits=stage.limits,
            on_started=started,
        )

    async def _tidied(self) -> None:
        """Delete the case's topics; a cluster that is gone has none."""
        with trio.move_on_after(_DELETED_S, shield=True):
            try:
                await delete_topics(self._running.connect, self._running.addresses[0], self._cluster.topics)
            except (*GONE, NoCommonVersion, IndexError):
                return

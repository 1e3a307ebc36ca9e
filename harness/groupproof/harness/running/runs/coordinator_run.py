"""One whole run of a coordinator: a cluster for each set of settings that the cases need, and all cases of a set side by side on it."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import trio

from groupproof.harness.cases.catalogue import cases_of
from groupproof.harness.judging.summary.run_summary import SubjectInfo
from groupproof.harness.model.case import Case, script_of
from groupproof.harness.model.script_bindings import GROUP_PREFIX
from groupproof.harness.running.case_runner import Runner
from groupproof.harness.running.error_search import trouble_in
from groupproof.harness.running.runs.whole_run import CertifyRun, RunConfig, Say
from groupproof.harness.running.scripts.cluster_pool import ClusterKeeper, ClusterSpec, PooledCluster, cases_by_cluster, opened
from groupproof.harness.running.scripts.coordinator_stage import BrokerStage, Stages, called
from groupproof.harness.running.scripts.script_runner import STEPS_S
from groupproof.harness.subjects.brokers.cluster import BrokerSubject
from groupproof.harness.subjects.brokers.running_broker import AddressedBrokers
from groupproof.protocol.wire.message_codec import warm

__all__ = ["JOBS", "CoordinatorRun", "expectations_of"]

JOBS = 64
"""How many cases run side by side: most of a case is waiting."""

JOBS_OF_SLOW_BROKERS = 8
"""How many cases a slow broker can serve side by side, such as a debug build."""

CLUSTERS_MAX = 2
"""How many clusters run at once where they are processes of this host."""

_EXPECTED = Path(str(files("groupproof.harness"))) / "expected_of_coordinators"


def expectations_of(name: str) -> Path | None:
    """Return the file of known failures that ships with a registered coordinator."""
    file = _EXPECTED / f"{name}.toml"
    return file if file.is_file() else None


class CoordinatorRun(CertifyRun):
    """One run of `subject`; the names of groups and topics begin with `prefix`."""

    def __init__(self, subject: BrokerSubject, config: RunConfig, *, say: Say, prefix: str = GROUP_PREFIX) -> None:
        super().__init__(config, cases_of("coordinator"), say=say, is_virtual=subject.is_virtual)
        self._subject = subject
        self._prefix = prefix
        if isinstance(subject, AddressedBrokers) and config.jobs > JOBS_OF_SLOW_BROKERS:
            self.hint_where_troubled = f"; if the broker is slow, run fewer cases side by side: --jobs {JOBS_OF_SLOW_BROKERS}"
        # In real time groups of an earlier run may still exist.
        self._token = "" if subject.is_virtual else f"{random.SystemRandom().getrandbits(24):06x}-"
        self._cluster: PooledCluster | None = None
        self._logs: list[str] = []

    async def work(self) -> None:
        if not self.is_virtual:
            await trio.to_thread.run_sync(warm)
        stages = Stages(is_virtual=self.is_virtual, canary=None if self.is_virtual else self.canary, subject=self._subject)
        runner = Runner(stages, jobs=self.config.jobs, say=self.report, is_eager=True)
        self.results = runner.results
        by_cluster = sorted(cases_by_cluster(self.config.cases, self._subject).items(), key=lambda item: len(item[1]), reverse=True)
        clusters = trio.CapacityLimiter(len(by_cluster) if self.is_virtual else CLUSTERS_MAX)
        async with runner.paced(), trio.open_nursery() as nursery:
            for spec, cases in by_cluster:
                # The largest set takes longest, so its cluster starts first.
                await clusters.acquire_on_behalf_of(spec)
                nursery.start_soon(self._run_cluster, spec, cases, runner, stages, clusters)

    async def _run_cluster(self, spec: ClusterSpec, cases: Sequence[Case], runner: Runner, stages: Stages, clusters: trio.CapacityLimiter) -> None:
        try:
            async with self._kept(spec, cases) as keeper:
                stages.of[spec] = self._stage(spec, keeper)
                await runner.rule([case for case in cases if not script_of(case).is_rough])
                # A broker may die in these cases, which must not cost other cases their cluster.
                await runner.rule([case for case in cases if script_of(case).is_rough])
        except Exception as error:
            trouble = trouble_in(error)
            ruled = {result.case.id for result in runner.results}
            runner.give_up([case for case in cases if case.id not in ruled], trouble)
        finally:
            clusters.release_on_behalf_of(spec)

    @asynccontextmanager
    async def _kept(self, spec: ClusterSpec, cases: Sequence[Case]) -> AsyncIterator[ClusterKeeper | None]:
        """Keep the cluster of a cluster spec running, unless each run of its case has its own."""
        if spec.only is not None:
            yield None
            return
        lag_group = "" if self.is_virtual else f"{self._prefix}pulse"
        keeper = ClusterKeeper(partial(opened, self._subject, spec, cases, self._prefix), lag_group=lag_group)
        async with trio.open_nursery() as nursery:
            self._cluster = await nursery.start(keeper.run)
            self._logs += [str(log) for log in self._cluster.where.cluster.logs()]
            yield keeper
            nursery.cancel_scope.cancel()

    def _stage(self, spec: ClusterSpec, keeper: ClusterKeeper | None) -> BrokerStage:
        return BrokerStage(
            subject=self._subject,
            spec=spec,
            cluster=None,
            keeper=keeper,
            profile=self.config.profile,
            seed=self.config.seed,
            token=self._token,
            prefix=self._prefix,
            steps_s=self.config.timeout_s or STEPS_S,
            canary=None if self.is_virtual else self.canary,
        )

    @property
    def release(self) -> str:
        return self._subject.release or self._subject.version or ""

    def subject_info(self) -> SubjectInfo | None:
        if not self.results:
            return None
        ranges = self._cluster.where.ranges if self._cluster is not None else {}
        name, version = called(self._subject)
        return SubjectInfo(
            name=name,
            version=version,
            language=None,
            capabilities=[f"{api.title} {low}-{high}" for api, (low, high) in sorted(ranges.items())],
            spec=self._subject.spec,
            side="coordinator",
        )

    def environment(self) -> dict[str, Any]:
        provider = {} if self._cluster is None else {"provided_by": self._cluster.where.cluster.provided_by}
        logs = {"broker_logs": sorted(set(self._logs))} if self._logs else {}
        unreadable = {"unreadable_versions": self._unreadable()} if self._unreadable() else {}
        return {**super().environment(), **provider, **self._judged_by(), **unreadable, **logs}

    def _judged_by(self) -> dict[str, Any]:
        """Return the grounds of the judgement beside the rules: how the profile was guessed, and the settings that the user reported."""
        guess = self._subject.guess if isinstance(self._subject, AddressedBrokers) and self._subject.asked_profile is None else None
        settings = [] if self._cluster is None else self._cluster.known_texts()
        return {**({"profile_guess": guess.sentence} if guess is not None else {}), **({"known_settings": settings} if settings else {})}

    def _unreadable(self) -> list[str]:
        """Return the versions that the broker offers but does not serve correctly, in words."""
        found = self._cluster.where.unreadable if self._cluster is not None else {}
        return [f"{api.title} v{version}: {why}" for api, versions in sorted(found.items()) for version, why in sorted(versions.items())]

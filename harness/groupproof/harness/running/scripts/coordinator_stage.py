"""Runs a coordinator case on a cluster, and judges it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import trio

from groupproof.harness.judging.broker_settings import UNREPORTED
from groupproof.harness.judging.case_result import Play
from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.judging.script_judgement import has_failed, judge_script_run
from groupproof.harness.model.case import Case, script_of, seed_of
from groupproof.harness.model.case_dialect import dialect_of_case
from groupproof.harness.model.common_versions import unspoken
from groupproof.harness.model.errors import RunError
from groupproof.harness.model.prerequisites import needs_of
from groupproof.harness.model.script_bindings import GROUP_PREFIX, Names
from groupproof.harness.running.canary import Canary, watch_lags
from groupproof.harness.running.error_search import trouble_in
from groupproof.harness.running.run_clock import clock_from_now
from groupproof.harness.running.scripts.cluster_pool import ClusterKeeper, ClusterSpec, PooledCluster, cases_by_cluster, cluster_spec_of, opened
from groupproof.harness.running.scripts.script_runner import STEPS_S, IsLost, perform
from groupproof.harness.subjects.brokers.cluster import BrokerSubject
from groupproof.harness.subjects.brokers.running_broker import AddressedBrokers
from groupproof.protocol.rules import profile as profile_named
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.consumer.group_configs import PROTOCOLS
from groupproof.protocol.rules.profiles import relatives
from groupproof.protocol.rules.setting_values import listed
from groupproof.protocol.trace import Recorder, Trace

__all__ = ["BrokerStage", "ClusterSpec", "PooledCluster", "Stages", "called", "cases_by_cluster", "cluster_spec_of", "opened"]

DYING_S = 5.0
"""How long a broker may take from its last sign on a connection to the end of its process, where a case could not go on."""

CLOSING_S = 0.3
"""The same where the only sign is a connection that the broker closed: it may have had its reasons."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerStage:
    """Runs and judges the cases of one cluster spec: on the shared cluster of `keeper`, on `cluster`, or each on a cluster of its own.

    `token` distinguishes runs of the kit.
    """

    subject: BrokerSubject
    spec: ClusterSpec
    cluster: PooledCluster | None
    profile: str
    seed: int
    token: str
    prefix: str = GROUP_PREFIX
    steps_s: float = STEPS_S
    canary: Canary | None = None
    keeper: ClusterKeeper | None = None

    @property
    def is_virtual(self) -> bool:
        return self.subject.is_virtual

    async def play(self, case: Case, *, key: str, alone: bool = False) -> Play:
        """Run `case` once; `key` is unique in the run. An external error is the `trouble` of the returned run, with the trace so far.

        If the cluster died during it, the case runs again alone. If that cluster dies too, the case's requests killed it, and the trace says so.
        """
        if self.keeper is None:
            return await (self._alone(case, key) if self.cluster is None else self._attempt(case, key, nullcontext(self.cluster)))
        shared = await self.keeper.current()
        play = await self._attempt(case, key, nullcontext(shared))
        if not await self.keeper.has_died(shared, within_s=_patience(play.trace, play.trouble)):
            return play
        async with self.keeper.alone:
            return await self._alone(case, f"{key}.alone")

    async def _alone(self, case: Case, key: str) -> Play:
        return await self._attempt(case, key, opened(self.subject, self.spec, [case], self.prefix), is_own=True)

    async def _attempt(self, case: Case, key: str, context: AbstractAsyncContextManager[PooledCluster], *, is_own: bool = False) -> Play:
        """Run the case on a cluster. If the case has it alone (`is_own`), a death of the cluster is recorded in the trace as the case's effect."""
        began = trio.current_time()
        recorder = Recorder(clock_from_now(), **self._columns(case, key))
        stop = self._watch(recorder)
        trouble: RunError | None = None
        try:
            async with context as cluster:
                trouble = await self._performed(case, cluster, recorder, key)
                if is_own and await cluster.dies(_patience(recorder.trace, trouble)):
                    _note(recorder, "died", why="; ".join(cluster.deaths))
                    trouble = None
        except Exception as error:
            trouble = trouble_in(error, case)
        finally:
            stop()
        return Play(trace=list(recorder.trace), stderr={}, duration_s=trio.current_time() - began, trouble=trouble)

    async def _performed(self, case: Case, cluster: PooledCluster, recorder: Recorder, key: str) -> RunError | None:
        try:
            await self._perform(case, cluster, recorder, key)
        except Exception as error:
            return trouble_in(error, case)
        return None

    async def _perform(self, case: Case, cluster: PooledCluster, recorder: Recorder, key: str) -> None:
        script = script_of(case)
        names = Names(case=case.id, key=f"{self.token}{key}", topics=script.topics, prefix=self.prefix, own=script.own_topics)
        groups = [names.group(group) for group in script.groups]
        cluster = await cluster.with_groups(groups)
        missing = _unspoken_dialect(case, self.profile, cluster.settings) or unspoken(needs_of(case), cluster.where.ranges, cluster.where.readable)
        if missing:
            _note(recorder, "unimplemented", why="; ".join(missing))
            return
        async with cluster.configured(script, groups) as configured, configured.turns.held(groups):
            if hindrances := configured.hindrances(script):
                _note(recorder, "unmet", why="; ".join(hindrances), fixed=cluster.has_fixed_settings)
                return
            await perform(script, cluster.where, recorder, names=names, steps_s=self.steps_s, is_lost=self._is_lost(case), **self._ground(configured))

    def _ground(self, cluster: PooledCluster) -> dict[str, Any]:
        name, version = called(self.subject)
        ground = {"settings": dict(cluster.settings), "profile": self.profile, "subject": {"name": name, "version": version}}
        sources = {name: value.source for name, value in cluster.known_settings.items()}
        unreported = [name for name in UNREPORTED if name not in cluster.settings] if isinstance(self.subject, AddressedBrokers) else []
        return {**ground, **({"sources": sources} if sources else {}), **({"unreported": unreported} if unreported else {})}

    def _is_lost(self, case: Case) -> IsLost | None:
        """Return the check of a running case; none in virtual time, where waits cost nothing."""

        async def is_lost(trace: Trace) -> bool:
            return await trio.to_thread.run_sync(has_failed, case, trace)

        return None if self.is_virtual else is_lost

    def _columns(self, case: Case, key: str) -> dict[str, Any]:
        clock = "virtual" if self.is_virtual else "wall"
        return {"run": f"{self.seed:x}.{key}", "case": case.id, "seed": seed_of(self.seed, case.id), "clock": clock}

    def _watch(self, recorder: Recorder) -> Callable[[], None]:
        """Record the canary's relevant lags, and the brokers' lateness where the keeper measures it; return the function that ends that."""
        ends = [watch_lags(self.canary, recorder)]
        if self.keeper is not None and self.keeper.lag_reporter is not None:
            ends.append(self.keeper.lag_reporter.listen(lambda slow_ms: _note(recorder, "slow", slow_ms=round(slow_ms, 1))))

        def end() -> None:
            for function in ends:
                function()

        return end

    def judge(self, case: Case, trace: Trace) -> Judgement:
        return judge_script_run(case, trace)


@dataclass(slots=True, kw_only=True)
class Stages:
    """The stages of a run, one for each cluster spec, each open while its cases run."""

    is_virtual: bool
    canary: Canary | None = None
    subject: object = None
    of: dict[ClusterSpec, BrokerStage] = field(default_factory=dict)

    async def play(self, case: Case, *, key: str, alone: bool = False) -> Play:
        return await self.of[cluster_spec_of(case, self.subject)].play(case, key=key)

    def judge(self, case: Case, trace: Trace) -> Judgement:
        return judge_script_run(case, trace)


def called(subject: BrokerSubject) -> tuple[str, str | None]:
    """Return the name of a coordinator in reports and traces, and its release. For an address without a known release the name is the address."""
    version = subject.release or subject.version
    return (subject.name, version) if version else (subject.spec, None)


def _unspoken_dialect(case: Case, profile: str, settings: Mapping[str, Any]) -> list[str]:
    """Return the dialects of the case that the release does not serve: brokers of 3.7 to 3.9 advertise KIP-848's heartbeat, and refuse it unless it
    is switched on.

    So do later releases whose `settings` switch it off; a case that needs it off is about that.
    Kafka's relatives, DataLink's manager among them, are judged by the APIs that they advertise: their dialects answer the classic requests.
    """
    dialect = dialect_of_case(case.id)
    if profile not in relatives() and dialect not in profile_named(profile).tables:
        return [f"the dialect {dialect}: {profile} has no rules for it"]
    protocols = settings.get(PROTOCOLS)
    if dialect != CONSUMER.name or protocols is None or PROTOCOLS in script_of(case).settings:
        return []
    return [] if dialect in listed(str(protocols).lower()) else [f"the dialect {dialect}: the broker has {PROTOCOLS}={protocols}"]


def _patience(trace: Trace, error: RunError | None) -> float:
    """Return how long to wait for a death of the cluster, in seconds: its effect on connections comes first."""
    if error is not None:
        return DYING_S
    ended = any(obs.who == "link" and obs.body.get("name") == "closed" and obs.body.get("by") == "broker" for obs in trace)
    return CLOSING_S if ended else 0.0


def _note(recorder: Recorder, name: str, **body: Any) -> None:
    recorder.record("event", who="kit", body={"name": name, **body})

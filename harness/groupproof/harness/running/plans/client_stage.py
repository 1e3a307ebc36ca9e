"""Runs one client case once, with a cluster and a network of its own. The result is the trace and the shims' stderr."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import msgspec
import trio

from groupproof.coordinator.broker.reference_cluster import Cluster
from groupproof.harness.judging.case_checkers import UNIVERSAL
from groupproof.harness.judging.case_judgement import judge_run
from groupproof.harness.judging.case_result import Play
from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.judging.shim_claims import unattributed
from groupproof.harness.model.case import Case, plan_of, seed_of
from groupproof.harness.model.case_dialect import CLASSIC_CAPABILITY
from groupproof.harness.model.case_names import NAMES, drawn
from groupproof.harness.model.plan import Impair
from groupproof.harness.running.canary import Canary, watch_lags
from groupproof.harness.running.plans.member_control import Actor
from groupproof.harness.running.plans.own_assignor import with_assignor
from groupproof.harness.running.plans.plan_runner import Driver, Limits
from groupproof.harness.running.plans.receipts import watch_receipts
from groupproof.harness.running.plans.retry_rhythm import MEASURING, Rhythm, rhythm_of
from groupproof.harness.running.run_clock import clock_from_now
from groupproof.harness.subjects.networks.impairments import Impairments
from groupproof.harness.subjects.networks.network import InProcessNetwork, LoopbackNetwork, MemoryNetwork, Network
from groupproof.harness.subjects.reference_control import DrivenReference
from groupproof.harness.subjects.subject import Subject
from groupproof.protocol.trace import Recorder, Trace

__all__ = ["COORDINATOR_DEFAULTS", "FLOOD", "Stage", "record_origin"]

COORDINATOR_DEFAULTS: Mapping[str, Any] = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 100}
"""The settings of every case's coordinator, unless its plan sets others. They save real time."""

FLOOD = 2_000
"""From this many observations on, a run is slowed down. The longest case of a client that pauses between requests has a quarter of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What all cases of a run share. `reference_peers` plays the reference peers; `rhythm` is the subject's measured rhythm, if any.

    With `draws_names`, group, topics and unknown error code are drawn from the seed, so that no client can recognise a case by them. `own_assignor`
    is the subject's own assignor, if it has none of the common ones.
    """

    subject: Subject
    reference_peers: Subject
    profile: str
    seed: int
    bind: str = "127.0.0.1"
    advertise: str | None = None
    limits: Limits = field(default_factory=Limits)
    canary: Canary | None = None
    on_started: Callable[[Case, Actor], Awaitable[None]] | None = None
    rhythm: Rhythm | None = None
    draws_names: bool = False
    own_assignor: str | None = None

    @property
    def is_virtual(self) -> bool:
        return self.subject.is_virtual

    def judge(self, case: Case, trace: Trace) -> Judgement:
        """Judge one run with the case's own judges and the universal ones."""
        return judge_run(case, trace, UNIVERSAL)

    def network(self, recorder: Recorder, case: Case) -> InProcessNetwork:
        if self.is_virtual:
            is_impaired = any(isinstance(step, Impair) for step in plan_of(case).steps)
            return MemoryNetwork(Impairments(random.Random(seed_of(self.seed, case.id))) if is_impaired else None)
        network = LoopbackNetwork(self.bind, self.advertise)
        network.is_flooded = lambda: len(recorder.trace) > FLOOD
        return network

    async def play(self, case: Case, *, key: str, alone: bool = False) -> Play:
        """Run `case` once; `key` is unique in the run and identifies its members to shims that host many.

        Raise `BrokenEnvironment` and the kit's own errors, possibly in an exception group.
        """
        began = trio.current_time()
        recorder = Recorder(clock_from_now(), **self._columns(case, key))
        record_origin(case, recorder)
        case = self._assigned(self._named(case, recorder))
        if self.rhythm is not None:
            recorder.record("event", who="kit", body={"name": "rhythm", "react_ms": round(self.rhythm.react_ms), **asdict(self.rhythm)})
        cluster = self._cluster(case, recorder)
        network = self.network(recorder, case)
        driver = self._driver(case, cluster, network, recorder, key=key, alone=alone)
        stop = watch_lags(self.canary, recorder)
        try:
            async with trio.open_nursery() as nursery:
                await nursery.start(cluster.run)
                await nursery.start(partial(watch_receipts, recorder, cluster.interception.record_event))
                async with network.opened(cluster):
                    await driver.run()
                nursery.cancel_scope.cancel()
        finally:
            stop()
        return Play(trace=list(recorder.trace), stderr=driver.stderr, duration_s=trio.current_time() - began)

    async def in_rhythm(self) -> Stage:
        """Return the stage with the subject's measured rhythm. In virtual time the reference's rhythm is fixed."""
        if self.is_virtual or CLASSIC_CAPABILITY not in self.subject.hello.capabilities:
            return self
        traces: list[Trace] = []

        async def measure(number: int, case: Case) -> None:
            traces.append(await self._attributed(case, f"rhythm{number}"))

        try:
            async with trio.open_nursery() as nursery:
                for number, case in enumerate(MEASURING, 1):
                    nursery.start_soon(measure, number, case)
        except ExceptionGroup:
            return self  # the first case reports the error better
        return replace(self, rhythm=rhythm_of(traces))

    async def _attributed(self, case: Case, key: str) -> Trace:
        """Return the trace of one run. If the client sets no client id, run again in a process of its own, which identifies its requests."""
        play = await self.play(case, key=key)
        if unattributed(play.trace) is None:
            return play.trace
        return (await self.play(case, key=f"{key}.alone", alone=True)).trace

    def _named(self, case: Case, recorder: Recorder) -> Case:
        """Return the case with drawn names in its plan, and record their meaning. Without `draws_names`, return the case itself."""
        if not self.draws_names:
            return case
        names = drawn(plan_of(case), seed_of(self.seed, case.id))
        recorder.record("event", who="kit", body={"name": NAMES, **msgspec.to_builtins(names, str_keys=True)})
        return replace(case, plan=names.plan(plan_of(case)))

    def _assigned(self, case: Case) -> Case:
        """Return the case with the subject's own assignor for all members, if it has one and the plan names none."""
        return case if self.own_assignor is None else replace(case, plan=with_assignor(plan_of(case), self.own_assignor))

    def _columns(self, case: Case, key: str) -> dict[str, Any]:
        clock = "virtual" if self.subject.is_virtual else "wall"
        return {"run": f"{self.seed:x}.{key}", "case": case.id, "seed": self.seed, "clock": clock}

    def _cluster(self, case: Case, recorder: Recorder) -> Cluster:
        plan = plan_of(case)
        return Cluster(
            profile=self.profile,
            settings={**COORDINATOR_DEFAULTS, **plan.coordinator},
            brokers=plan.brokers,
            topics=plan.topics,
            records=plan.records,
            seed=seed_of(self.seed, case.id),
            recorder=recorder,
        )

    def _driver(self, case: Case, cluster: Cluster, network: Network, recorder: Recorder, *, key: str, alone: bool) -> Driver:
        async def started(actor: Actor) -> None:
            if self.on_started is not None:
                await self.on_started(case, actor)

        return Driver(
            plan_of(case),
            DrivenReference(cluster),
            network,
            recorder,
            subject_of=lambda kind: self.subject if kind == "subject" else self.reference_peers,
            key=key,
            seed=seed_of(self.seed, case.id),
            profile=self.profile,
            is_isolated=case.isolated or alone,
            settings_needed=case.settings_needed,
            limits=self.limits,
            on_started=started,
        )


def record_origin(case: Case, recorder: Recorder) -> None:
    """Record the case's origin, where judging the trace again needs it."""
    if case.origin is not None:
        recorder.record("event", who="kit", body={"name": "origin", **case.origin})

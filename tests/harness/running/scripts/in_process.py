"""Scripts carried out against the reference cluster, in this process and in virtual time."""

from __future__ import annotations

import trio

from groupproof.harness.model.script import Script
from groupproof.harness.model.script_bindings import Names, topics_of
from groupproof.harness.running.scripts.script_runner import IsLost, perform
from groupproof.harness.subjects.brokers.cluster_map import ClusterMap
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.protocol.trace import Recorder, Trace

__all__ = ["SETTINGS", "performed"]

SETTINGS = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 100}


def performed(script: Script, *, seed: int = 1, profile: str = "kafka-4.1", steps_s: float = 120.0, is_lost: IsLost | None = None) -> Trace:
    """Carry `script` out on a cluster of its own."""
    recorders: list[Recorder] = []

    async def main() -> None:
        subject = ReferenceBrokers(profile=profile, seed=seed)
        settings = {**SETTINGS, **script.settings}
        async with subject.cluster(settings=settings, brokers=script.brokers, topics=topics_of(script.topics)) as cluster:
            where = ClusterMap(cluster)
            await where.learn()
            began = trio.current_time()
            recorders.append(Recorder(lambda: round((trio.current_time() - began) * 1e9)))
            names = Names(case="join/classic/x", key="1", topics=script.topics)
            ground = {"settings": settings, "profile": profile}
            await perform(script, where, recorders[0], names=names, steps_s=steps_s, is_lost=is_lost, **ground)
            await where.close()

    run_virtually(main, seed=seed)
    return recorders[0].trace

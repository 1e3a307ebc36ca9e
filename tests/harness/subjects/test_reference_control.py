"""The reference cluster as the driver has it: what a plan says reaches it, and its machines."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from tests.harness.running.plans.driving import JOINED, kit, play

from groupproof.coordinator.broker.reference_cluster import Cluster
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.model.plan import BreakBroker, Command, Mend, Pass
from groupproof.harness.subjects.reference_control import DrivenReference
from groupproof.protocol.faults import Fault, Hold, Move, Selector
from groupproof.protocol.trace import Recorder


class Told:
    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []

    async def break_broker(self, node: int, how: str) -> None:
        self.calls.append((node, how))

    async def mend_broker(self, node: int) -> None:
        self.calls.append((node,))


def test_what_a_plan_does_reaches_the_cluster_and_its_machines() -> None:
    async def main() -> None:
        recorder, machines = Recorder(lambda: 0), Told()
        cluster = DrivenReference(Cluster(topics={"t": 1}, recorder=recorder), machines)
        cluster.arm(Fault(name="f", selector=Selector(api="Heartbeat"), action=Hold()))
        cluster.release("f")
        cluster.heal("f")
        await cluster.grow("t", 3)
        await cluster.configure_group("g", {"consumer.heartbeat.interval.ms": "6000"})
        with pytest.raises(BrokenEnvironment, match="group g can't have"):
            await cluster.configure_group("g", {"consumer.heartbeat.interval.ms": "1"})
        before = await cluster.coordinator_of("g")
        await cluster.move(Move())
        await cluster.break_broker(1, "pause")
        await cluster.mend_broker(1)

        assert [obs.detail for obs in recorder.trace if obs.kind == "fault"] == ["armed", "released", "healed"]
        assert await cluster.coordinator_of("g") != before
        assert machines.calls == [(1, "pause"), (1,)]
        with pytest.raises(ValueError, match="has 3 partitions"):
            await cluster.grow("t", 1)

    trio.run(main)


def test_the_reference_clusters_machines_are_its_own_and_each_is_broken_once_until_it_is_mended() -> None:
    async def main() -> None:
        reference = Cluster(recorder=Recorder(lambda: 0))
        cluster = DrivenReference(reference)
        await cluster.mend_broker(0)
        await cluster.break_broker(0, "kill")
        assert not reference.is_up(0)
        for node, how, why in (
            (0, "pause", r"broker 0 is broken already \(kill\); heal it first"),
            (1, "drown", "broker 1 can't be broken by 'drown'; the ways are pause, kill, slow-disk"),
            (2, "kill", "no broker 2 is running here"),
        ):
            with pytest.raises(BrokenEnvironment, match=why):
                await cluster.break_broker(node, how)
        await cluster.mend_broker(0)
        assert reference.is_up(0)
        await cluster.break_broker(0, "slow-disk")

    trio.run(main)


def _commit(offset: int, **more: Any) -> Command:
    return Command(member="m0", command="commit", fields={"mode": "sync", "offsets": [["t", 0, offset]]}, within_ms=60_000, **more)


@pytest.mark.parametrize(("how", "waited_ms", "coordinators"), [("pause", 20_000, 1), ("kill", 0, 2), ("slow-disk", 500, 1)])
def test_a_member_can_commit_again_after_its_coordinator_was_broken(how: str, waited_ms: int, coordinators: int) -> None:
    breaks = BreakBroker(name="b", how=how)
    trace = play([*JOINED, _commit(1), breaks, _commit(2, wait=False), Pass(ms=15_000), Mend(name="b"), Pass(ms=5_000), _commit(3)])

    assert [obs.detail for obs in trace if obs.kind == "fault"] == ["triggered", "delivered", "healed"]
    assert not kit(trace, "timeout")
    delivered = next(obs for obs in trace if obs.detail == "delivered")
    committed = [obs for obs in trace if obs.kind == "response" and obs.api == "OffsetCommit" and obs.error == 0]
    after = next(obs for obs in committed if obs.seq > delivered.seq)
    assert waited_ms <= (after.at_ns - delivered.at_ns) / 1e6 < waited_ms + 500
    assert len({obs.node for obs in committed}) == coordinators

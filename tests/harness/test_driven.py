"""The reference cluster as the driver has it: what a plan says reaches it, and its machines."""

from __future__ import annotations

import pytest
import trio

from groupproof.coordinator.cluster import Cluster
from groupproof.harness.driven import DrivenReference
from groupproof.harness.troubles import BrokenEnvironment
from groupproof.protocol.faults import Fault, Hold, Move, Selector
from groupproof.protocol.trace import Recorder


class Told:
    def __init__(self) -> None:
        self.said: list[tuple[object, ...]] = []

    async def break_broker(self, node: int, how: str) -> None:
        self.said.append((node, how))

    async def mend_broker(self, node: int) -> None:
        self.said.append((node,))


def test_what_a_plan_does_reaches_the_cluster_and_its_machines() -> None:
    async def main() -> None:
        recorder, machines = Recorder(lambda: 0), Told()
        cluster = DrivenReference(Cluster(topics={"t": 1}, recorder=recorder), machines)
        cluster.arm(Fault(name="f", selector=Selector(api="Heartbeat"), action=Hold()))
        cluster.release("f")
        cluster.heal("f")
        await cluster.grow("t", 3)
        before = await cluster.coordinator_of("g")
        await cluster.move(Move())
        await cluster.break_broker(1, "pause")
        await cluster.mend_broker(1)

        assert [seen.detail for seen in recorder.trace if seen.kind == "fault"] == ["armed", "released", "healed"]
        assert await cluster.coordinator_of("g") != before
        assert machines.said == [(1, "pause"), (1,)]
        with pytest.raises(ValueError, match="has 3 partitions"):
            await cluster.grow("t", 1)

    trio.run(main)


def test_without_machines_nothing_breaks_and_all_is_whole() -> None:
    async def main() -> None:
        cluster = DrivenReference(Cluster(recorder=Recorder(lambda: 0)))
        await cluster.mend_broker(0)
        with pytest.raises(BrokenEnvironment, match="broker 0 can't be broken here"):
            await cluster.break_broker(0, "kill")

    trio.run(main)

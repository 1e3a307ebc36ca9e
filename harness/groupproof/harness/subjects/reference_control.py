"""The reference cluster behind the interface that a plan uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import trio

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.protocol.vocabulary import error_named

if TYPE_CHECKING:
    from groupproof.coordinator.broker.reference_cluster import Cluster
    from groupproof.harness.subjects.cluster_control import Machines
    from groupproof.protocol.faults import Fault, Move

__all__ = ["DrivenReference", "ReferenceMachines"]


class ReferenceMachines:
    """The brokers of a reference cluster as hosts that a plan can break."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._broken: dict[int, str] = {}

    async def break_broker(self, node: int, how: str) -> None:
        broken = {"pause": self._cluster.pause, "kill": self._cluster.kill, "slow-disk": self._cluster.slow_disk}
        if node not in self._cluster.nodes:
            raise BrokenEnvironment(f"no broker {node} is running here that could be broken")
        if how not in broken:
            raise BrokenEnvironment(f"broker {node} can't be broken by {how!r}; the ways are {', '.join(broken)}")
        if node in self._broken:
            raise BrokenEnvironment(f"broker {node} is broken already ({self._broken[node]}); heal it first")
        self._broken[node] = how
        broken[how](node)
        await trio.lowlevel.checkpoint()

    async def mend_broker(self, node: int) -> None:
        if self._broken.pop(node, None) is not None:
            self._cluster.mend(node)
        await trio.lowlevel.checkpoint()


class DrivenReference:
    """The reference cluster. A plan moves the coordinators of all its groups at once."""

    def __init__(self, cluster: Cluster, machines: Machines | None = None) -> None:
        self._cluster = cluster
        self._machines = machines or ReferenceMachines(cluster)

    def arm(self, fault: Fault) -> None:
        self._cluster.arm(fault)

    def release(self, name: str) -> None:
        self._cluster.release(name)

    def heal(self, name: str) -> None:
        self._cluster.heal(name)

    async def move(self, move: Move) -> None:
        self._cluster.move(move)

    async def grow(self, topic: str, partitions: int) -> None:
        self._cluster.grow(topic, partitions)

    async def configure_group(self, group: str, configs: Mapping[str, str]) -> None:
        if error := self._cluster.configure_group(group, configs):
            raise BrokenEnvironment(f"group {group} can't have {configs}: {error_named(error)}")

    async def append(self, topic: str, partitions: int, records: int) -> None:
        self._cluster.append(topic, records)

    async def coordinator_of(self, group: str) -> int:
        return self._cluster.coordinator_node(group)

    async def break_broker(self, node: int, how: str) -> None:
        await self._machines.break_broker(node, how)

    async def mend_broker(self, node: int) -> None:
        await self._machines.mend_broker(node)

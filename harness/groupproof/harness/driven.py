"""What a plan is carried out against: the coordinators, as the driver knows them, and the reference cluster in that shape."""

from __future__ import annotations

from typing import Protocol

import trio

from groupproof.coordinator.cluster import Cluster
from groupproof.harness.troubles import BrokenEnvironment
from groupproof.protocol.faults import Fault, Move

__all__ = ["DrivenCluster", "DrivenReference", "Machines", "NoMachines", "ReferenceMachines"]


class DrivenCluster(Protocol):
    """What a plan does to its coordinators. What can't be done here raises `BrokenEnvironment`."""

    def arm(self, fault: Fault) -> None: ...

    def release(self, name: str) -> None: ...

    def heal(self, name: str) -> None: ...

    async def move(self, move: Move) -> None: ...

    async def grow(self, topic: str, partitions: int) -> None: ...

    async def append(self, topic: str, partitions: int, records: int) -> None: ...

    async def coordinator_of(self, group: str) -> int:
        """Return the node that coordinates `group`."""
        ...

    async def break_broker(self, node: int, how: str) -> None: ...

    async def mend_broker(self, node: int) -> None:
        """Undo whatever was done to the broker, and return when it can be used again; one that is whole is no error."""
        ...


class Machines(Protocol):
    """What the brokers run on. Both raise `BrokenEnvironment` for what can't be done here."""

    async def break_broker(self, node: int, how: str) -> None:
        """Return when it is done: `how` is pause, kill or slow-disk."""
        ...

    async def mend_broker(self, node: int) -> None:
        """Undo whatever was done, and return when the broker can be used again; one that is whole is no error."""
        ...


class NoMachines:
    """Brokers that nobody can reach but by their ports."""

    async def break_broker(self, node: int, how: str) -> None:
        raise BrokenEnvironment(f"broker {node} can't be broken here ({how}): its machine is not this kit's; choose a broker that the kit starts")

    async def mend_broker(self, node: int) -> None:
        return


class ReferenceMachines:
    """The machines of a reference cluster, which are its own."""

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
            raise BrokenEnvironment(f"broker {node} is broken already ({self._broken[node]}); mend it first")
        self._broken[node] = how
        broken[how](node)
        await trio.lowlevel.checkpoint()

    async def mend_broker(self, node: int) -> None:
        if self._broken.pop(node, None) is not None:
            self._cluster.mend(node)
        await trio.lowlevel.checkpoint()


class DrivenReference:
    """The reference cluster, of which a plan moves all groups' coordinators at once."""

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

    async def append(self, topic: str, partitions: int, records: int) -> None:
        self._cluster.append(topic, records)

    async def coordinator_of(self, group: str) -> int:
        return self._cluster.coordinator_node(group)

    async def break_broker(self, node: int, how: str) -> None:
        await self._machines.break_broker(node, how)

    async def mend_broker(self, node: int) -> None:
        await self._machines.mend_broker(node)

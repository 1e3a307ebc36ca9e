"""The interface of a cluster that a plan runs against: its coordinators, and the hosts that they run on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.protocol.faults import Fault, Move

__all__ = ["DrivenCluster", "Machines", "NoMachines"]


class DrivenCluster(Protocol):
    """What a plan does to its coordinators. Raise `BrokenEnvironment` for what cannot be done here."""

    def arm(self, fault: Fault) -> None: ...

    def release(self, name: str) -> None: ...

    def heal(self, name: str) -> None: ...

    async def move(self, move: Move) -> None: ...

    async def grow(self, topic: str, partitions: int) -> None: ...

    async def configure_group(self, group: str, configs: Mapping[str, str]) -> None:
        """Set configs of a group (KIP-848)."""
        ...

    async def append(self, topic: str, partitions: int, records: int) -> None: ...

    async def coordinator_of(self, group: str) -> int:
        """Return the node that coordinates `group`."""
        ...

    async def break_broker(self, node: int, how: str) -> None: ...

    async def mend_broker(self, node: int) -> None:
        """Undo whatever was done to the broker, and return when it is usable again. A healthy broker is no error."""
        ...


class Machines(Protocol):
    """The hosts of the brokers. Both methods raise `BrokenEnvironment` for what cannot be done here."""

    async def break_broker(self, node: int, how: str) -> None:
        """Break the broker's host and return when that is done. `how` is pause, kill or slow-disk."""
        ...

    async def mend_broker(self, node: int) -> None:
        """Undo whatever was done, and return when the broker is usable again. A healthy broker is no error."""
        ...


class NoMachines:
    """Brokers that are reachable only by their ports."""

    async def break_broker(self, node: int, how: str) -> None:
        raise BrokenEnvironment(f"broker {node} can't be broken here ({how}): its machine is not this kit's; choose a broker that the kit starts")

    async def mend_broker(self, node: int) -> None:
        return

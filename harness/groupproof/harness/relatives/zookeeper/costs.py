"""What things take on a virtual ZooKeeper, in microseconds; the defaults are about those of one server of ZooKeeper 3.8 and clients on its network."""

from __future__ import annotations

from dataclasses import dataclass

from groupproof.protocol.relatives.zookeeper_messages import Children, Create, Delete, GetEach, Operation, Set

__all__ = ["Costs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """`way_us` bounds the way in one direction, drawn for each member; a server works on one request at a time, for so long as its kind says.

    `child_us` is for each name of a listing, `event_us` for a watch's event; `brokers_us` is what a request to the brokers takes, `stop_us` what stopping the fetchers does.
    """

    way_us: tuple[int, int] = (100, 300)
    read_us: int = 15
    write_us: int = 60
    child_us: float = 0.05
    event_us: int = 5
    brokers_us: int = 2_000
    stop_us: tuple[int, int] = (1_000, 20_000)

    def of(self, operation: Operation, listed: int = 0) -> int:
        """Return how long a server works on it; `listed` is how many names its answer holds."""
        if isinstance(operation, GetEach):
            return self.read_us * len(operation.names)
        if isinstance(operation, Create | Set | Delete):
            return self.write_us
        return self.read_us + (int(self.child_us * listed) if isinstance(operation, Children) else 0)

"""A request that a simulated broker has taken up and not yet answered."""

from __future__ import annotations

from dataclasses import dataclass

from groupproof.harness.simulation.simulated_network import Connection
from groupproof.protocol.wire.messages import GroupRequest

__all__ = ["PendingRequest"]


@dataclass(slots=True, eq=False)
class PendingRequest:
    """A request that a broker has taken up, and the connection that its answer goes to."""

    node: int
    connection: Connection
    request_id: int
    request: GroupRequest

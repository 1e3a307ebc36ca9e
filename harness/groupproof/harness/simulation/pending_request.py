"""A request that a simulated broker has taken up and not yet answered, and one that comes again and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groupproof.coordinator.machine.machine_outputs import Arrival
    from groupproof.harness.simulation.simulated_network import Connection
    from groupproof.protocol.wire.messages import GroupRequest, GroupResponse

__all__ = ["KeptExchange", "PendingRequest"]


@dataclass(slots=True, eq=False)
class PendingRequest:
    """A request that a broker has taken up, and the connection that its answer goes to."""

    node: int
    connection: Connection
    request_id: int
    request: GroupRequest


@dataclass(slots=True, eq=False)
class KeptExchange:
    """A request of a `kind` that came over a connection, how it comes to a machine that answers it as before, that answer, and what the digest holds of both.

    It `may_arm` a timer that is due earlier than those before it.
    """

    request: GroupRequest
    arrival: Arrival
    kind: type
    may_arm: bool
    answer: GroupResponse | None = None
    note: tuple[object, ...] = ()

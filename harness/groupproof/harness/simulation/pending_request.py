"""A request that a simulated broker processes and has not answered yet, and a repeated exchange."""

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
    """A request that a broker processes, and the connection for its answer."""

    node: int
    connection: Connection
    request_id: int
    request: GroupRequest


@dataclass(slots=True, eq=False)
class KeptExchange:
    """A repeated exchange of a connection, for a machine that answers as before. `note` is its entry in the digest.

    If it `may_arm`, it can set a timer that is due earlier than all others.
    """

    request: GroupRequest
    arrival: Arrival
    kind: type
    may_arm: bool
    answer: GroupResponse | None = None
    note: tuple[object, ...] = ()

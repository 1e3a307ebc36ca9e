"""The columns that name a request in the trace, and in the receipts of the faults that strike it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from groupproof.protocol.wire.observation_columns import request_columns

if TYPE_CHECKING:
    from groupproof.coordinator.broker.broker import Broker
    from groupproof.coordinator.machine.incoming_request import IncomingRequest
    from groupproof.protocol.wire.message_codec import WireRequest

__all__ = ["columns_of", "described"]


def columns_of(broker: Broker, connection: int, wire: WireRequest, version: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the columns that name a request, and those of what it says."""
    who, body = request_columns(wire.api, wire.body, broker.world.topics.name_of)
    columns = {
        "node": broker.node_id, "connection": connection, "client": wire.client_id, "api": wire.api.title, "version": version,
        "correlation": wire.correlation, **who,
    }  # fmt: skip
    return columns, body


def described(broker: Broker, connection: int, arrived: IncomingRequest) -> IncomingRequest:
    """Return the request with its columns. Nobody recorded them when it came, but a fault may still ask for them."""
    return arrived if arrived.columns else arrived._replace(columns=columns_of(broker, connection, arrived.wire, arrived.wire.version)[0])

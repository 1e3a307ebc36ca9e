"""The columns that identify a request in the trace and in the receipts of faults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from groupproof.protocol.wire.observation_columns import request_columns

if TYPE_CHECKING:
    from groupproof.coordinator.broker.broker import Broker
    from groupproof.coordinator.machine.incoming_request import IncomingRequest
    from groupproof.protocol.wire.message_codec import WireRequest

__all__ = ["columns_of", "described"]


def columns_of(broker: Broker, connection: int, wire: WireRequest, version: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the columns that identify a request, and those of its content."""
    who, body = request_columns(wire.api, wire.body, broker.metadata.topics.name_of)
    columns = {
        "node": broker.node_id, "connection": connection, "client": wire.client_id, "api": wire.api.title, "version": version,
        "correlation": wire.correlation, **who,
    }  # fmt: skip
    return columns, body


def described(broker: Broker, connection: int, arrived: IncomingRequest) -> IncomingRequest:
    """Return the request with its columns. They were not recorded at its arrival, but a fault may need them."""
    return arrived if arrived.columns else arrived._replace(columns=columns_of(broker, connection, arrived.wire, arrived.wire.version)[0])

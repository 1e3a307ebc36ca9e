"""A variant's deviations on a connection: its reaction to an unreadable frame, and its changes of answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import trio

from groupproof.protocol.wire.throttle_time import throttle_ms

if TYPE_CHECKING:
    from groupproof.coordinator.broker.broker import Broker
    from groupproof.coordinator.machine.incoming_request import IncomingRequest
    from groupproof.coordinator.machine.variant import ConnectionVariant

__all__ = ["altered_answer", "handle_unreadable_frame", "stay_muted"]

_READ_BYTES: Final = 65536


async def handle_unreadable_frame(broker: Broker, stream: trio.abc.Stream, error: Exception) -> None:
    """React to an unreadable frame without ending the connection: kill the broker, or stay silent."""
    if broker.line.bad_frame == "dies":
        for peer in tuple(broker.peers):
            peer.end(f"the broker died of it: {error}")
    while await stream.receive_some(_READ_BYTES):
        pass


async def stay_muted(line: ConnectionVariant, body: Mapping[str, Any]) -> None:
    """Process no request of the connection while its client is throttled (KIP-219; `ThrottledChannel`)."""
    if line.mutes:
        await trio.sleep(throttle_ms(body) / 1000)


async def altered_answer(line: ConnectionVariant, arrived: IncomingRequest, body: dict[str, Any]) -> Mapping[str, Any] | None:
    """Return the answer as the variant changes it, after the variant's delay."""
    if delay_s := line.delay_s(arrived):
        await trio.sleep(delay_s)
    return line.says(arrived, body)

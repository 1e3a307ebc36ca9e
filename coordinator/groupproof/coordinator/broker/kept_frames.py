"""Caches the last JoinGroup and SyncGroup of a connection: a member's next has the same bytes except for correlation id and generation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from groupproof.coordinator.broker.generation_place import generation_at
from groupproof.coordinator.machine.incoming_request import IncomingRequest
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import WireRequest
from groupproof.protocol.wire.messages import JoinGroupRequest, SyncGroupRequest

if TYPE_CHECKING:
    from groupproof.coordinator.broker.broker import Broker, Peer
    from groupproof.coordinator.broker.group_coordinators import Ticket
    from groupproof.protocol.wire.messages import GroupResponse

__all__ = ["FRAME_BYTES_MAX", "KEPT", "KIND", "KeptFrame", "KeptFrames"]

FRAME_BYTES_MAX: Final = 512
"""Longer frames are not kept: a leader's SyncGroup contains the assignments."""

KEPT: Final = frozenset({Api.JOIN_GROUP, Api.SYNC_GROUP})
"""The requests that a member sends once in each rebalance."""

LastFrame = tuple[bytes, IncomingRequest, int]
"""A frame, its request, and the payload's length in bytes."""

_LENGTH_BYTES: Final = 4
_CORRELATION_AT: Final = 8  # after the length, API key and version
KIND: Final = slice(_LENGTH_BYTES, _CORRELATION_AT)
"""The place of API and version in a frame. The last frame of each kind is kept."""

_CORRELATION_END: Final = 12
_GENERATION_BYTES: Final = 4


class KeptFrames:
    """The kept frames of one connection, `peer`, which has one request under way at a time.

    The connection puts each frame of an API in `KEPT` that it reads into `last`, by `KIND`, with its request and the payload's length.
    """

    def __init__(self, broker: Broker, peer: Peer) -> None:
        self._broker, self._peer = broker, peer
        self.last: dict[bytes, LastFrame] = {}
        self._frames: dict[bytes, tuple[LastFrame, KeptFrame | None]] = {}

    def process_again(self, data: bytes) -> tuple[IncomingRequest, GroupResponse | Ticket] | None:
        """Process a repeated frame. Return None, without a change, for another frame, or where it may do more than wait or get the same answer."""
        kept = self._kept(data[KIND])
        if kept is None or (arrived := kept.again(data)) is None:
            return None
        if kept.arrival is None:
            kept.arrival, kept.on_dropped = self._broker.arrival(arrived, self._peer), self._broker.when_dropped(arrived, self._peer)
        answer = self._broker.process_again(arrived, kept.arrival, kept.on_dropped)
        return None if answer is None else (arrived, answer)

    def _kept(self, kind: bytes) -> KeptFrame | None:
        """Return the last frame of this kind, unless it is long, did not come alone, or was recorded."""
        last = self.last[kind]
        before = self._frames.get(kind)
        if before is None or before[0] is not last:
            data, arrived, payload_size = last
            is_whole = len(data) == payload_size + _LENGTH_BYTES <= FRAME_BYTES_MAX
            is_kept = is_whole and not arrived.columns and isinstance(arrived.wire.message, JoinGroupRequest | SyncGroupRequest)
            before = self._frames[kind] = last, KeptFrame(data, arrived) if is_kept else None
        return before[1]


class KeptFrame:
    """A frame and its decoded request. `arrival` is the origin of all requests like it; `on_dropped` is called where a move drops one."""

    __slots__ = ("_arrived", "_before", "_behind", "_data", "_generation_at", "arrival", "on_dropped")

    def __init__(self, data: bytes, arrived: IncomingRequest) -> None:
        self._data, self._arrived = data, arrived
        self._generation_at = -1
        self._before = self._behind = b""
        self.arrival: Any = None
        self.on_dropped: Any = None

    def again(self, data: bytes) -> IncomingRequest | None:
        """Return the request in `data` if it differs only in correlation id and generation. It becomes the kept request."""
        if len(data) != len(self._data):
            return None
        at = self._learnt() if self._generation_at < 0 else self._generation_at
        if not (data.startswith(self._before, _CORRELATION_END) and data.endswith(self._behind)):
            return None
        if at and not data.startswith(self._data[at : at + _GENERATION_BYTES], at):
            self._begin(data)
        self._arrived.wire.correlation = int.from_bytes(data[_CORRELATION_AT:_CORRELATION_END], "big", signed=True)
        return self._arrived

    def _learnt(self) -> int:
        """Find the bytes that a repeated frame must share with this one. It is done late: most clients send only one frame."""
        wire, data = self._arrived.wire, self._data
        if wire.api is Api.SYNC_GROUP:
            at = self._generation_at = _LENGTH_BYTES + generation_at(data[_LENGTH_BYTES:], wire.api, wire.version)
            self._before, self._behind = data[_CORRELATION_END:at], data[at + _GENERATION_BYTES :]
        else:
            self._generation_at = 0
            self._before = self._behind = data[_CORRELATION_END:]
        return self._generation_at

    def _begin(self, data: bytes) -> None:
        """Keep the request with the generation in `data`."""
        at, wire = self._generation_at, self._arrived.wire
        old: Any = wire.message
        message = SyncGroupRequest(
            group_id=old.group_id,
            generation_id=int.from_bytes(data[at : at + _GENERATION_BYTES], "big", signed=True),
            member_id=old.member_id,
            group_instance_id=old.group_instance_id,
            protocol_type=old.protocol_type,
            protocol_name=old.protocol_name,
            assignments=old.assignments,
        )
        renewed = WireRequest(
            api=wire.api, version=wire.version, correlation=wire.correlation, client_id=wire.client_id, message=message, surplus=wire.surplus
        )
        self._data, self._arrived = data, IncomingRequest(renewed, self._arrived.columns)

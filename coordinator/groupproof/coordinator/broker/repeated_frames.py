"""Caches the last heartbeat of a connection: usually the next has the same bytes except for the correlation id, and so has its answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import write_answer

if TYPE_CHECKING:
    from groupproof.coordinator.machine.incoming_request import IncomingRequest
    from groupproof.coordinator.machine.machine_outputs import Arrival
    from groupproof.protocol.wire.messages import GroupResponse

__all__ = ["FRAME_BYTES_MAX", "HEARTBEATS", "RepeatedFrame"]

FRAME_BYTES_MAX: Final = 512
"""Longer frames are not kept."""

HEARTBEATS: Final = frozenset({Api.HEARTBEAT, Api.CONSUMER_GROUP_HEARTBEAT})
"""The requests that a member repeats."""

_CORRELATION_AT: Final = 8  # after length, API key and version
_CORRELATION_END: Final = 12
_LENGTH_END: Final = 4  # of an answer, whose correlation id follows


@dataclass(slots=True, eq=False)
class RepeatedFrame:
    """A request of `size` bytes that begins with `head` and ends with `tail`, as decoded, and its last `answer`, as decoded and as bytes."""

    arrived: IncomingRequest
    arrival: Arrival
    message: Any
    size: int
    head: bytes
    tail: bytes
    answer: GroupResponse | None = None
    _length: bytes = b""
    _body: bytes = b""

    @classmethod
    def of(cls, data: bytes, arrived: IncomingRequest, payload_size: int, arrival: Arrival) -> RepeatedFrame | None:
        """Return the kept form of the heartbeat in `data`; None where `data` is long or is not exactly one frame."""
        if len(data) > FRAME_BYTES_MAX or len(data) != payload_size + _LENGTH_END:
            return None
        return cls(arrived, arrival, arrived.wire.message, len(data), data[:_CORRELATION_AT], data[_CORRELATION_END:])

    def is_in(self, data: bytes) -> bool:
        """Return whether `data` is the same frame, except for the correlation id."""
        return len(data) == self.size and data.startswith(self.head) and data.endswith(self.tail)

    def answered(self, data: bytes, answer: GroupResponse) -> bytes:
        """Return the frame that answers `data`."""
        if answer is not self.answer:
            written = write_answer(answer, self.arrived.wire.version, 0)
            self._length, self._body = written[:_LENGTH_END], written[_LENGTH_END + _CORRELATION_END - _CORRELATION_AT :]
            self.answer = answer
        return self._length + data[_CORRELATION_AT:_CORRELATION_END] + self._body

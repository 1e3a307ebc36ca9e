"""The heartbeat that came last on a connection: the next is most often the same bytes but for its correlation id, and so is its answer."""

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
"""A longer frame is not kept."""

HEARTBEATS: Final = frozenset({Api.HEARTBEAT, Api.CONSUMER_GROUP_HEARTBEAT})
"""What a member sends again and again."""

_CORRELATION_AT: Final = 8  # behind length, API key and version
_CORRELATION_END: Final = 12
_LENGTH_END: Final = 4  # of an answer, whose correlation id comes next


@dataclass(slots=True, eq=False)
class RepeatedFrame:
    """A request of `size` bytes that begins with `head` and ends with `tail`, as it was read and arrived; and the last `answer`, as it was written."""

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
        """Return what is kept of `data`, in which that heartbeat ended; None where it is long, or not all that there is."""
        if len(data) > FRAME_BYTES_MAX or len(data) != payload_size + _LENGTH_END:
            return None
        return cls(arrived, arrival, arrived.wire.message, len(data), data[:_CORRELATION_AT], data[_CORRELATION_END:])

    def is_in(self, data: bytes) -> bool:
        """Tell whether `data` is the same frame, whatever its correlation id."""
        return len(data) == self.size and data.startswith(self.head) and data.endswith(self.tail)

    def answered(self, data: bytes, answer: GroupResponse) -> bytes:
        """Return the answer to `data` as a frame."""
        if answer is not self.answer:
            written = write_answer(answer, self.arrived.wire.version, 0)
            self._length, self._body = written[:_LENGTH_END], written[_LENGTH_END + _CORRELATION_END - _CORRELATION_AT :]
            self.answer = answer
        return self._length + data[_CORRELATION_AT:_CORRELATION_END] + self._body

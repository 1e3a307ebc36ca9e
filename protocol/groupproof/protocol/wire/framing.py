"""Length-prefixed frames out of a byte stream, with a bound on what a peer can make us hold.

Source: Kafka's `NetworkReceive`: a frame is its length as a signed 32-bit integer and that many bytes; a negative length, or one above
`socket.request.max.bytes`, ends the connection.
"""

from __future__ import annotations

from typing import Final

__all__ = ["FRAME_BYTES_MAX", "FrameTooLong", "Framer", "FramingError", "NegativeLength", "frame"]

FRAME_BYTES_MAX: Final = 100 * 1024 * 1024
"""Kafka's default of `socket.request.max.bytes`."""

_PREFIX_BYTES: Final = 4


class FramingError(Exception):
    """A stream that holds no frames; the connection cannot go on."""


class FrameTooLong(FramingError):
    """A frame announced as longer than the bound."""


class NegativeLength(FramingError):
    """A frame announced with a length below zero."""


class Framer:
    """Cuts a stream into frames; holds at most one incomplete frame of `frame_bytes_max` bytes."""

    def __init__(self, frame_bytes_max: int = FRAME_BYTES_MAX) -> None:
        self._frame_bytes_max = frame_bytes_max
        self._held = bytearray()

    @property
    def pending(self) -> int:
        """Return the bytes of the frame that is not complete yet: not 0 at the stream's end means that it was cut."""
        return len(self._held)

    def feed(self, data: bytes) -> list[bytes]:
        """Return the frames that `data` completes, without their length prefix.

        Raises `FrameTooLong` or `NegativeLength` as soon as the length is known, before the frame's bytes are held; complete frames
        before it in the same `data` are then lost with the connection. After a raise the framer must not be fed again.
        """
        held = self._held
        source: bytes | bytearray = data  # whole frames are most often all there is: then nothing is copied but them
        if held:
            held += data
            source = held
        frames: list[bytes] = []
        at = 0
        while len(source) - at >= _PREFIX_BYTES:
            start = at + _PREFIX_BYTES
            end = start + self._length(source, at)
            if end > len(source):
                break
            frames.append(bytes(source[start:end]))
            at = end
        if source is held:
            del held[:at]
        else:
            held += data[at:]
        return frames

    def _length(self, held: bytes | bytearray, at: int) -> int:
        length = int.from_bytes(held[at : at + _PREFIX_BYTES], "big", signed=True)
        if length < 0:
            raise NegativeLength(f"a frame of {length} bytes was announced; first bytes {_hex(held, at)}")
        if length > self._frame_bytes_max:
            raise FrameTooLong(f"a frame of {length} bytes was announced, the bound is {self._frame_bytes_max}; first bytes {_hex(held, at)}")
        return length


def frame(payload: bytes) -> bytes:
    """Return `payload` behind its length."""
    return len(payload).to_bytes(_PREFIX_BYTES, "big") + payload


def _hex(held: bytes | bytearray, at: int) -> str:
    return bytes(held[at : at + 16]).hex()

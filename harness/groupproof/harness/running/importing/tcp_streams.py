"""Reassembles one direction of a TCP connection: segments in any order, repeated, overlapping, with wrapping sequence numbers. Pure and bounded."""

from __future__ import annotations

from typing import Final

__all__ = ["BYTES_AHEAD_MAX", "HalfStream"]

BYTES_AHEAD_MAX: Final = 16 << 20
"""So many bytes are kept behind a gap. Beyond that, the capture has lost the gap, and the stream continues after it."""

_WRAP: Final = 1 << 32


class HalfStream:
    """Returns bytes in their order; `lost` counts those missing from the capture. Without a SYN, the stream begins at the first segment."""

    def __init__(self) -> None:
        self.lost = 0
        self._next: int | None = None
        self._ahead: dict[int, bytes] = {}

    def start(self, number: int) -> None:
        """Start at a SYN: the byte after it is the first."""
        self._next, self._ahead = (number + 1) % _WRAP, {}

    def feed(self, number: int, data: bytes) -> bytes:
        """Add a segment and return the bytes that are in order now."""
        if self._next is None:
            self._next = number
        if len(data) > len(self._ahead.get(number, b"")):
            self._ahead[number] = data
        got = self._drain()
        if sum(map(len, self._ahead.values())) > BYTES_AHEAD_MAX:
            self.skip()
            got += self._drain()
        return got

    def skip(self) -> None:
        """Skip the missing bytes."""
        if self._ahead and self._next is not None:
            nearest = min(self._ahead, key=self._distance)
            self.lost += self._distance(nearest)
            self._next = nearest

    def _distance(self, number: int) -> int:
        """Return how far ahead `number` is; more than half of the range ahead counts as behind."""
        assert self._next is not None
        ahead = (number - self._next) % _WRAP
        return ahead if ahead < _WRAP // 2 else ahead - _WRAP

    def _drain(self) -> bytes:
        assert self._next is not None
        parts = []
        while ready := [number for number in self._ahead if self._distance(number) <= 0]:
            for number in sorted(ready, key=self._distance):
                data = self._ahead.pop(number)
                new = data[-self._distance(number) :] if self._distance(number) else data
                parts.append(new)
                self._next = (self._next + len(new)) % _WRAP
        return b"".join(parts)

"""Which `consumer` subscriptions Apache Kafka's group coordinator cannot read: with one of them a join phase never completes.

Since 2.4 the coordinator reads the topics out of every member's bytes when it ends a join phase (KIP-496, `computeSubscribedTopics`). Bytes
that merely stop before a fixed-size field are forgiven (a SchemaException is caught there); a length that is negative or longer than what is
left raises what nobody catches, and the phase stays open. Measured on 4.1.0 and read in the generated reader of version 0.
"""

from __future__ import annotations

import struct

__all__ = ["breaks_the_reader", "topics_of"]


class _CutShort(Exception):
    """The bytes end before a fixed-size field."""


class _MalformedSubscription(Exception):
    """A length makes no sense."""


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def integer(self, form: str) -> int:
        size = struct.calcsize(form)
        if self._at + size > len(self._data):
            raise _CutShort
        (value,) = struct.unpack_from(form, self._data, self._at)
        self._at += size
        return int(value)

    def taken(self, length: int) -> bytes:
        if length < 0 or length > self.left:
            raise _MalformedSubscription
        self._at += length
        return self._data[self._at - length : self._at]

    @property
    def left(self) -> int:
        return len(self._data) - self._at


def breaks_the_reader(metadata: bytes) -> bool:
    """Tell whether these subscription bytes keep a join phase from completing."""
    try:
        _topics(metadata)
    except _CutShort:
        return False
    except _MalformedSubscription:
        return True
    return False


def topics_of(metadata: bytes) -> frozenset[str] | None:
    """Return the topics that a subscription names, None where its bytes cannot be read."""
    try:
        return frozenset(_topics(metadata))
    except (_CutShort, _MalformedSubscription):
        return None


def _topics(metadata: bytes) -> list[str]:
    """Read what every version begins with, as version 0 does."""
    reader = _Reader(metadata)
    reader.integer(">h")
    count = reader.integer(">i")
    if not 0 <= count <= reader.left:
        raise _MalformedSubscription
    topics = [reader.taken(reader.integer(">h")) for _ in range(count)]
    reader.taken(max(reader.integer(">i"), 0))  # user data
    return [topic.decode(errors="replace") for topic in topics]

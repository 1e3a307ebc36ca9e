"""Java's hash of a string. Kafka places groups by it, and the old consumer's round robin orders partitions by it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

__all__ = ["java_hash"]


@lru_cache(maxsize=65_536)
def java_hash(text: str) -> int:
    """Return `String.hashCode()`: over UTF-16 code units, a signed number of 32 bits."""
    code = 0
    for unit in text.encode() if text.isascii() else _units(text):
        code = (31 * code + unit) & 0xFFFFFFFF
    return code - 0x100000000 if code > 0x7FFFFFFF else code


def _units(text: str) -> Iterator[int]:
    units = text.encode("utf-16-be", "surrogatepass")
    return (int.from_bytes(units[index : index + 2], "big") for index in range(0, len(units), 2))

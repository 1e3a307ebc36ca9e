"""Kafka's message encoding, dictionaries to bytes and back, by functions made from shapes. It is safe on any bytes of a peer.

A `Shape` is one version of one message as data (`kafka_shapes.py` makes them from kio's copy of Kafka's schemas). The reader and the writer of a
shape are one Python function each. `codec_source.py` writes its text, field by field, like hand-written code. Rarely needed parts (lengths of several
bytes, tagged fields, errors) are functions here, which that text calls.

Every length is compared with the rest of the frame before any allocation, and a message may have at most `ENTRIES_MAX` array entries in total.
Source: Kafka's protocol guide, KIP-482 (flexible versions), KIP-893 (nullable structs).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

__all__ = [
    "ENTRIES_MAX", "NUMBERS", "SIZES", "Column", "MalformedBytes", "Reader", "Shape", "Writer", "read_tags", "read_uuid",
    "read_uvarint", "refused", "refused_count", "refused_length", "refused_number", "unknown_field", "uuid_bytes", "uvarint", "write_tags",
]  # fmt: skip

ENTRIES_MAX: Final = 100_000

Reader = Callable[[bytes, int, list[int]], tuple[Any, int]]
"""Maps `(frame, position, [entries left])` to the value and the position after it."""
Writer = Callable[[bytearray, Any], None]
"""Appends the value to the buffer."""


class MalformedBytes(ValueError):
    """Bytes that are not a message of the shape. `str()` gives the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One field. `kind` is Kafka's type (int32, string, bytes, uuid, bool, …), or "struct" with its `shape`. `tag` and `is_flexible`: KIP-482."""

    name: str
    kind: str
    is_array: bool = False
    is_nullable: bool = False
    is_flexible: bool = False
    tag: int | None = None
    default: Any = None
    shape: Shape | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One version of a message, or of a struct in it. `absent` has the defaults of fields that only other versions have.

    Its values are dictionaries, or instances of `message` where that is set: a class with some of these fields, none of them tagged.
    """

    title: str
    is_flexible: bool
    columns: tuple[Column, ...]
    absent: Mapping[str, Any] = field(default_factory=dict)
    message: type[Any] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Return the fields in the order of a dictionary that was read."""
        return tuple(dict.fromkeys((*self.absent, *(column.name for column in self.columns))))


NUMBERS: Final = {"int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint16": "H", "uint32": "I", "float64": "d"}
"""The letter of each kind of number in a `struct` format."""
SIZES: Final = {kind: struct.calcsize(f">{letter}") for kind, letter in NUMBERS.items()} | {"bool": 1, "uuid": 16}
"""The size of a value of each fixed kind, in bytes."""


# Reading


def read_tags(frame: bytes, at: int, left: list[int], tags: Mapping[int, tuple[str, Reader]], body: dict[str, Any]) -> int:
    """Read the tagged fields into `body` and return the position after them. Fields that are not in `tags` are skipped (KIP-482)."""
    count, at = read_uvarint(frame, at)
    for _ in range(count):
        tag, at = read_uvarint(frame, at)
        size, at = read_uvarint(frame, at)
        end = at + size
        if end > len(frame):
            raise MalformedBytes(f"tagged field {tag} of {size} bytes, but only {len(frame) - at} are left")
        if tag in tags:
            name, read = tags[tag]
            body[name], at = read(frame, at, left)
            if at != end:
                raise MalformedBytes(f"tagged field {name} does not end where its size of {size} bytes says")
        at = end
    return at


def refused_count(name: str, count: int, size_min: int, bytes_left: int) -> MalformedBytes:
    """Return the error for an array that cannot have `count` entries of at least `size_min` bytes, or exceeds the message's limit."""
    if count < 0:
        return MalformedBytes(f"{name} is an array of {count} entries")
    if count * size_min > bytes_left:
        return MalformedBytes(f"{name} is said to have {count} entries, but only {bytes_left} bytes are left")
    return MalformedBytes(f"more than {ENTRIES_MAX} array entries; {name} has {count}")


def refused_length(name: str, size: int, bytes_left: int) -> MalformedBytes:
    """Return the error for a text or bytes that cannot be `size` bytes long."""
    return MalformedBytes(f"{name} has a length of {size}" if size < 0 else f"{name} is said to have {size} bytes, but only {bytes_left} are left")


def read_uuid(frame: bytes, at: int) -> str | None:
    """Return the UUID at `at` as text, None for the zero one."""
    value = frame[at : at + 16]
    if len(value) < 16:
        raise IndexError
    text = value.hex()
    return None if value == _UUID_ZERO else f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def read_uvarint(frame: bytes, at: int) -> tuple[int, int]:
    """Return the variable-length integer at `at`, of at most five bytes, and the position after it."""
    byte = frame[at]
    if byte < 128:
        return byte, at + 1
    value = byte & 127
    for shift in (7, 14, 21, 28):
        at += 1
        byte = frame[at]
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at + 1
    raise MalformedBytes("a variable-length integer of more than 5 bytes")


# Writing


def write_tags(out: bytearray, body: Mapping[str, Any], tags: tuple[tuple[int, str, Any, Writer], ...]) -> None:
    """Append the tagged fields that differ from their default. `tags` are in the order of the tags."""
    present = [(tag, body[name], write) for tag, name, default, write in tags if body.get(name, default) != default]
    out += uvarint(len(present))
    for tag, value, write in present:
        encoded = bytearray()
        write(encoded, value)
        out += uvarint(tag) + uvarint(len(encoded)) + encoded


def uvarint(value: int) -> bytes:
    """Return `value` as a variable-length integer."""
    if value < 128:
        return _SMALL[value]
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def uuid_bytes(value: Any) -> bytes:
    """Return a UUID's 16 bytes, zeros for None; raise `ValueError` where it is not a UUID."""
    encoded = _UUID_ZERO if value is None else bytes.fromhex(str(value).replace("-", ""))
    if len(encoded) != len(_UUID_ZERO):
        raise ValueError(f"{value!r} is no UUID")
    return encoded


def unknown_field(title: str, body: Mapping[str, Any], names: frozenset[str]) -> ValueError:
    return ValueError(f"{title} has no field {', '.join(sorted(body.keys() - names))}")


def refused(name: str, value: Any) -> ValueError:
    """Return the error for a text or bytes that cannot be written."""
    return ValueError(f"{name} cannot be null" if value is None else f"{name} is too long: {len(value)} bytes")


def refused_number(error: Exception, *numbers: tuple[str, str, Any]) -> ValueError:
    """Return the error for the first of some numbers that cannot be written. Each has its name and its format letter."""
    for name, letter, value in numbers:
        try:
            struct.pack(f">{letter}", value)
        except struct.error as why:
            return ValueError(f"{name} cannot be {value!r}: {why}")
    return ValueError(str(error))


_UUID_ZERO: Final = bytes(16)
_SMALL: Final = tuple(bytes([value]) for value in range(128))

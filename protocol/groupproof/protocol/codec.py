"""Kafka's message encoding, compiled from shapes: plain dictionaries to bytes and back, safe on any bytes a peer may send.

A `Shape` is one version of one message as data (`wire.py` takes them from kio's copy of Kafka's schemas). Nothing here trusts a length:
it is compared with what is left of the frame before anything is allocated, and a message may hold `ENTRIES_MAX` array entries in all.
Source: Kafka's protocol guide, KIP-482 (flexible versions), KIP-893 (nullable structs).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

__all__ = ["ENTRIES_MAX", "Column", "Malformed", "Reader", "Shape", "Writer", "column_reader", "column_writer", "reader_of", "writer_of"]

ENTRIES_MAX: Final = 100_000

Reader = Callable[[bytes, int, list[int]], tuple[Any, int]]
"""`(frame, position, [entries left])` to the value and the position after it."""
Writer = Callable[[bytearray, Any], None]
"""Append the value to the buffer."""


class Malformed(ValueError):
    """Bytes that are no message of the shape; `str()` says what was met."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One field: `kind` is Kafka's type (int32, string, bytes, uuid, bool, …) or "struct", whose form is `shape`; `tag` and `is_flexible` as in KIP-482."""

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
    """One version of a message or of a struct in it; `absent` holds the defaults of fields that only other versions have."""

    title: str
    is_flexible: bool
    columns: tuple[Column, ...]
    absent: Mapping[str, Any] = field(default_factory=dict)


# Reading


def reader_of(shape: Shape) -> Reader:
    """Return the reader of `shape`: absent and default-valued fields are filled in, unknown tagged fields are skipped (KIP-482)."""
    columns = tuple((column.name, column_reader(column)) for column in shape.columns if column.tag is None)
    tags = {column.tag: (column.name, column_reader(column)) for column in shape.columns if column.tag is not None}
    defaults = {**shape.absent, **{column.name: column.default for column in shape.columns if column.tag is not None}}
    nested = tuple(name for name, value in defaults.items() if isinstance(value, dict))
    is_flexible = shape.is_flexible

    def read(frame: bytes, at: int, left: list[int]) -> tuple[dict[str, Any], int]:
        body = defaults.copy()
        for name in nested:
            body[name] = defaults[name].copy()
        for name, read_column in columns:
            body[name], at = read_column(frame, at, left)
        if not is_flexible:
            return body, at
        if frame[at] == 0:
            return body, at + 1
        return body, _read_tags(frame, at, left, tags, body)

    return read


def _read_tags(frame: bytes, at: int, left: list[int], tags: Mapping[int, tuple[str, Reader]], body: dict[str, Any]) -> int:
    count, at = _read_uvarint(frame, at)
    for _ in range(count):
        tag, at = _read_uvarint(frame, at)
        size, at = _read_uvarint(frame, at)
        end = at + size
        if end > len(frame):
            raise Malformed(f"tagged field {tag} of {size} bytes, but only {len(frame) - at} are left")
        if tag in tags:
            name, read = tags[tag]
            body[name], at = read(frame, at, left)
            if at != end:
                raise Malformed(f"tagged field {name} does not end where its size of {size} bytes says")
        at = end
    return at


def column_reader(column: Column) -> Reader:
    """Return the reader of one field alone."""
    if column.is_array:
        return _array_reader(column)
    if column.shape is None:
        return _value_reader(column)
    read = reader_of(column.shape)
    return _nullable_struct_reader(read) if column.is_nullable else read


def _entry(column: Column) -> Column:
    return replace(column, is_array=False, is_nullable=False)


def _size_min(column: Column) -> int:
    """Return how many bytes a value takes at least, so that a declared array length can be refused without reading on."""
    if column.is_array or column.shape is None:
        return 1 if column.is_array else _SIZES.get(column.kind, 1)
    return max(1, sum(_size_min(inner) for inner in column.shape.columns if inner.tag is None))


def _array_reader(column: Column) -> Reader:
    name, is_nullable, is_flexible = column.name, column.is_nullable, column.is_flexible
    read, size_min = column_reader(_entry(column)), _size_min(_entry(column))

    def read_array(frame: bytes, at: int, left: list[int]) -> tuple[tuple[Any, ...] | None, int]:
        if is_flexible:
            count, at = _read_uvarint(frame, at)
            count -= 1
        else:
            (count,) = _INT32.unpack_from(frame, at)
            at += 4
        if count < 0:
            if count == -1 and is_nullable:
                return None, at
            raise Malformed(f"{name} is an array of {count} entries")
        if count * size_min > len(frame) - at:
            raise Malformed(f"{name} is said to have {count} entries, but only {len(frame) - at} bytes are left")
        left[0] -= count
        if left[0] < 0:
            raise Malformed(f"more than {ENTRIES_MAX} array entries; {name} has {count}")
        entries = []
        for _ in range(count):
            entry, at = read(frame, at, left)
            entries.append(entry)
        return tuple(entries), at

    return read_array


def _nullable_struct_reader(read: Reader) -> Reader:
    def read_nullable(frame: bytes, at: int, left: list[int]) -> tuple[Any, int]:
        return (None, at + 1) if frame[at] > 127 else read(frame, at + 1, left)

    return read_nullable


def _value_reader(column: Column) -> Reader:
    if column.kind in _NUMBERS:
        return _number_reader(_NUMBERS[column.kind])
    if column.kind in _OTHER_READERS:
        return _OTHER_READERS[column.kind]
    return _compact_reader(column) if column.is_flexible else _legacy_reader(column)


def _number_reader(number: struct.Struct) -> Reader:
    unpack, size = number.unpack_from, number.size

    def read_number(frame: bytes, at: int, _: list[int]) -> tuple[Any, int]:
        return unpack(frame, at)[0], at + size

    return read_number


def _read_bool(frame: bytes, at: int, _: list[int]) -> tuple[bool, int]:
    return frame[at] != 0, at + 1


def _read_uuid(frame: bytes, at: int, _: list[int]) -> tuple[str | None, int]:
    value = frame[at : at + 16]
    if len(value) < 16:
        raise IndexError
    text = value.hex()
    return (None if value == _UUID_ZERO else f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"), at + 16


def _compact_reader(column: Column) -> Reader:
    name, is_nullable, is_text = column.name, column.is_nullable, column.kind == "string"

    def read_compact(frame: bytes, at: int, _: list[int]) -> tuple[Any, int]:
        size, at = (frame[at], at + 1) if frame[at] < 128 else _read_uvarint(frame, at)
        end = at + size - 1
        if size == 0 or end > len(frame):
            _refuse_unless_null(name, size - 1, len(frame) - at, is_nullable=is_nullable)
            return None, at
        return (frame[at:end].decode() if is_text else frame[at:end]), end

    return read_compact


def _legacy_reader(column: Column) -> Reader:
    name, is_nullable, is_text = column.name, column.is_nullable, column.kind == "string"
    length = _INT16 if is_text else _INT32
    unpack, width = length.unpack_from, length.size

    def read_legacy(frame: bytes, at: int, _: list[int]) -> tuple[Any, int]:
        size = unpack(frame, at)[0]
        at += width
        end = at + size
        if size < 0 or end > len(frame):
            _refuse_unless_null(name, size, len(frame) - at, is_nullable=is_nullable)
            return None, at
        return (frame[at:end].decode() if is_text else frame[at:end]), end

    return read_legacy


def _refuse_unless_null(name: str, size: int, left: int, *, is_nullable: bool) -> None:
    if size < 0:
        if size == -1 and is_nullable:
            return
        raise Malformed(f"{name} has a length of {size}")
    raise Malformed(f"{name} is said to have {size} bytes, but only {left} are left")


def _read_uvarint(frame: bytes, at: int) -> tuple[int, int]:
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
    raise Malformed("a variable-length integer of more than 5 bytes")


# Writing


def writer_of(shape: Shape) -> Writer:
    """Return the writer of `shape`: a missing field is written as its default, an unknown one raises `ValueError`."""
    columns = tuple((column.name, column.default, column_writer(column)) for column in shape.columns if column.tag is None)
    tagged = sorted((column for column in shape.columns if column.tag is not None), key=lambda column: column.tag or 0)
    tags = tuple((_uvarint(column.tag or 0), column.name, column.default, column_writer(column)) for column in tagged)
    known = frozenset(column.name for column in shape.columns) | shape.absent.keys()
    title, is_flexible = shape.title, shape.is_flexible

    def write(out: bytearray, body: Any) -> None:
        if not body.keys() <= known:
            raise ValueError(f"{title} has no field {', '.join(sorted(body.keys() - known))}")
        get = body.get
        for name, default, write_column in columns:
            write_column(out, get(name, default))
        if tags:
            _write_tags(out, body, tags)
        elif is_flexible:
            out.append(0)

    return write


def _write_tags(out: bytearray, body: Mapping[str, Any], tags: tuple[tuple[bytes, str, Any, Writer], ...]) -> None:
    present = [(tag, body[name], write) for tag, name, default, write in tags if body.get(name, default) != default]
    out += _uvarint(len(present))
    for tag, value, write in present:
        encoded = bytearray()
        write(encoded, value)
        out += tag
        out += _uvarint(len(encoded))
        out += encoded


def column_writer(column: Column) -> Writer:
    """Return the writer of one field alone."""
    if column.is_array:
        return _array_writer(column)
    if column.shape is None:
        return _value_writer(column)
    write = writer_of(column.shape)
    return _nullable_struct_writer(write) if column.is_nullable else write


def _array_writer(column: Column) -> Writer:
    name, is_nullable, is_flexible = column.name, column.is_nullable, column.is_flexible
    write = column_writer(_entry(column))

    def write_array(out: bytearray, entries: Any) -> None:
        if entries is None:
            if not is_nullable:
                raise ValueError(f"{name} cannot be null")
            out += b"\0" if is_flexible else _MINUS_ONE_32
            return
        out += _uvarint(len(entries) + 1) if is_flexible else _INT32.pack(len(entries))
        for entry in entries:
            write(out, entry)

    return write_array


def _nullable_struct_writer(write: Writer) -> Writer:
    def write_nullable(out: bytearray, body: Any) -> None:
        out += b"\xff" if body is None else b"\1"
        if body is not None:
            write(out, body)

    return write_nullable


def _value_writer(column: Column) -> Writer:
    if column.kind in _NUMBERS:
        return _number_writer(_NUMBERS[column.kind], column.name)
    if column.kind in _OTHER_WRITERS:
        return _OTHER_WRITERS[column.kind]
    return _bytes_writer(column)


def _number_writer(number: struct.Struct, name: str) -> Writer:
    pack = number.pack

    def write_number(out: bytearray, value: Any) -> None:
        try:
            out += pack(value)
        except struct.error as error:
            raise ValueError(f"{name} cannot be {value!r}: {error}") from None

    return write_number


def _write_bool(out: bytearray, value: Any) -> None:
    out.append(1 if value else 0)


def _write_uuid(out: bytearray, value: Any) -> None:
    encoded = _UUID_ZERO if value is None else bytes.fromhex(str(value).replace("-", ""))
    if len(encoded) != len(_UUID_ZERO):
        raise ValueError(f"{value!r} is no UUID")
    out += encoded


def _bytes_writer(column: Column) -> Writer:
    name, is_nullable, is_flexible, is_text = column.name, column.is_nullable, column.is_flexible, column.kind == "string"
    pack = _INT16.pack if is_text else _INT32.pack
    null = b"\0" if is_flexible else pack(-1)

    def write_bytes(out: bytearray, value: Any) -> None:
        if value is None:
            if not is_nullable:
                raise ValueError(f"{name} cannot be null")
            out += null
            return
        encoded = value.encode() if is_text else value
        try:
            out += _uvarint(len(encoded) + 1) if is_flexible else pack(len(encoded))
        except struct.error:
            raise ValueError(f"{name} is too long: {len(encoded)} bytes") from None
        out += encoded

    return write_bytes


def _uvarint(value: int) -> bytes:
    if value < 128:
        return _SMALL[value]
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_NUMBERS: Final = {
    "int8": struct.Struct(">b"), "int16": _INT16, "int32": _INT32, "int64": struct.Struct(">q"), "uint16": struct.Struct(">H"),
    "uint32": struct.Struct(">I"), "float64": struct.Struct(">d"),
}  # fmt: skip
_SIZES: Final = {kind: number.size for kind, number in _NUMBERS.items()} | {"bool": 1, "uuid": 16}
_OTHER_READERS: Final[dict[str, Reader]] = {"bool": _read_bool, "uuid": _read_uuid}
_OTHER_WRITERS: Final[dict[str, Writer]] = {"bool": _write_bool, "uuid": _write_uuid}
_UUID_ZERO: Final = bytes(16)
_MINUS_ONE_32: Final = b"\xff\xff\xff\xff"
_SMALL: Final = tuple(bytes([value]) for value in range(128))

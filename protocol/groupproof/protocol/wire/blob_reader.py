"""Reads the blobs of members in JoinGroup and SyncGroup. It compares every length with the remaining bytes. Pure."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, TypeVar

__all__ = ["BlobError", "BlobReader"]

_Item = TypeVar("_Item")


class BlobError(ValueError):
    """An invalid blob. `str()` gives the reason."""


class BlobReader:
    """A position in a blob. `title` names the blob in errors, `error` is their class."""

    def __init__(self, blob: bytes, title: str, error: type[BlobError] = BlobError) -> None:
        self._blob = blob
        self._title = title
        self._error = error
        self._at = 0

    @property
    def is_at_end(self) -> bool:
        return self._at == len(self._blob)

    def rest(self) -> bytes:
        """Return the unread bytes."""
        rest, self._at = self._blob[self._at :], len(self._blob)
        return rest

    def refuse(self, why: str) -> BlobError:
        return self._error(f"{self._title} {why}")

    def int8(self, name: str) -> int:
        return self._unpack(_INT8, name)

    def int16(self, name: str) -> int:
        return self._unpack(_INT16, name)

    def int32(self, name: str) -> int:
        return self._unpack(_INT32, name)

    def int64(self, name: str) -> int:
        return self._unpack(_INT64, name)

    def count(self, name: str, size_min: int) -> int:
        """Return the length of a list whose items have at least `size_min` bytes."""
        count = self.nullable_count(name, size_min)
        if count is None:
            raise self.refuse(f"with -1 {name}")
        return count

    def nullable_count(self, name: str, size_min: int) -> int | None:
        count = self.int32(name)
        left = len(self._blob) - self._at
        if count < -1 or count * size_min > left:
            raise self.refuse(f"with {count} {name} in {left} bytes")
        return None if count == -1 else count

    def listed(self, name: str, size_min: int, item: Callable[[], _Item]) -> tuple[_Item, ...]:
        """Return the items of a list."""
        return tuple(item() for _ in range(self.count(name, size_min)))

    def text(self, name: str) -> str:
        """Return a text with its length as int16 before it, as in Kafka's STRING and Java's writeUTF."""
        text = self.nullable_text(name)
        if text is None:
            raise self.refuse(f"whose {name} is null")
        return text

    def nullable_text(self, name: str) -> str | None:
        value = self._take(self._unpack(_INT16, name), name)
        return None if value is None else self._decoded(value, name)

    def nullable_bytes(self, name: str) -> bytes | None:
        return self._take(self.int32(name), name)

    def long_text(self, name: str) -> str:
        """Return a text with its length as int32 before it."""
        return self._decoded(self.nullable_bytes(name) or b"", name)

    def raw(self, size: int, name: str) -> bytes:
        value = self._take(size, name)
        return b"" if value is None else value

    def _decoded(self, value: bytes, name: str) -> str:
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise self.refuse(f"whose {name} is not UTF-8: {value!r}") from None

    def _unpack(self, number: struct.Struct, name: str) -> int:
        if len(self._blob) - self._at < number.size:
            raise self.refuse(f"ends before its {name}, after {len(self._blob)} bytes")
        value: int = number.unpack_from(self._blob, self._at)[0]
        self._at += number.size
        return value

    def _take(self, size: int, name: str) -> bytes | None:
        if size == -1:
            return None
        if size < 0 or size > len(self._blob) - self._at:
            raise self.refuse(f"whose {name} has {size} bytes, of {len(self._blob) - self._at} left")
        self._at += size
        return self._blob[self._at - size : self._at]


_INT8: Final = struct.Struct(">b")
_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_INT64: Final = struct.Struct(">q")

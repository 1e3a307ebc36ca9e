"""Decompresses and compresses batches of records with Kafka's codecs, by cramjam.

Source: Kafka's `CompressionType`, `SnappyFactory` (xerial's framing) and `Lz4BlockInputStream`; KAFKA-3160 for message format v0, whose LZ4 frames
have a wrong header checksum.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Final

import cramjam

__all__ = ["CODECS", "CompressionError", "compressed", "decompressed"]

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
"""The codecs, by their number in the attributes of a batch."""


class CompressionError(ValueError):
    """Bytes that the codec cannot read. `str()` names it."""


def decompressed(codec: int, payload: bytes, *, has_old_frame: bool = False) -> bytes:
    """Return the decompressed bytes; raise `CompressionError`. `has_old_frame` is for LZ4 in message format v0."""
    if codec == 0:
        return payload
    if codec >= len(CODECS):
        raise CompressionError(f"codec {codec} is none of {', '.join(CODECS)}")
    name = CODECS[codec]
    try:
        return _old_lz4(payload) if has_old_frame and name == "lz4" else _UNDO[name](payload)
    except (cramjam.DecompressionError, struct.error, IndexError, ValueError, OverflowError) as error:
        raise CompressionError(f"{name} cannot be undone: {error}") from error


def compressed(codec: int, payload: bytes) -> bytes:
    """Return `payload` as a producer compresses it. Snappy has xerial's framing, as in Java."""
    return _DO[CODECS[codec]](payload)


def _undo_snappy(payload: bytes) -> bytes:
    if not payload.startswith(_XERIAL):
        return bytes(cramjam.snappy.decompress_raw(payload))
    out, at = bytearray(), len(_XERIAL) + 8
    while at < len(payload):
        (size,) = _INT32.unpack_from(payload, at)
        if size < 0 or at + 4 + size > len(payload):
            raise ValueError(f"a chunk of {size} bytes, with {len(payload) - at - 4} left")
        out += bytes(cramjam.snappy.decompress_raw(payload[at + 4 : at + 4 + size]))
        at += 4 + size
    return bytes(out)


def _do_snappy(payload: bytes) -> bytes:
    chunk = bytes(cramjam.snappy.compress_raw(payload))
    return _XERIAL + struct.pack(">ii", 1, 1) + _INT32.pack(len(chunk)) + chunk


def _old_lz4(frame: bytes) -> bytes:
    """Return an LZ4 frame's content without a check of the header's checksum."""
    flags, block_max = frame[4], 1 << (8 + 2 * (frame[5] >> 4 & 7))
    at, out, buffer = 7 + (8 if flags & 8 else 0), bytearray(), bytearray(block_max)
    while size := int.from_bytes(frame[at : at + 4], "little"):
        is_plain, size = bool(size & _PLAIN_BLOCK), size & ~_PLAIN_BLOCK
        block = frame[at + 4 : at + 4 + size]
        out += block if is_plain else buffer[: cramjam.lz4.decompress_block_into(block, buffer)]
        at += 4 + size + (4 if flags & 16 else 0)
    return bytes(out)


_INT32: Final = struct.Struct(">i")
_XERIAL: Final = b"\x82SNAPPY\0"
_PLAIN_BLOCK: Final = 1 << 31
_UNDO: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "gzip": lambda payload: bytes(cramjam.gzip.decompress(payload)),
    "snappy": _undo_snappy,
    "lz4": lambda payload: bytes(cramjam.lz4.decompress(payload)),
    "zstd": lambda payload: bytes(cramjam.zstd.decompress(payload)),
}
_DO: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "none": bytes,
    "gzip": lambda payload: bytes(cramjam.gzip.compress(payload)),
    "snappy": _do_snappy,
    "lz4": lambda payload: bytes(cramjam.lz4.compress(payload)),
    "zstd": lambda payload: bytes(cramjam.zstd.compress(payload)),
}

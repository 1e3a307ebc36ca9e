"""Reads everything that a partition's log may contain, of any release: message formats v0, v1 and v2, compressed or not.

The bytes come from the disk or a Fetch answer. Source: Kafka's `DefaultRecordBatch`, `LegacyRecord`, `ByteBufferLogInputStream` and
`ControlRecordType`. `records.py` has the one format that the kit writes. Here speed matters. A broken batch is yielded with its reason, and reading
continues after it.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from mmap import mmap
from typing import Final, NamedTuple

from crc32c import crc32c

from groupproof.protocol.wire.compression import CompressionError, decompressed

__all__ = ["BrokenBatch", "LogBatch", "LogRecord", "read_log"]

LogRecord = tuple[int, int, bytes | None, bytes | None]
"""Offset, timestamp in ms, key, value. A tuple, because there are millions of them."""


class LogBatch(NamedTuple):
    """The records of one append. A `marker` (`COMMIT`, `ABORT` or another control type) ends a transaction, and has no records."""

    base_offset: int
    last_offset: int
    magic: int
    codec: int
    producer_id: int
    is_transactional: bool
    timestamp_ms: int
    marker: str | None
    records: list[LogRecord]


class BrokenBatch(NamedTuple):
    """`size` bytes that are not a batch. `is_cut` marks a truncated batch, as at the end of a Fetch answer or of an active segment."""

    offset: int
    size: int
    why: str
    is_cut: bool = False


def read_log(blob: bytes | mmap) -> Iterator[LogBatch | BrokenBatch]:
    """Yield the batches in order. After an impossible length the rest is one broken batch, because the next start is unknown."""
    at, end = 0, len(blob)
    while end - at > _MAGIC_AT:
        offset, size = _ENTRY.unpack_from(blob, at)
        after = at + _ENTRY.size + size
        if size == 0 and not blob[at:].strip(b"\0"):
            return  # a preallocated segment has zeros after its last batch (log.preallocate)
        if size < _SIZE_MIN:
            yield BrokenBatch(offset, end - at, f"a batch of {size} bytes")
            return
        if after > end:
            break
        yield from _read(blob[at:after], offset)
        at = after
    if at < end:
        yield BrokenBatch(-1, end - at, "the last batch is cut off", is_cut=True)


def _read(batch: bytes, offset: int) -> Iterator[LogBatch | BrokenBatch]:
    """Yield the batch, or the entry of an old format."""
    magic = batch[_MAGIC_AT]
    try:
        if magic == _NEWEST:
            yield _read_batch(batch, offset)
        elif magic < _NEWEST:
            yield _read_entry(batch, offset, magic)
        else:
            yield BrokenBatch(offset, len(batch), f"message format v{magic}")
    except CompressionError as error:
        yield BrokenBatch(offset, len(batch), str(error))
    except (IndexError, struct.error, _Broken) as error:
        yield BrokenBatch(offset, len(batch), f"a record is broken: {error}")


class _Broken(ValueError):
    """A record that does not match its size."""


# Format v2


def _read_batch(batch: bytes, base_offset: int) -> LogBatch | BrokenBatch:
    (checksum,) = _CHECKSUM.unpack_from(batch, _MAGIC_AT + 1)
    if crc32c(memoryview(batch)[_CHECKED_AT:]) != checksum:
        return BrokenBatch(base_offset, len(batch), "the checksum is another")
    attributes, last_delta, first_ms, last_ms, producer_id, _, _, count = _HEADER.unpack_from(batch, _CHECKED_AT)
    codec = attributes & 0x07
    if not 0 <= count <= last_delta + 1:
        return BrokenBatch(base_offset, len(batch), f"{count} records in {last_delta + 1} offsets")
    payload = decompressed(codec, batch[_CHECKED_AT + _HEADER.size :])
    records = _read_records(payload, count, base_offset, first_ms)
    if attributes & _LOG_APPEND_TIME:
        records = [(offset, last_ms, key, value) for offset, _, key, value in records]
    marker = None
    if attributes & _CONTROL:
        marker, records = _marker(records), []
    return LogBatch(
        base_offset, base_offset + last_delta, _NEWEST, codec, producer_id, bool(attributes & _TRANSACTIONAL), last_ms, marker, records
    )  # fmt: skip


def _marker(records: list[LogRecord]) -> str:
    key = records[0][2] if records else None
    if key is None or len(key) < 4:
        return "UNKNOWN"
    kind = int.from_bytes(key[2:4], "big", signed=True)
    return _MARKERS.get(kind, f"type {kind}")


def _read_records(payload: bytes, count: int, base_offset: int, base_ms: int) -> list[LogRecord]:
    """Return the records. Numbers of one byte, which are the most frequent, are read inline."""
    records: list[LogRecord] = []
    at, end = 0, len(payload)
    for _ in range(count):
        size, at = _varint(payload, at)
        stop = at + size
        if size < 0 or stop > end:
            raise _Broken(f"{size} bytes, with {end - at} left")
        at += 1  # attributes, unused
        byte = payload[at]
        if byte < 128:
            ms, at = (byte >> 1) ^ -(byte & 1), at + 1
        else:
            ms, at = _varint(payload, at)
        byte = payload[at]
        if byte < 128:
            delta, at = byte >> 1, at + 1
        else:
            delta, at = _varint(payload, at)
        key, at = _sized(payload, at, stop)
        value, at = _sized(payload, at, stop)
        # Headers follow, which the coordinators do not write.
        records.append((base_offset + delta, base_ms + ms, key, value))
        at = stop
    if at != end:
        raise _Broken(f"{end - at} bytes behind {count} records")
    return records


def _sized(payload: bytes, at: int, stop: int) -> tuple[bytes | None, int]:
    byte = payload[at]
    if byte < 128:
        size, at = (byte >> 1) ^ -(byte & 1), at + 1
    else:
        size, at = _varint(payload, at)
    if size < 0:
        return None, at
    if at + size > stop:
        raise _Broken(f"{size} bytes of a key or value, with {stop - at} left")
    return payload[at : at + size], at + size


def _varint(payload: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = payload[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return (value >> 1) ^ -(value & 1), at
        shift += 7
        if shift > _SHIFT_MAX:
            raise _Broken("a variable-length integer of more than 10 bytes")


# Formats v0 and v1


def _read_entry(entry: bytes, offset: int, magic: int) -> LogBatch | BrokenBatch:
    """Read one entry of a message set. A compressed one contains another message set (KIP-31: with relative offsets from v1 on)."""
    (checksum,) = _CHECKSUM.unpack_from(entry, _ENTRY.size)
    if zlib.crc32(memoryview(entry)[_MAGIC_AT:]) != checksum:
        return BrokenBatch(offset, len(entry), "the checksum is another")
    attributes, ms, key, value = _message(entry, magic)
    codec = attributes & 0x07
    records = [(offset, ms, key, value)]
    if codec:
        if value is None:
            return BrokenBatch(offset, len(entry), "it is compressed and holds nothing")
        inner = list(_inner(decompressed(codec, value, has_old_frame=magic == 0)))
        shift = offset - inner[-1][0] if magic and inner else 0
        has_wrapper_time = magic and attributes & _LOG_APPEND_TIME
        records = [(place + shift, ms if has_wrapper_time else own_ms, key, value) for place, own_ms, key, value in inner]
    first = records[0][0] if records else offset
    return LogBatch(first, offset, magic, codec, -1, is_transactional=False, timestamp_ms=ms, marker=None, records=records)


def _message(entry: bytes, magic: int) -> tuple[int, int, bytes | None, bytes | None]:
    attributes, at, ms = entry[_MAGIC_AT + 1], _MAGIC_AT + 2, -1
    if magic:
        (ms,) = _INT64.unpack_from(entry, at)
        at += 8
    key, at = _long_sized(entry, at)
    value, _ = _long_sized(entry, at)
    return attributes, ms, key, value


def _inner(blob: bytes) -> Iterator[LogRecord]:
    at = 0
    while at < len(blob):
        offset, size = _ENTRY.unpack_from(blob, at)
        end = at + _ENTRY.size + size
        if size < _SIZE_MIN or end > len(blob):
            raise _Broken(f"a message of {size} bytes within a compressed one")
        entry = blob[at:end]
        _, ms, key, value = _message(entry, entry[_MAGIC_AT])
        yield offset, ms, key, value
        at = end


def _long_sized(entry: bytes, at: int) -> tuple[bytes | None, int]:
    (size,) = _INT32.unpack_from(entry, at)
    if size < 0:
        return None, at + 4
    if at + 4 + size > len(entry):
        raise _Broken(f"{size} bytes of a key or value, with {len(entry) - at - 4} left")
    return entry[at + 4 : at + 4 + size], at + 4 + size


# All formats begin with offset and length. Then v2 has the leader's epoch, and v0 and v1 have their checksum. The format is at the same place in all.
_ENTRY: Final = struct.Struct(">qi")
_INT32: Final = struct.Struct(">i")
_INT64: Final = struct.Struct(">q")
_CHECKSUM: Final = struct.Struct(">I")
_MAGIC_AT: Final = 16
_SIZE_MIN: Final = 14
_NEWEST: Final = 2
_CHECKED_AT: Final = 21
# Attributes, last offset delta, first and last timestamp, producer id and epoch, base sequence, count.
_HEADER: Final = struct.Struct(">hiqqqhii")
_LOG_APPEND_TIME: Final = 0x08
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20
_MARKERS: Final = {0: "ABORT", 1: "COMMIT"}
_SHIFT_MAX: Final = 63

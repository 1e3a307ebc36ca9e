"""Record batches of format v2: written for Fetch answers, and read as far as traces and the reference consumer need it.

Source: Kafka's `DefaultRecordBatch` and `DefaultRecord`. The checksum is CRC-32C over everything from the attributes on, so a broker can set a
batch's base offset and leader epoch without changing it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from crc32c import crc32c

__all__ = ["Batch", "Record", "RecordsError", "encode_batch", "placed", "read_batches", "record_count"]


class RecordsError(ValueError):
    """Bytes that are not a record batch. `str()` gives the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record. `offset` and `timestamp_ms` are absolute."""

    offset: int
    timestamp_ms: int
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The fields of a batch's header. The records of a batch with `is_compressed` are not read."""

    base_offset: int
    last_offset: int
    count: int
    leader_epoch: int
    producer_id: int
    is_compressed: bool
    is_transactional: bool
    is_control: bool
    _base_timestamp: int
    _payload: bytes

    def records(self) -> Iterator[Record]:
        """Yield the records; raise `RecordsError` for a compressed batch, or for records that do not match the header."""
        if self.is_compressed:
            raise RecordsError(f"the batch at offset {self.base_offset} is compressed: its records are not read here")
        at = 0
        try:
            for _ in range(self.count):
                record, at = _read_record(self._payload, at, self.base_offset, self._base_timestamp)
                yield record
        except (IndexError, UnicodeDecodeError) as error:
            raise RecordsError(f"the batch at offset {self.base_offset} holds a broken record: {error}") from None
        if at != len(self._payload):
            raise RecordsError(f"the batch at offset {self.base_offset} holds {len(self._payload) - at} bytes after its {self.count} records")


def encode_batch(records: Sequence[Record], *, leader_epoch: int = 0) -> bytes:
    """Return one uncompressed batch of records, which are in the order of their offsets; raise `ValueError` where there are none."""
    if not records:
        raise ValueError("a batch holds at least one record")
    base_offset, base_timestamp = records[0].offset, records[0].timestamp_ms
    body = b"".join(_encoded_record(record, base_offset, base_timestamp) for record in records)
    checked = _CHECKED.pack(
        0, records[-1].offset - base_offset, base_timestamp, max(record.timestamp_ms for record in records), -1, -1, -1, len(records)
    )
    length = _HEADER.size - _LENGTH_ENDS + _CHECKED.size + len(body)
    return _HEADER.pack(base_offset, length, leader_epoch, _MAGIC, crc32c(checked + body)) + checked + body


def read_batches(blob: bytes) -> Iterator[Batch]:
    """Yield the batches without a truncated last one, which a Fetch answer may have. Raises `RecordsError` for a broken one."""
    at = 0
    while len(blob) - at >= _HEADER.size + _CHECKED.size:
        length = int.from_bytes(blob[at + 8 : at + _LENGTH_ENDS], "big", signed=True)
        end = at + _LENGTH_ENDS + length
        if end < at + _HEADER.size + _CHECKED.size:
            raise RecordsError(f"a record batch of {length} bytes is shorter than its header")
        if end > len(blob):
            return
        yield _read_batch(blob, at, end)
        at = end


def record_count(blob: bytes) -> int:
    """Return the number of records in the whole batches of a Produce request or Fetch answer, compressed or not."""
    return sum(batch.count for batch in read_batches(blob))


def placed(blob: bytes, base_offset: int, *, leader_epoch: int = 0) -> bytes:
    """Return the batches with consecutive offsets from `base_offset` on, as a log stores them."""
    out, at = bytearray(blob), 0
    for batch in read_batches(blob):
        length = int.from_bytes(blob[at + 8 : at + _LENGTH_ENDS], "big")
        struct.pack_into(">q", out, at, base_offset)
        struct.pack_into(">i", out, at + _LENGTH_ENDS, leader_epoch)
        base_offset += batch.last_offset - batch.base_offset + 1
        at += _LENGTH_ENDS + length
    return bytes(out[:at])


def _read_batch(blob: bytes, at: int, end: int) -> Batch:
    base_offset, _, leader_epoch, magic, checksum = _HEADER.unpack_from(blob, at)
    if magic != _MAGIC:
        raise RecordsError(f"the batch at offset {base_offset} has format v{magic}; only v{_MAGIC} is read")
    body_at = at + _HEADER.size
    if crc32c(blob[body_at:end]) != checksum:
        raise RecordsError(f"the batch at offset {base_offset} does not match its checksum {checksum:#010x}")
    attributes, last_delta, base_timestamp, _, producer_id, _, _, count = _CHECKED.unpack_from(blob, body_at)
    payload = blob[body_at + _CHECKED.size : end]
    if not 0 <= count <= last_delta + 1:
        raise RecordsError(f"the batch at offset {base_offset} says {count} records up to offset {base_offset + last_delta}")
    return Batch(
        base_offset=base_offset,
        last_offset=base_offset + last_delta,
        count=count,
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        is_compressed=bool(attributes & 0x07),
        is_transactional=bool(attributes & 0x10),
        is_control=bool(attributes & 0x20),
        _base_timestamp=base_timestamp,
        _payload=payload,
    )


def _encoded_record(record: Record, base_offset: int, base_timestamp: int) -> bytes:
    body = bytearray(b"\0")  # attributes, unused
    body += _varint(record.timestamp_ms - base_timestamp)
    body += _varint(record.offset - base_offset)
    body += _sized(record.key) + _sized(record.value)
    body += _varint(len(record.headers))
    for name, value in record.headers:
        body += _sized(name.encode()) + _sized(value)
    return _varint(len(body)) + bytes(body)


def _read_record(payload: bytes, at: int, base_offset: int, base_timestamp: int) -> tuple[Record, int]:
    size, at = _read_varint(payload, at)
    end = at + size
    if size < 0 or end > len(payload):
        raise IndexError(f"it claims {size} bytes of {len(payload) - at}")
    timestamp_delta, at = _read_varint(payload, at + 1)
    offset_delta, at = _read_varint(payload, at)
    key, at = _read_sized(payload, at)
    value, at = _read_sized(payload, at)
    header_count, at = _read_varint(payload, at)
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(header_count):
        name, at = _read_sized(payload, at)
        header, at = _read_sized(payload, at)
        headers.append(((name or b"").decode(), header))
    if at != end:
        raise IndexError("it does not end where its size says")
    return (
        Record(offset=base_offset + offset_delta, timestamp_ms=base_timestamp + timestamp_delta, key=key, value=value, headers=tuple(headers)),
        end,
    )


def _sized(value: bytes | None) -> bytes:
    return _varint(-1) if value is None else _varint(len(value)) + value


def _read_sized(payload: bytes, at: int) -> tuple[bytes | None, int]:
    size, at = _read_varint(payload, at)
    if size < 0:
        return None, at
    if at + size > len(payload):
        raise IndexError(f"it claims {size} bytes of {len(payload) - at}")
    return payload[at : at + size], at + size


def _varint(value: int) -> bytes:
    """Encode with zig-zag, as Protocol Buffers do."""
    rest = (value << 1) ^ (value >> 63)
    out = bytearray()
    while rest > 127:
        out.append(rest & 127 | 128)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def _read_varint(payload: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = payload[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return (value >> 1) ^ -(value & 1), at
    raise IndexError("a variable-length integer of more than 10 bytes")


_MAGIC: Final = 2
_LENGTH_ENDS: Final = 12
# base offset, length, leader epoch, magic, checksum; then, under the checksum: attributes, last offset delta, first and last timestamp,
# producer id, producer epoch, base sequence, count.
_HEADER: Final = struct.Struct(">qiibI")
_CHECKED: Final = struct.Struct(">hiqqqhii")

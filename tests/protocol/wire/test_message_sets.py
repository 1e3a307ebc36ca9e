"""Records in the formats of brokers before 0.11, as old versions of Fetch carry them."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import pytest

from groupproof.protocol.wire.message_sets import message_set
from groupproof.protocol.wire.records import Record, encode_batch

RECORDS = [
    Record(offset=4, timestamp_ms=1_000, key=b"k", value=b"four"),
    Record(offset=5, timestamp_ms=1_001, key=None, value=b"five", headers=(("h", b"x"),)),
    Record(offset=6, timestamp_ms=1_002, key=b"", value=None),
]
BATCHES = encode_batch(RECORDS[:2]) + encode_batch(RECORDS[2:])

Entry = tuple[int, int, int | None, bytes | None, bytes | None]


def _entries(blob: bytes) -> Iterator[Entry]:
    """Yield offset, format, timestamp, key and value, read as a client of that time does; the checksum must fit."""
    while blob:
        offset, size = struct.unpack_from(">qi", blob)
        message, blob = blob[12 : 12 + size], blob[12 + size :]
        (checksum,) = struct.unpack_from(">I", message)
        assert checksum == zlib.crc32(message[4:])
        magic, at = message[4], 6
        (timestamp,) = struct.unpack_from(">q", message, at) if magic else (None,)
        key, at = _bytes(message, at + 8 * magic)
        value, at = _bytes(message, at)
        assert at == len(message)
        yield offset, magic, timestamp, key, value


def _bytes(message: bytes, at: int) -> tuple[bytes | None, int]:
    (size,) = struct.unpack_from(">i", message, at)
    return (None, at + 4) if size < 0 else (message[at + 4 : at + 4 + size], at + 4 + size)


@pytest.mark.parametrize(
    ("version", "magic", "times"), [(0, 0, [None] * 3), (1, 0, [None] * 3), (2, 1, [1_000, 1_001, 1_002]), (3, 1, [1_000, 1_001, 1_002])]
)
def test_each_record_is_an_entry_of_its_own_with_a_time_since_v2(version: int, magic: int, times: list[int | None]) -> None:
    entries = list(_entries(message_set(BATCHES, first_offset=0, fetch_version=version)))

    assert entries == [(record.offset, magic, time, record.key, record.value) for record, time in zip(RECORDS, times, strict=True)]


def test_a_batch_that_begins_before_the_asked_offset_is_cut() -> None:
    assert [offset for offset, *_ in _entries(message_set(BATCHES, first_offset=5, fetch_version=1))] == [5, 6]


def test_nothing_makes_an_empty_set() -> None:
    assert message_set(b"", first_offset=0, fetch_version=1) == b""

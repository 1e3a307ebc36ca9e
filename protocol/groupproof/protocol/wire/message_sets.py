"""Converts batches to message sets, the format of brokers before 0.11, for clients that use Fetch v0 to v3.

Source: Kafka's `RecordsUtil.downConvert`, `LegacyRecord`. Each record is an entry with its own CRC-32. Format v0 has no timestamp, and neither format
has headers. Compressed batches are left out: the kit writes none.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final

from groupproof.protocol.wire.records import Record, read_batches

__all__ = ["MESSAGE_SETS_UNTIL", "message_set"]

MESSAGE_SETS_UNTIL: Final = 3
"""The last version of Fetch whose answers have message sets (KIP-98 brought batches with v4)."""

_TIMESTAMPS_SINCE: Final = 2
_ENTRY: Final = struct.Struct(">qi")
_CHECKED: Final = struct.Struct(">I")


def message_set(batches: bytes, *, first_offset: int, fetch_version: int) -> bytes:
    """Return the records from `first_offset` on, in the format of this Fetch version (KIP-32: timestamps from v2 on)."""
    has_timestamps = fetch_version >= _TIMESTAMPS_SINCE
    records = (record for batch in read_batches(batches) if not batch.is_compressed for record in batch.records())
    return b"".join(_entry(record, has_timestamps=has_timestamps) for record in records if record.offset >= first_offset)


def _entry(record: Record, *, has_timestamps: bool) -> bytes:
    head = struct.pack(">bbq", 1, 0, record.timestamp_ms) if has_timestamps else struct.pack(">bb", 0, 0)
    message = head + _sized(record.key) + _sized(record.value)
    return _ENTRY.pack(record.offset, _CHECKED.size + len(message)) + _CHECKED.pack(zlib.crc32(message)) + message


def _sized(value: bytes | None) -> bytes:
    return struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value

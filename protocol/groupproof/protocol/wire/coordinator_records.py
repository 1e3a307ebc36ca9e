"""Converts the records of `__consumer_offsets`, of every release, to plain dictionaries and back.

Source: Kafka's `GroupMetadataManager` (up to 3.9) and `GroupCoordinatorRecordSerde`. A key begins with its record type, a value with its version.
Most records are commits, of which a large cluster writes tens of thousands a second: they do not use the generic reader. Pure.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

from groupproof.protocol.wire.codec import ENTRIES_MAX, MalformedBytes, Reader, Writer
from groupproof.protocol.wire.codec_source import reader_of, writer_of
from groupproof.protocol.wire.coordinator_shapes import RecordForm, record_forms

__all__ = ["OFFSET_COMMIT", "CoordinatorRecord", "UnreadableRecord", "decode_commit", "decode_record", "encode_record"]

OFFSET_COMMIT: Final = "OffsetCommit"
_KEYS_MAX: Final = 1 << 18


class UnreadableRecord(ValueError):
    """A record that cannot be read. `reason` is a short name for counters, `str()` the description."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class CoordinatorRecord(NamedTuple):
    """One record. Without a `value` it is a tombstone: it deletes the key, and `version` is None."""

    name: str
    number: int
    version: int | None
    key: dict[str, Any]
    value: dict[str, Any] | None


def decode_record(key: bytes | None, value: bytes | None) -> CoordinatorRecord:
    """Return the record; raise `UnreadableRecord` for a type or version that no release has, and for broken bytes."""
    if key is None or len(key) < 2:
        raise UnreadableRecord("no key", "a record without a key")
    number = key[0] << 8 | key[1]
    if number <= _COMMITS_UNTIL:
        return _commit(key, value, number)
    form = _form(number)
    named = _read(form.name, "key", _readers(number, None), key)
    if value is None:
        return CoordinatorRecord(form.name, number, None, named, None)
    version = _version(form.name, value)
    return CoordinatorRecord(form.name, number, version, named, _value(form, version, value))


def decode_commit(key: bytes | None, value: bytes | None) -> tuple[str, str, int, int] | None:
    """Return group, topic, partition and offset of a commit; None for any other record, a tombstone or an unreadable one."""
    if key is None or value is None or len(key) < 2 or key[0] or key[1] > _COMMITS_UNTIL:
        return None
    try:
        named, (_, read) = _commit_key(key), _versioned_commit(value)
    except UnreadableRecord:
        return None
    return named["group"], named["topic"], named["partition"], read["offset"]


def encode_record(name: str, key: Mapping[str, Any], value: Mapping[str, Any] | None, version: int = 0) -> tuple[bytes, bytes | None]:
    """Return the bytes of a record in the newest form of `version`; raise `ValueError` for fields that it does not have."""
    form = _by_name()[name]
    out = bytearray(_INT16.pack(form.number))
    _writer(form.number, None)(out, key)
    if value is None:
        return bytes(out), None
    body = bytearray(_INT16.pack(version))
    _writer(form.number, version)(body, value)
    return bytes(out), bytes(body)


# Commits


def _commit(key: bytes, value: bytes | None, number: int) -> CoordinatorRecord:
    named = _commit_key(key)
    if value is None:
        return CoordinatorRecord(OFFSET_COMMIT, number, None, named, None)
    version, read = _versioned_commit(value)
    return CoordinatorRecord(OFFSET_COMMIT, number, version, named, read)


def _versioned_commit(value: bytes) -> tuple[int, dict[str, Any]]:
    version = _version(OFFSET_COMMIT, value)
    if 0 <= version < _FLEXIBLE_SINCE:
        return version, _commit_value(value, version)
    return version, _value(_form(_COMMITS_UNTIL), version, value)


@lru_cache(maxsize=_KEYS_MAX)
def _commit_key(key: bytes) -> dict[str, Any]:
    """Return group, topic and partition. Each commit of a partition has the same key, so the result is cached and must not be changed."""
    try:
        at = 4 + (key[2] << 8 | key[3])
        topic_at = at + 2
        end = topic_at + (key[at] << 8 | key[at + 1])
        (partition,) = _INT32.unpack_from(key, end)
        group, topic = key[4:at].decode(), key[topic_at:end].decode()
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise UnreadableRecord(f"broken {OFFSET_COMMIT}", f"a broken key of {OFFSET_COMMIT}: {error}") from error
    if end + 4 != len(key):
        raise UnreadableRecord(f"broken {OFFSET_COMMIT}", f"a broken key of {OFFSET_COMMIT}: {len(key) - end - 4} bytes are left")
    return {"group": group, "topic": topic, "partition": partition}


def _commit_value(value: bytes, version: int) -> dict[str, Any]:
    """Read offset, leader epoch (v3), metadata, commit time and expiry (v1)."""
    try:
        leader_epoch, expires_ms = -1, -1
        if version == _LEADER_EPOCH_IN:
            _, offset, leader_epoch, size = _COMMIT_3.unpack_from(value)
            at = _COMMIT_3.size
        else:
            _, offset, size = _COMMIT_0.unpack_from(value)
            at = _COMMIT_0.size
        end = at + size
        (committed_ms,) = _INT64.unpack_from(value, end)
        metadata = value[at:end].decode() if size else ""
        end += 8
        if version == _EXPIRY_IN:
            (expires_ms,) = _INT64.unpack_from(value, end)
            end += 8
    except (struct.error, UnicodeDecodeError) as error:
        raise UnreadableRecord(f"broken {OFFSET_COMMIT}", f"a broken value v{version} of {OFFSET_COMMIT}: {error}") from error
    if end != len(value):
        raise UnreadableRecord(f"broken {OFFSET_COMMIT}", f"a broken value v{version} of {OFFSET_COMMIT}: {len(value) - end} bytes are left")
    return {
        "offset": offset, "leader_epoch": leader_epoch, "metadata": metadata, "commit_timestamp": committed_ms, "expire_timestamp": expires_ms,
        "topic_id": None,
    }  # fmt: skip


# All others


def _version(name: str, value: bytes) -> int:
    if len(value) < 2:
        raise UnreadableRecord(f"broken {name}", f"a value of {name} of {len(value)} bytes")
    version = value[0] << 8 | value[1]
    return version if version < 0x8000 else version - 0x10000


def _form(number: int) -> RecordForm:
    form = record_forms().get(number)
    if form is None:
        raise UnreadableRecord(f"type {number}", f"a record of type {number}, which no release up to 4.4 writes")
    return form


def _value(form: RecordForm, version: int, value: bytes) -> dict[str, Any]:
    if version not in form.values:
        raise UnreadableRecord(f"{form.name} v{version}", f"a value of {form.name} in version {version}, which no release up to 4.4 writes")
    return _read(form.name, f"value v{version}", _readers(form.number, version), value)


@cache
def _readers(number: int, version: int | None) -> tuple[Reader, ...]:
    """Return the readers of a value, or of a key where `version` is None."""
    form = record_forms()[number]
    shapes = (form.key,) if version is None else form.values[version]
    return tuple(reader_of(shape) for shape in shapes)


@cache
def _writer(number: int, version: int | None) -> Writer:
    form = record_forms()[number]
    return writer_of(form.key if version is None else form.values[version][0])


@cache
def _by_name() -> Mapping[str, RecordForm]:
    return {form.name: form for form in record_forms().values()}


def _read(name: str, side: str, readers: tuple[Reader, ...], blob: bytes) -> dict[str, Any]:
    """Return the result of the first reader that reads all bytes after the first two."""
    failure = ""
    for read in readers:
        try:
            body, at = read(blob, 2, [ENTRIES_MAX])
        except (MalformedBytes, IndexError, struct.error, UnicodeDecodeError) as error:
            failure = failure or str(error) or type(error).__name__
            continue
        if at == len(blob):
            found: dict[str, Any] = body
            return found
        failure = failure or f"{len(blob) - at} bytes are left"
    raise UnreadableRecord(f"broken {name}", f"a broken {side} of {name}: {failure}")


_COMMITS_UNTIL: Final = 1  # type 0 is the key of a commit in 0.8.2, type 1 in all later releases
_LEADER_EPOCH_IN: Final = 3  # KIP-320
_EXPIRY_IN: Final = 1  # KIP-211 removed it again
_FLEXIBLE_SINCE: Final = 4
_COMMIT_3: Final = struct.Struct(">hqiH")  # version, offset, leader epoch, size of the metadata
_COMMIT_0: Final = struct.Struct(">hqH")
_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_INT64: Final = struct.Struct(">q")

"""Records of the offsets topic: what is written is read again, in every version, and what no release writes is named and harms nothing."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.protocol.wire.drawn_records import records

from groupproof.protocol.wire.codec_source import writer_of
from groupproof.protocol.wire.coordinator_records import OFFSET_COMMIT, UnreadableRecord, decode_commit, decode_record, encode_record
from groupproof.protocol.wire.coordinator_shapes import record_forms

COMMIT_KEY = {"group": "g", "topic": "t", "partition": 3}
# The bytes that a broker wrote: type 1, "g", "t", partition 3; version 3, offset 42, leader epoch 7, metadata "m", time 1000.
COMMIT = (bytes.fromhex("000100016700017400000003"), bytes.fromhex("0003000000000000002a0000000700016d00000000000003e8"))


def test_a_commit_is_read_as_a_broker_wrote_it() -> None:
    record = decode_record(*COMMIT)

    assert (record.name, record.number, record.version, record.key) == ("OffsetCommit", 1, 3, COMMIT_KEY)
    assert record.value == {
        "offset": 42, "leader_epoch": 7, "metadata": "m", "commit_timestamp": 1000, "expire_timestamp": -1, "topic_id": None,
    }  # fmt: skip


@pytest.mark.slow
@given(records())
@settings(max_examples=150, deadline=None)
def test_what_is_written_is_read_again(drawn: tuple[str, dict[str, Any], dict[str, Any] | None, int]) -> None:
    name, key, value, version = drawn

    record = decode_record(*encode_record(name, key, value, version))

    assert (record.name, record.key, record.value) == (name, key, value)
    assert record.version == (None if value is None else version)


@pytest.mark.parametrize("version", range(4))
def test_the_short_way_of_commits_reads_what_the_general_reader_reads(version: int) -> None:
    shape = record_forms()[1].values[version][0]
    body = {column.name: {"int64": -5, "int32": 9}.get(column.kind, "some “text”") for column in shape.columns}
    value = bytearray(struct.pack(">h", version))
    writer_of(shape)(value, body)

    record = decode_record(COMMIT[0], bytes(value))

    assert record.value == {**shape.absent, **body}


def test_the_key_of_a_commit_of_0_8_2_is_read_too() -> None:
    assert decode_record(b"\0\0" + COMMIT[0][2:], None)[:4] == ("OffsetCommit", 0, None, COMMIT_KEY)


def test_a_share_groups_record_is_read_with_the_fields_of_4_0_and_with_those_of_4_1() -> None:
    key = encode_record("ShareGroupMetadata", {"group_id": "s"}, None)[0]

    assert decode_record(key, bytes.fromhex("00000000000500")).value == {"epoch": 5}
    assert decode_record(key, bytes.fromhex("000000000005000000000000000900")).value == {"epoch": 5, "metadata_hash": 9}


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        (None, b"", "no key"),
        (b"\0", b"", "no key"),
        (b"\x00\x12" + COMMIT[0][2:], b"", "type 18"),
        (b"\x7f\xff", None, "type 32767"),
        (COMMIT[0], b"\0\5" + COMMIT[1][2:], "OffsetCommit v5"),
        (COMMIT[0], b"\xff\xff" + COMMIT[1][2:], "OffsetCommit v-1"),
        (COMMIT[0], b"\0", "broken OffsetCommit"),
        (COMMIT[0], COMMIT[1][:-1], "broken OffsetCommit"),
        (COMMIT[0], COMMIT[1] + b"\0", "broken OffsetCommit"),
        (COMMIT[0][:-1], COMMIT[1], "broken OffsetCommit"),
        (COMMIT[0] + b"\0", None, "broken OffsetCommit"),
        (b"\0\2\0\1g", b"\0\5", "GroupMetadata v5"),
        (b"\0\2\0\1g", b"\0\4\0", "broken GroupMetadata"),
        (b"\0\2\0\xffg", None, "broken GroupMetadata"),
    ],
)
def test_what_no_release_writes_and_what_is_broken_is_named(key: bytes | None, value: bytes | None, reason: str) -> None:
    with pytest.raises(UnreadableRecord) as error:
        decode_record(key, value)

    assert error.value.reason == reason


@pytest.mark.slow
@given(records(), st.data())
@settings(max_examples=150, deadline=None)
def test_bytes_that_were_harmed_are_read_or_refused_and_nothing_else(
    drawn: tuple[str, dict[str, Any], dict[str, Any] | None, int], data: st.DataObject
) -> None:
    key, value = encode_record(*drawn)
    harmed = bytearray(value or key)
    place = data.draw(st.integers(0, len(harmed) - 1))
    harmed[place:] = data.draw(st.binary(max_size=6)) + harmed[place + data.draw(st.integers(0, 4)) :]
    try:
        record = decode_record(key if value else bytes(harmed), bytes(harmed) if value else None)
    except UnreadableRecord as error:
        assert error.reason
    else:
        assert record.name


@settings(max_examples=100, deadline=None)
@given(records())
def test_a_commit_alone_is_what_its_whole_record_says(drawn: tuple[str, dict[str, Any], dict[str, Any] | None, int]) -> None:
    stored = encode_record(*drawn)
    record = decode_record(*stored)

    if record.name == OFFSET_COMMIT and record.value is not None:
        assert decode_commit(*stored) == (record.key["group"], record.key["topic"], record.key["partition"], record.value["offset"])
    else:
        assert decode_commit(*stored) is None
    assert decode_commit(stored[0], b"\x7f\xff") is None

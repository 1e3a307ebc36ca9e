"""A partition's log in every format: what was appended is read, markers end transactions, and what is broken does not hide what follows."""

from __future__ import annotations

import struct
import zlib

import pytest
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from groupproof.protocol.wire.compression import compressed
from groupproof.protocol.wire.log_batches import BrokenBatch, LogBatch, LogRecord, read_log
from groupproof.protocol.wire.message_sets import message_set
from groupproof.protocol.wire.records import Record, encode_batch, read_batches

LOG = [
    (10, 1_000, b"k0", b"v0"),
    (11, 1_003, b"key of more than sixty-four bytes, so that its length takes two of them", None),
    (12, 999, None, b"v2" * 300),
]


def batch_of(records: list[LogRecord]) -> bytes:
    return encode_batch([Record(offset=offset, timestamp_ms=ms, key=key, value=value) for offset, ms, key, value in records])


def with_attributes(batch: bytes, attributes: int, *, producer_id: int = -1) -> bytes:
    """Return a batch of v2 with other attributes, its payload compressed as they say, and a right checksum."""
    header, payload = bytearray(batch[21:61]), batch[61:]
    struct.pack_into(">h", header, 0, attributes)
    struct.pack_into(">q", header, 22, producer_id)
    checked = bytes(header) + compressed(attributes & 7, payload)
    return batch[:8] + struct.pack(">i", 9 + len(checked)) + batch[12:17] + struct.pack(">I", crc32c(checked)) + checked


def old_entry(offset: int, magic: int, key: bytes | None, value: bytes | None, *, attributes: int = 0, ms: int = 5) -> bytes:
    message = struct.pack(">bb", magic, attributes) + (struct.pack(">q", ms) if magic else b"")
    for part in (key, value):
        message += struct.pack(">i", -1) if part is None else struct.pack(">i", len(part)) + part
    return struct.pack(">qiI", offset, len(message) + 4, zlib.crc32(message)) + message


def only(blob: bytes) -> LogBatch:
    (batch,) = read_log(blob)
    assert isinstance(batch, LogBatch)
    return batch


def whole(blob: bytes) -> list[LogRecord]:
    return [record for batch in read_log(blob) if isinstance(batch, LogBatch) for record in batch.records]


@pytest.mark.parametrize("codec", range(5))
def test_a_batch_is_read_whatever_compresses_it(codec: int) -> None:
    batch = only(with_attributes(batch_of(LOG), codec))

    assert batch.records == LOG
    assert (batch.base_offset, batch.last_offset, batch.magic, batch.codec, batch.marker) == (10, 12, 2, codec, None)


@given(
    st.lists(
        st.tuples(st.integers(-(2**40), 2**40), st.binary(max_size=200) | st.none(), st.binary(max_size=200) | st.none()), min_size=1, max_size=5
    )
)
@settings(max_examples=60, deadline=None)
def test_any_records_are_read_as_the_careful_reader_reads_them(drawn: list[tuple[int, bytes | None, bytes | None]]) -> None:
    blob = batch_of([(index * 70, ms, key, value) for index, (ms, key, value) in enumerate(drawn)])

    assert whole(blob) == [
        (record.offset, record.timestamp_ms, record.key, record.value) for batch in read_batches(blob) for record in batch.records()
    ]


def test_the_time_of_the_append_counts_where_the_topic_says_so() -> None:
    assert [ms for _, ms, _, _ in only(with_attributes(batch_of(LOG), 0x08)).records] == [1_003] * 3


@pytest.mark.parametrize(("kind", "marker"), [(0, "ABORT"), (1, "COMMIT"), (5, "type 5")])
def test_a_control_batch_is_a_marker_of_its_producer(kind: int, marker: str) -> None:
    batch = only(with_attributes(batch_of([(7, 1, struct.pack(">hh", 0, kind), b"\0\0\0\0\0\1")]), 0x30, producer_id=9))

    assert (batch.marker, batch.producer_id, batch.is_transactional, batch.records) == (marker, 9, True, [])


@pytest.mark.parametrize("magic", [0, 1])
def test_message_sets_of_older_brokers_are_read(magic: int) -> None:
    blob = message_set(batch_of(LOG), first_offset=0, fetch_version=2 * magic)

    assert whole(blob) == [(offset, ms if magic else -1, key, value) for offset, ms, key, value in LOG]


@pytest.mark.parametrize(("magic", "inner"), [(0, (20, 21)), (1, (0, 1))])
@pytest.mark.parametrize("codec", [1, 2, 3])
def test_compressed_message_sets_have_the_offsets_that_their_format_means(magic: int, inner: tuple[int, int], codec: int) -> None:
    packed = b"".join(old_entry(offset, magic, b"k", b"v%d" % offset, ms=100 + offset) for offset in inner)
    blob = old_entry(21, magic, None, compressed(codec, packed), attributes=codec, ms=900)

    assert [(offset, value) for offset, _, _, value in whole(blob)] == [(20, b"v%d" % inner[0]), (21, b"v%d" % inner[1])]
    assert [ms for _, ms, _, _ in whole(blob)] == ([100, 101] if magic else [-1, -1])


def test_a_compressed_set_with_the_time_of_its_append_has_that_time() -> None:
    packed = old_entry(0, 1, b"k", b"v", ms=100)

    assert whole(old_entry(4, 1, None, compressed(1, packed), attributes=0x09, ms=900)) == [(4, 900, b"k", b"v")]


def test_a_broken_batch_is_named_and_the_next_one_is_read() -> None:
    harmed = bytearray(batch_of(LOG))
    harmed[-1] ^= 1

    broken, good = read_log(bytes(harmed) + batch_of([(13, 1, b"k", b"v")]))

    assert broken == BrokenBatch(10, len(harmed), "the checksum is another")
    assert isinstance(good, LogBatch)
    assert good.records == [(13, 1, b"k", b"v")]


def test_records_that_do_not_keep_to_their_sizes_are_named() -> None:
    whole_batch = batch_of(LOG)
    shorter = with_attributes(whole_batch[:-4], 0)
    more = bytearray(whole_batch)
    struct.pack_into(">i", more, 57, 2)

    (cut,) = read_log(shorter)
    (left,) = read_log(with_attributes(bytes(more), 0))
    assert isinstance(cut, BrokenBatch)
    assert "a record is broken" in cut.why
    assert isinstance(left, BrokenBatch)
    assert "behind 2 records" in left.why


def test_a_format_that_no_release_has_is_named() -> None:
    batch = bytearray(batch_of(LOG))
    batch[16] = 3

    assert [broken.why for broken in read_log(bytes(batch)) if isinstance(broken, BrokenBatch)] == ["message format v3"]


def test_a_batch_that_is_cut_off_is_left_for_later() -> None:
    blob = batch_of(LOG)
    first, cut = read_log(blob + blob[:-5])

    assert isinstance(first, LogBatch)
    assert isinstance(cut, BrokenBatch)
    assert (cut.is_cut, cut.size) == (True, len(blob) - 5)


def test_behind_a_length_that_cannot_be_right_nothing_is_guessed() -> None:
    blob = batch_of(LOG)
    _, broken = read_log(blob + struct.pack(">qi", 13, 3) + blob)

    assert broken == BrokenBatch(13, 12 + len(blob), "a batch of 3 bytes")


def test_the_zeros_behind_a_segment_that_was_made_at_its_whole_length_are_nothing() -> None:
    assert len(list(read_log(batch_of(LOG) + bytes(4096)))) == 1


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_no_bytes_stop_it(data: st.DataObject) -> None:
    blob = bytearray(with_attributes(batch_of(LOG), data.draw(st.integers(0, 4))) if data.draw(st.booleans()) else old_entry(1, 1, b"k", b"v"))
    place = data.draw(st.integers(0, len(blob) - 1))
    blob[place : place + 4] = data.draw(st.binary(max_size=8))

    assert all(isinstance(batch, LogBatch | BrokenBatch) for batch in read_log(bytes(blob)))

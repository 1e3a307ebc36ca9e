from __future__ import annotations

import struct

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from groupproof.protocol.wire.records import Record, RecordsError, encode_batch, placed, read_batches, record_count

RECORDS = (
    Record(offset=0, timestamp_ms=1000, key=b"k", value=b"v", headers=(("h", b"1"),)),
    Record(offset=1, timestamp_ms=1001, value=b"w"),
)
# Built by kafka-python 3.0.12's DefaultRecordBatchBuilder, but that it writes leader epoch 0 here as we do.
GOLDEN = bytes.fromhex(
    "000000000000000000000046000000000213ac738900000000000100000000000003e800000000000003e9"
    "ffffffffffffffffffffffffffff0000000218000000026b027602026802310e00020201027700"
)

blobs = st.none() | st.binary(max_size=10)


def resealed(batch: bytearray) -> bytes:
    """Return the batch with the checksum that its bytes need."""
    struct.pack_into(">I", batch, 17, crc32c(bytes(batch[21:])))
    return bytes(batch)


def test_a_batch_has_the_bytes_that_another_implementation_gives_it() -> None:
    assert encode_batch(RECORDS) == GOLDEN


def test_a_batch_is_read_back_record_by_record() -> None:
    (batch,) = read_batches(GOLDEN)

    assert (batch.base_offset, batch.last_offset, batch.count, batch.is_compressed) == (0, 1, 2, False)
    assert tuple(batch.records()) == RECORDS


@given(st.lists(st.tuples(st.integers(0, 2**40), blobs, blobs), min_size=1, max_size=5), st.integers(0, 2**40))
def test_any_records_survive_their_batch(contents: list[tuple[int, bytes | None, bytes | None]], base: int) -> None:
    records = tuple(Record(offset=base + at, timestamp_ms=time, key=key, value=value) for at, (time, key, value) in enumerate(contents))
    (batch,) = read_batches(encode_batch(records, leader_epoch=4))

    assert tuple(batch.records()) == records
    assert batch.leader_epoch == 4


def test_a_batch_that_is_cut_off_at_the_end_is_left_out() -> None:
    assert record_count(GOLDEN + GOLDEN[:-1]) == 2
    assert record_count(GOLDEN[:30]) == 0


def test_batches_are_placed_one_after_the_other_without_touching_their_checksums() -> None:
    stored = placed(GOLDEN + GOLDEN, 100, leader_epoch=9)

    assert [(batch.base_offset, batch.last_offset, batch.leader_epoch) for batch in read_batches(stored)] == [(100, 101, 9), (102, 103, 9)]
    assert [record.offset for batch in read_batches(stored) for record in batch.records()] == [100, 101, 102, 103]


def test_a_compressed_batch_is_counted_but_not_opened() -> None:
    compressed = bytearray(GOLDEN)
    compressed[22] = 1  # gzip
    (batch,) = read_batches(resealed(compressed))

    assert batch.count == 2
    with pytest.raises(RecordsError, match="the batch at offset 0 is compressed"):
        next(batch.records())


def test_a_batch_of_no_records_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one record"):
        encode_batch([])


def test_a_flipped_bit_is_found_by_the_checksum() -> None:
    with pytest.raises(RecordsError, match="the batch at offset 0 does not match its checksum 0x13ac7389"):
        record_count(GOLDEN[:-1] + b"\x01")


@pytest.mark.parametrize(("at", "value", "message"), [(11, 5, "5 bytes is shorter than its header"), (16, 1, "format v1; only v2 is read")])
def test_a_broken_header_says_what_was_found(at: int, value: int, message: str) -> None:
    broken = bytearray(GOLDEN)
    broken[at] = value
    with pytest.raises(RecordsError, match=message):
        record_count(bytes(broken))


def test_a_count_that_lies_is_refused() -> None:
    lying = bytearray(GOLDEN)
    lying[57:61] = b"\x7f\xff\xff\xff"
    with pytest.raises(RecordsError, match="says 2147483647 records up to offset 1"):
        record_count(resealed(lying))


def test_bytes_behind_the_last_record_of_a_batch_are_refused() -> None:
    longer = bytearray(GOLDEN + b"more")
    longer[8:12] = struct.pack(">i", 0x46 + 4)
    (batch,) = read_batches(resealed(longer))
    with pytest.raises(RecordsError, match="holds 4 bytes after its 2 records"):
        list(batch.records())


def test_a_number_that_never_ends_is_refused() -> None:
    endless = bytearray(GOLDEN[:61] + b"\xff" * 12)
    endless[8:12] = struct.pack(">i", len(endless) - 12)
    (batch,) = read_batches(resealed(endless))
    with pytest.raises(RecordsError, match="a variable-length integer of more than 10 bytes"):
        list(batch.records())


@given(st.integers(61, len(GOLDEN) - 1), st.integers(0, 255))
def test_a_changed_record_under_a_right_checksum_is_read_or_refused(at: int, value: int) -> None:
    changed = bytearray(GOLDEN)
    changed[at] = value
    (batch,) = read_batches(resealed(changed))
    try:
        assert len(list(batch.records())) == 2
    except RecordsError as error:
        assert "the batch at offset 0" in str(error)


@given(st.binary(max_size=200))
def test_garbage_is_refused_as_garbage(blob: bytes) -> None:
    try:
        assert record_count(blob) >= 0
    except RecordsError as error:
        assert str(error)

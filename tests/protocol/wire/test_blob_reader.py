from __future__ import annotations

import pytest

from groupproof.protocol.wire.blob_reader import BlobError, BlobReader


def test_what_was_written_is_read_in_order_and_nothing_is_left() -> None:
    reader = BlobReader(b"\x01" + b"\0\x02" + b"\0\0\0\x03" + b"\0" * 7 + b"\x04" + b"\0\x01t" + b"\0\0\0\x01u" + b"\0\0\0\x01v" + b"rest", "blob")

    assert (reader.int8("a"), reader.int16("b"), reader.int32("c"), reader.int64("d")) == (1, 2, 3, 4)
    assert (reader.text("e"), reader.nullable_bytes("f"), reader.long_text("g")) == ("t", b"u", "v")
    assert not reader.is_at_end
    assert reader.rest() == b"rest"
    assert reader.is_at_end


@pytest.mark.parametrize(
    ("blob", "why"),
    [
        (b"\0", "thing ends before its items, after 1 bytes"),
        (b"\0\0\0\x05ab", "thing with 5 items in 2 bytes"),
        (b"\xff\xff\xff\xff", "thing with -1 items"),
        (b"\xff\xff\xff\xfe", "thing with -2 items in 0 bytes"),
    ],
)
def test_a_list_that_cannot_be_there_is_named(blob: bytes, why: str) -> None:
    with pytest.raises(BlobError, match=why):
        BlobReader(blob, "thing").listed("items", 1, lambda: None)


def test_a_text_that_is_null_or_no_utf8_is_named() -> None:
    with pytest.raises(BlobError, match="thing whose name is null"):
        BlobReader(b"\xff\xff", "thing").text("name")
    with pytest.raises(BlobError, match="thing whose name is not UTF-8"):
        BlobReader(b"\0\x01\xff", "thing").text("name")
    assert BlobReader(b"\xff\xff\xff\xff", "thing").long_text("name") == ""


def test_raw_bytes_are_bounded_too() -> None:
    assert BlobReader(b"abc", "thing").raw(2, "id") == b"ab"
    with pytest.raises(BlobError, match="thing whose id has 4 bytes, of 3 left"):
        BlobReader(b"abc", "thing").raw(4, "id")

"""The text of readers and writers: what is written down for a message, and that random bodies become kio's bytes."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.protocol.wire.test_codec import any_entity, bytes_of, header_of, schema_of

from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.codec import ENTRIES_MAX, Column, MalformedBytes, Shape
from groupproof.protocol.wire.codec_source import reader_of, reader_text, writer_of, writer_text
from groupproof.protocol.wire.message_codec import VERSIONS, read_request, read_response, write_request, write_response

HOT = (Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.LEAVE_GROUP, Api.OFFSET_COMMIT, Api.OFFSET_FETCH, Api.FIND_COORDINATOR)
NUMBERS = Shape(
    title="Numbers v0",
    is_flexible=False,
    columns=(
        Column(name="short", kind="int16", default=0),
        Column(name="long", kind="int64", default=-1),
        Column(name="flag", kind="bool", default=False),
        Column(name="list", kind="int32", is_array=True, is_nullable=True, default=()),
    ),
)


def written(body: dict[str, Any]) -> bytes:
    out = bytearray()
    writer_of(NUMBERS)(out, body)
    return bytes(out)


def test_numbers_side_by_side_are_one_format_and_an_array_of_numbers_is_one_more() -> None:
    assert "unpack_from_hq(frame, at)" in reader_text(NUMBERS)
    assert "pack_hq(" in writer_text(NUMBERS)
    assert "for _ in" not in reader_text(NUMBERS)
    body = {"short": -2, "long": 2**40, "flag": True, "list": (1, -1, 2**31 - 1)}

    assert written(body) == struct.pack(">hq?iiii", -2, 2**40, True, 3, 1, -1, 2**31 - 1)
    assert reader_of(NUMBERS)(written(body), 0, [ENTRIES_MAX]) == (body, 27)
    assert reader_of(NUMBERS)(written({"list": None}), 0, [ENTRIES_MAX])[0] == {"short": 0, "long": -1, "flag": False, "list": None}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"short": 2**15}, "short cannot be 32768"),
        ({"long": 2**63}, "long cannot be 9223372036854775808"),
        ({"long": None}, "long cannot be None"),
        ({"list": (1, 2**31)}, "list cannot be 2147483648"),
    ],
)
def test_of_numbers_side_by_side_the_one_that_does_not_fit_is_named(body: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        written(body)


def test_an_array_of_numbers_is_refused_before_it_is_made() -> None:
    frame = struct.pack(">hq?i", 0, 0, False, 5) + bytes(19)
    with pytest.raises(MalformedBytes, match="list is said to have 5 entries, but only 19 bytes are left"):
        reader_of(NUMBERS)(frame, 0, [ENTRIES_MAX])
    with pytest.raises(MalformedBytes, match=f"more than {ENTRIES_MAX} array entries; list has 5"):
        reader_of(NUMBERS)(frame + b"\0", 0, [4])


@settings(max_examples=150)
@given(st.sampled_from(HOT), st.sampled_from(("request", "response")), st.integers(0), st.data())
def test_what_kio_writes_of_random_contents_is_written_back_byte_for_byte(api: Api, side: str, seed: int, data: st.DataObject) -> None:
    version = data.draw(st.integers(max(VERSIONS[api][0], 2 if api is Api.OFFSET_COMMIT else 0), VERSIONS[api][1]))
    schema = schema_of(api, version, side)
    frame = header_of(api, version, side, schema) + bytes_of(any_entity(schema, random.Random(seed)))

    again = (
        write_request(api, version, 77, "m0", read_request(frame).body)
        if side == "request"
        else write_response(api, version, 77, read_response(api, version, frame)[1])
    )
    assert again == frame


def test_a_struct_that_is_not_there_is_0_in_a_tag_and_below_0_elsewhere() -> None:
    """Kafka's `MessageDataGenerator`: a coordinator stores `ClassicMemberMetadata` so for every member of the consumer protocol."""
    inner = Shape(title="Inner v0", is_flexible=True, columns=(Column(name="number", kind="int8", default=0),))
    plain = Column(name="plain", kind="struct", is_nullable=True, is_flexible=True, shape=inner)
    tagged = Column(name="tagged", kind="struct", is_nullable=True, is_flexible=True, tag=0, default={"number": 0}, shape=inner)
    outer = Shape(title="Outer v0", is_flexible=True, columns=(plain, tagged))
    for body, blob in (
        ({"plain": None, "tagged": None}, "ff 01 00 01 00"),
        ({"plain": {"number": 5}, "tagged": {"number": 7}}, "01 05 00 01 00 03 01 07 00"),
        ({"plain": None, "tagged": {"number": 0}}, "ff 00"),
    ):
        out = bytearray()
        writer_of(outer)(out, body)

        assert bytes(out) == bytes.fromhex(blob)
        assert reader_of(outer)(bytes(out), 0, [ENTRIES_MAX]) == (body, len(out))

"""The codec on shapes of our own, and, for every message of every version, against kio's writers as an independent reader of the schemas."""

from __future__ import annotations

import io
import random
import struct
import tracemalloc
import typing
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from kio.serial import entity_writer

from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.codec import ENTRIES_MAX, Column, MalformedBytes, Shape
from groupproof.protocol.wire.codec_source import reader_of, writer_of
from groupproof.protocol.wire.message_codec import VERSIONS, read_request, read_response, write_request, write_response
from groupproof.protocol.wire.old_schemas import ENTITIES

OF_KIO = {
    api: [version for version in range(oldest, newest + 1) if (api, version) not in {(message, dropped) for message, dropped, _ in ENTITIES}]
    for api, (oldest, newest) in VERSIONS.items()
}
"""The versions with which kio compares; of others it has no schema."""


def schema_of(api: Api, version: int, side: str) -> Any:
    return load_request_schema(api, version) if side == "request" else load_response_schema(api, version)


def any_entity(schema: Any, draw: random.Random) -> Any:
    """Return a kio entity with random contents."""
    return schema(**{field.name: any_value(field.type, field.metadata.get("kafka_type"), draw) for field in fields(schema)})


def any_value(hint: Any, kind: str | None, draw: random.Random) -> Any:
    parts = typing.get_args(hint)
    if type(None) in parts:
        present = next(part for part in parts if part is not type(None))
        return None if draw.random() < 0.3 else any_value(present, kind, draw)
    if typing.get_origin(hint) is tuple:
        return tuple(any_value(parts[0], kind, draw) for _ in range(draw.randrange(3)))
    if is_dataclass(hint):
        return any_entity(hint, draw)
    return any_primitive(typing.cast(str, kind), draw)


def any_primitive(kind: str, draw: random.Random) -> Any:
    if kind.startswith("int"):
        bits = int(kind.removeprefix("int"))
        return draw.choice([0, -1, 1, draw.randrange(-(2 ** (bits - 1)), 2 ** (bits - 1))])
    made: dict[str, Callable[[], Any]] = {
        "string": lambda: draw.choice(["", "g", "grüße", "x" * 200]),
        "bytes": lambda: draw.randbytes(draw.choice([0, 3, 200])),
        "records": lambda: draw.randbytes(draw.choice([0, 3, 200])),
        "bool": lambda: draw.random() < 0.5,
        "error_code": lambda: draw.choice(list(ErrorCode)),
        "uuid": lambda: UUID(int=draw.randrange(1, 2**128)),
        "timedelta_i32": lambda: timedelta(milliseconds=draw.choice([0, -1, 30_000, draw.randrange(2**31)])),
        "timedelta_i64": lambda: timedelta(milliseconds=draw.choice([0, -1, 30_000, draw.randrange(2**40)])),
        "datetime_i64": lambda: datetime.fromtimestamp(draw.randrange(2**31), tz=UTC),
    }
    return made[kind]()


def bytes_of(entity: Any) -> bytes:
    out = io.BytesIO()
    entity_writer(type(entity))(out, entity)
    return out.getvalue()


def header_of(api: Api, version: int, side: str, schema: Any) -> bytes:
    start = struct.pack(">hhih", api, version, 77, 2) + b"m0" if side == "request" else struct.pack(">i", 77)
    return start + (b"\0" if schema.__header_schema__.__flexible__ else b"")


def plain(value: Any) -> Any:
    """Return what a body holds for a kio value."""
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    if isinstance(value, timedelta):
        return value // timedelta(milliseconds=1)
    if isinstance(value, datetime):
        return int(value.timestamp() * 1000)
    if is_dataclass(value):
        return {field.name: plain_field(field, getattr(value, field.name)) for field in fields(value)}
    return str(value) if isinstance(value, UUID) else value


def plain_field(item: Any, value: Any) -> Any:
    return -1 if value is None and item.metadata.get("kafka_type") == "datetime_i64" else plain(value)


def holds(body: Any, entity: Any) -> bool:
    """Tell whether `body` has every value of the kio entity, under its name or with `_ms` behind it."""
    if isinstance(entity, tuple) and entity and isinstance(entity[0], dict):
        return len(body) == len(entity) and all(map(holds, body, entity))
    if not isinstance(entity, dict):
        return bool(body == entity)
    return all(holds(body[name if name in body else RENAMED.get(name, f"{name}_ms")], value) for name, value in entity.items())


RENAMED = {"generation_id_or_member_epoch": "generation_id"}


@pytest.mark.parametrize("side", ["request", "response"])
@pytest.mark.parametrize("api", OF_KIO, ids=lambda api: str(api.title))
def test_every_message_of_every_version_is_written_as_kio_writes_it(api: Api, side: str) -> None:
    for version, seed in product(OF_KIO[api], range(4)):
        schema = schema_of(api, version, side)
        entity = any_entity(schema, random.Random(f"{api}/{version}/{side}/{seed}"))
        frame = header_of(api, version, side, schema) + bytes_of(entity)
        if side == "request":
            request = read_request(frame)
            assert (request.api, request.version, request.correlation, request.client_id) == (api, version, 77, "m0")
            body, again = request.body, write_request(api, version, 77, "m0", request.body)
        else:
            correlation, body = read_response(api, version, frame)
            again = write_response(api, version, correlation, body)

        assert again == frame
        if version == VERSIONS[api][1]:
            assert holds(body, plain(entity))


SIMPLE = Shape(
    title="Simple v1",
    is_flexible=True,
    columns=(
        Column(name="name", kind="string", is_flexible=True, default=""),
        Column(name="count", kind="int32", is_flexible=True, default=-1),
        Column(name="numbers", kind="int32", is_array=True, is_nullable=True, is_flexible=True, default=()),
        Column(name="note", kind="string", is_nullable=True, is_flexible=True, tag=0, default=None),
        Column(name="epoch", kind="int64", is_flexible=True, tag=3, default=-1),
    ),
    absent={"since_v2": True},
)
LEGACY = Shape(
    title="Legacy v0",
    is_flexible=False,
    columns=(Column(name="name", kind="string", default=""), Column(name="names", kind="string", is_array=True, default=())),
)


def read(shape: Shape, frame: bytes) -> Any:
    body, at = reader_of(shape)(frame, 0, [ENTRIES_MAX])
    assert at == len(frame)
    return body


def written(shape: Shape, body: dict[str, Any]) -> bytes:
    out = bytearray()
    writer_of(shape)(out, body)
    return bytes(out)


def test_missing_fields_are_written_as_their_defaults_and_read_back() -> None:
    assert written(SIMPLE, {}) == b"\x01\xff\xff\xff\xff\x01\x00"
    assert read(SIMPLE, written(SIMPLE, {})) == {"name": "", "count": -1, "numbers": (), "note": None, "epoch": -1, "since_v2": True}


def test_tagged_fields_are_written_in_the_order_of_their_tags_and_only_when_they_differ_from_the_default() -> None:
    body = {"name": "a", "count": 1, "numbers": None, "epoch": 5, "note": "n"}

    assert written(SIMPLE, body).endswith(b"\x02" + b"\x00\x02\x02n" + b"\x03\x08\0\0\0\0\0\0\0\x05")
    assert read(SIMPLE, written(SIMPLE, body)) == {**body, "since_v2": True}


def test_a_tagged_field_of_a_newer_version_is_skipped() -> None:
    assert read(SIMPLE, b"\x01\0\0\0\x01\x01" + b"\x01\x63\x05later")["count"] == 1


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (b"\x01\0\0\0\x01\x01\x01\x63\xff\xff\xff\xff\x07ab", "tagged field 99 of 2147483647 bytes, but only 2 are left"),
        (b"\x01\0\0\0\x01\x01\x01\x03\x02\0\0\0\0\0\0\0\x05", "tagged field epoch does not end where its size of 2 bytes says"),
        (b"\x01\0\0\0\x01\xff\xff\xff\xff\x0f\0\0\0\0", "numbers is said to have 4294967294 entries, but only 4 bytes are left"),
        (b"\x01\0\0\0\x01\xff\xff\xff\xff\xff\x01", "a variable-length integer of more than 5 bytes"),
        (b"\x7fab", "name is said to have 126 bytes, but only 2 are left"),
        (b"\x00\0\0\0\x01\x01\x00", "name has a length of -1"),
    ],
)
def test_a_length_that_lies_is_refused(frame: bytes, message: str) -> None:
    with pytest.raises(MalformedBytes, match=message):
        read(SIMPLE, frame)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (b"\0\0\xff\xff\xff\xff", "names is an array of -1 entries"),
        (b"\0\0\x80\0\0\0", "names is an array of -2147483648 entries"),
        (b"\0\0\x7f\xff\xff\xff", "names is said to have 2147483647 entries"),
        (b"\xff\xff\0\0\0\0", "name has a length of -1"),
        (b"\x80\0\0\0\0\0", "name has a length of -32768"),
    ],
)
def test_a_negative_or_huge_length_of_the_old_form_is_refused(frame: bytes, message: str) -> None:
    with pytest.raises(MalformedBytes, match=message):
        read(LEGACY, frame)


def test_a_frame_that_could_hold_more_entries_than_the_bound_is_refused_before_they_are_made() -> None:
    frame = b"\0\0" + struct.pack(">i", ENTRIES_MAX + 1) + bytes(2 * (ENTRIES_MAX + 1))
    reader = reader_of(LEGACY)
    tracemalloc.start()
    with pytest.raises(MalformedBytes, match=f"more than {ENTRIES_MAX} array entries"):
        reader(frame, 0, [ENTRIES_MAX])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 100_000


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"nmae": "typo"}, "Simple v1 has no field nmae"),
        ({"name": None}, "name cannot be null"),
        ({"count": 2**31}, "count cannot be 2147483648"),
        ({"count": "3"}, "count cannot be '3'"),
    ],
)
def test_a_body_that_the_version_cannot_say_is_refused_by_field(body: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        written(SIMPLE, body)


def test_a_string_of_the_old_form_is_at_most_32767_bytes_long() -> None:
    with pytest.raises(ValueError, match="name is too long: 32768 bytes"):
        written(LEGACY, {"name": "x" * 32768})


@given(st.binary(max_size=64))
def test_any_bytes_are_read_or_refused_and_what_is_read_is_written_back_as_a_body_that_reads_the_same(frame: bytes) -> None:
    try:
        body, _ = reader_of(SIMPLE)(frame, 0, [ENTRIES_MAX])
    except (MalformedBytes, IndexError, struct.error, UnicodeDecodeError):
        return
    assert read(SIMPLE, written(SIMPLE, body)) == body


@pytest.mark.parametrize("value", ["67380c45", "not hex at all", 5])
def test_what_is_no_uuid_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"no UUID|non-hexadecimal"):
        written(Shape(title="Id v0", is_flexible=False, columns=(Column(name="id", kind="uuid"),)), {"id": value})


def test_a_uuid_that_is_cut_off_is_no_uuid() -> None:
    with pytest.raises(IndexError):
        read(Shape(title="Id v0", is_flexible=False, columns=(Column(name="id", kind="uuid"),)), bytes(15))

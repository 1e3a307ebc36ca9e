"""Frames of Kafka's protocol as plain bodies, and back: every version of every API in `vocabulary.Api`.

The schemas are kio's, generated from Kafka's own (this is the only module that imports kio), and the few that Kafka 4 dropped (`wire_old.py`); the bytes are read and written by
`codec.py`, compiled from them. kio's native reader is not used on purpose: it aborts the process on an array that claims 2^31 entries,
and refuses tagged fields and error codes that it does not know, which Kafka's clients and brokers must bear (KIP-482).

Bodies hold the fields of all versions in the newest shape (`wire_shapes.py`), named as kio names them, with milliseconds under `x_ms`
for a duration or time `x`; error codes are ints, UUIDs strings (None for zero), lists tuples. A field that is missing on writing takes
the schema's default: empty, zero, or null where null is allowed (a list is empty).
"""

from __future__ import annotations

import struct
import typing
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from datetime import timedelta
from functools import cache
from typing import Any, Final, Literal

from kio.index import load_request_schema, load_response_schema
from kio.schema.index import api_key_map, schema_name_map

from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.body_shapes import REWRITES
from groupproof.protocol.wire.codec import ENTRIES_MAX, Column, Malformed, Reader, Shape, Writer
from groupproof.protocol.wire.codec_source import reader_of, writer_of
from groupproof.protocol.wire.message_conversion import body_of, request_of, response_of
from groupproof.protocol.wire.messages import GroupRequest
from groupproof.protocol.wire.old_schemas import ENTITIES, SAME_AS

__all__ = [
    "VERSIONS", "UnsupportedVersion", "WireError", "WireRequest", "body_of", "message_of", "read_request", "read_response", "response_of",
    "warm", "write_request", "write_response",
]  # fmt: skip

Side = Literal["request", "response"]

_KNOWN: Final = {api: sorted(schema_name_map[api_key_map[api]]) for api in Api}
_DROPPED: Final = {api: version for api, version, _ in ENTITIES}
VERSIONS: Final[dict[Api, tuple[int, int]]] = {api: (_DROPPED.get(api, versions[0]), versions[-1]) for api, versions in _KNOWN.items()}
"""The oldest and the newest version of each API that this wire reads and writes."""


class WireError(Exception):
    """A frame that cannot be read; `str()` says what was met."""


class UnsupportedVersion(WireError):
    """An API or a version that this wire does not read; `api` is None for an unknown API key.

    For ApiVersions the peer is owed an answer of v0 with UNSUPPORTED_VERSION and the version list (KIP-511).
    """

    def __init__(self, api: Api | None, api_key: int, version: int, correlation: int) -> None:
        known = f"{api.title} is read from v{VERSIONS[api][0]} to v{VERSIONS[api][1]}" if api is not None else "no such API is known"
        super().__init__(f"a request with API key {api_key} and version {version}: {known}")
        self.api = api
        self.api_key = api_key
        self.version = version
        self.correlation = correlation


@dataclass(frozen=True, slots=True, kw_only=True)
class WireRequest:
    """One request as it came; `body` is in the newest shape whatever the version.

    `surplus` counts bytes behind the body, which Apache Kafka bears: librdkafka 2.16 sends three when it asks for all topics.
    """

    api: Api
    version: int
    correlation: int
    client_id: str | None
    body: dict[str, Any]
    surplus: int = 0


def read_request(frame: bytes) -> WireRequest:
    """Read a frame without its length prefix; raise `WireError`, for an unknown API or version `UnsupportedVersion`."""
    if len(frame) < _REQUEST_HEADER.size:
        raise WireError(f"a request of {len(frame)} bytes is shorter than its header")
    api_key, version, correlation = _REQUEST_HEADER.unpack_from(frame)
    try:
        codec = _REQUESTS[api_key, version]
    except KeyError:
        codec = _request_codec(api_key, version, correlation)
    left = [ENTRIES_MAX]
    try:
        header, at = codec.read_header(frame, _REQUEST_HEADER.size, left)
        body, at = codec.read(frame, at, left)
    except _UNREADABLE as error:
        raise WireError(f"{codec.title} cannot be read: {_why(error)}") from None
    if codec.newest is not None:
        body = codec.newest(body, version)
    surplus = len(frame) - at
    return WireRequest(api=codec.api, version=version, correlation=correlation, client_id=header["client id"], body=body, surplus=surplus)


def write_request(api: Api, version: int, correlation: int, client_id: str | None, body: Mapping[str, Any]) -> bytes:
    """Return a frame without its length prefix; raise `ValueError` for a body that the version cannot say."""
    codec = _codec(api, version, "request")
    out = bytearray(_REQUEST_HEADER.pack(api, version, correlation))
    codec.write_header(out, {"client id": client_id})
    return _written(codec, out, body)


def write_response(api: Api, version: int, correlation: int, body: Mapping[str, Any]) -> bytes:
    """Return a frame without its length prefix; raise `ValueError` for a body that the version cannot say."""
    codec = _codec(api, version, "response")
    out = bytearray(_CORRELATION.pack(correlation) + codec.no_tags)
    return _written(codec, out, body)


def read_response(api: Api, version: int, frame: bytes) -> tuple[int, dict[str, Any]]:
    """Read the answer to a request of `api` and `version`; return its correlation id and body, or raise `WireError`.

    An ApiVersions answer that refuses the version is in v0 whatever was asked, and is read so (KIP-511).
    """
    codec = _codec(api, version, "response")
    left = [ENTRIES_MAX]
    try:
        (correlation,) = _CORRELATION.unpack_from(frame)
        at = _CORRELATION.size
        if api is Api.API_VERSIONS and frame[at : at + 2] == _UNSUPPORTED:
            codec = _codec(api, 0, "response")
        _, at = codec.read_header(frame, at, left)
        body, at = codec.read(frame, at, left)
    except _UNREADABLE as error:
        raise WireError(f"{codec.title} cannot be read: {_why(error)}") from None
    if at != len(frame):
        raise WireError(f"{codec.title} ends after {at} bytes, but {len(frame) - at} more follow")
    if codec.newest is not None:
        body = codec.newest(body, version)
    return correlation, body


def warm(apis: Iterable[Api] = Api) -> None:
    """Load every version of `apis` now (some 10 ms each), where a first request must not wait for it."""
    for api in apis:
        for version in range(VERSIONS[api][0], VERSIONS[api][1] + 1):
            _codec(api, version, "request")
            _codec(api, version, "response")


def message_of(request: WireRequest) -> GroupRequest:
    """Return the typed message of a request of the group APIs; raise `ValueError` for another API."""
    return request_of(request.api, request.body)


class _Codec:
    """Reader and writer of one version of one API's request or response."""

    __slots__ = ("api", "known", "newest", "no_tags", "old", "read", "read_header", "title", "version", "write", "write_header")

    def __init__(self, api: Api, version: int, side: Side) -> None:
        rewrite = REWRITES.get((api, side))
        if rewrite is not None and version > rewrite.version_max:
            rewrite = None
        self.newest = None if rewrite is None else rewrite.newest
        self.old = None if rewrite is None else rewrite.old
        entity = _entity(api, version, side)
        shape = _shape(entity, f"{api.title} v{version} {side}", _union(api, side, version))
        self.api, self.version, self.title = api, version, shape.title
        self.read: Reader = reader_of(shape)
        self.write: Writer = writer_of(shape)
        self.known = frozenset(_union(api, side, VERSIONS[api][1]))
        self.read_header, self.write_header = _HEADERS[side, entity.__header_schema__.__flexible__]
        self.no_tags = b"\0" if entity.__header_schema__.__flexible__ else b""


_REQUESTS: Final[dict[tuple[int, int], _Codec]] = {}


@cache
def _codec(api: Api, version: int, side: Side) -> _Codec:
    oldest, newest = VERSIONS[api]
    if not oldest <= version <= newest:
        raise ValueError(f"{api.title} v{version} is unknown: v{oldest} to v{newest} can be written")
    return _Codec(api, version, side)


def _request_codec(api_key: int, version: int, correlation: int) -> _Codec:
    api = _APIS.get(api_key)
    if api is None or not VERSIONS[api][0] <= version <= VERSIONS[api][1]:
        raise UnsupportedVersion(api, api_key, version, correlation)
    return _REQUESTS.setdefault((api_key, version), _codec(api, version, "request"))


def _written(codec: _Codec, out: bytearray, body: Mapping[str, Any]) -> bytes:
    try:
        if codec.old is not None:
            if not body.keys() <= codec.known:
                raise ValueError(f"it has no field {', '.join(sorted(body.keys() - codec.known))}")
            body = codec.old(body, codec.version)
        codec.write(out, body)
    except (ValueError, TypeError, AttributeError, KeyError, IndexError) as error:
        raise ValueError(f"{codec.title} cannot be written: {error}") from error
    return bytes(out)


def _why(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"text that is not UTF-8: {error.object[error.start : error.start + 8]!r}"
    return str(error) if isinstance(error, Malformed) else "it ends early"


# kio's schemas as shapes

_Union = dict[str, tuple[Any, dict[str, Any]]]
"""Name of a field in any version → its default, and the same of the struct it holds."""


def _entity(api: Api, version: int, side: Side) -> Any:
    if (api, version, side) in ENTITIES:
        return ENTITIES[api, version, side]
    version = SAME_AS.get((api, version, side), version)
    return load_request_schema(api, version) if side == "request" else load_response_schema(api, version)


@cache
def _union(api: Api, side: Side, version: int) -> _Union:
    """Return the fields of all versions that share `version`'s shape; where they differ in a default, the newest's holds."""
    newest = VERSIONS[api][1]
    rewrite = REWRITES.get((api, side))
    if rewrite is not None and rewrite.is_other_shape and version <= rewrite.version_max:
        return _merged([_entity(api, rewrite.version_max, side)])
    return _merged(_entity(api, each, side) for each in (*_LAST_WITH.get(api, ()), newest))


def _merged(entities: Iterable[Any]) -> _Union:
    union: _Union = {}
    for entity in entities:
        for each in fields(entity):
            nested = _nested(each.type)
            known = union.get(_name(each), (None, {}))[1]
            union[_name(each)] = (_default(each), _over(known, _merged([nested])) if nested is not None else {})
    return union


def _over(older: _Union, newer: _Union) -> _Union:
    return {**older, **{name: (default, _over(older.get(name, (None, {}))[1], nested)) for name, (default, nested) in newer.items()}}


def _shape(entity: Any, title: str, union: _Union) -> Shape:
    columns = tuple(_column(entity, each, title, union[_name(each)][1]) for each in fields(entity))
    own = {column.name for column in columns}
    absent = {name: default for name, (default, _) in union.items() if name not in own}
    return Shape(title=title, is_flexible=entity.__flexible__, columns=columns, absent=absent)


def _column(entity: Any, each: Field[Any], title: str, union: _Union) -> Column:
    nested = _nested(each.type)
    name = _name(each)
    tag = each.metadata.get("tag")
    return Column(
        name=name,
        kind=_KINDS.get(each.metadata.get("kafka_type", "struct"), each.metadata.get("kafka_type", "struct")),
        is_array=_is_array(each.type),
        is_nullable=type(None) in typing.get_args(each.type),
        is_flexible=entity.__flexible__,
        tag=None if tag is None else int(tag),
        default=_default(each),
        shape=None if nested is None else _shape(nested, f"{title}, {name}", union),
    )


def _name(each: Field[Any]) -> str:
    kind = each.metadata.get("kafka_type", "")
    if each.name == "generation_id_or_member_epoch":
        return "generation_id"
    return f"{each.name}_ms" if kind.startswith(("timedelta", "datetime")) else each.name


def _is_array(hint: Any) -> bool:
    return typing.get_origin(hint) is tuple or any(typing.get_origin(part) is tuple for part in typing.get_args(hint))


def _nested(hint: Any) -> Any:
    """Return the entity within `X`, `X | None`, `tuple[X, ...]` or `tuple[X, ...] | None`; None for a plain value."""
    if is_dataclass(hint):
        return hint
    return next((found for part in typing.get_args(hint) if (found := _nested(part)) is not None), None)


def _default(each: Field[Any]) -> Any:
    kind = each.metadata.get("kafka_type", "struct")
    if kind == "datetime_i64":
        return -1
    if each.default is not MISSING:
        return _plain(each.default)
    is_nullable = type(None) in typing.get_args(each.type)
    if _is_array(each.type):
        return None if is_nullable and each.name in _NULL_LISTS else ()
    if is_nullable:
        return None
    nested = _nested(each.type)
    if nested is not None:
        return {_name(inner): _default(inner) for inner in fields(nested)}
    return _EMPTY.get(kind, 0)


def _plain(value: Any) -> Any:
    if isinstance(value, timedelta):
        return value // timedelta(milliseconds=1)
    if is_dataclass(value):
        return {_name(each): _plain(getattr(value, each.name)) for each in fields(value)}
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value


# The last versions to have a field that the newest lacks: with the newest, all that must be loaded to know every field.
_LAST_WITH: Final = {
    Api.PRODUCE: (12,), Api.FETCH: (12,), Api.METADATA: (10,), Api.OFFSET_COMMIT: (4, 9), Api.OFFSET_FETCH: (9,), Api.DELETE_TOPICS: (5,),
}  # fmt: skip
_KINDS: Final = {
    "error_code": "int16", "timedelta_i32": "int32", "timedelta_i64": "int64", "datetime_i64": "int64", "records": "bytes",
}  # fmt: skip
# ConsumerGroupHeartbeatRequest.json says "default": "null" (unchanged since the last one); kio has no default here.
_NULL_LISTS: Final = frozenset({"topic_partitions"})
_EMPTY: Final[dict[str, Any]] = {"string": "", "bytes": b"", "bool": False}
_APIS: Final = {int(api): api for api in Api}
_REQUEST_HEADER: Final = struct.Struct(">hhi")
_CORRELATION: Final = struct.Struct(">i")
_UNSUPPORTED: Final = b"\0\x23"
_UNREADABLE: Final = (Malformed, IndexError, struct.error, UnicodeDecodeError)
# The client id keeps the old string form in flexible headers too (Kafka's RequestHeader.json). Correlation id and what is before it are not here.
_HEADER_COLUMNS: Final[dict[Side, tuple[Column, ...]]] = {
    "request": (Column(name="client id", kind="string", is_nullable=True),), "response": (),
}  # fmt: skip
_HEADERS: Final = {
    (side, is_flexible): (reader_of(shape), writer_of(shape))
    for side, columns in _HEADER_COLUMNS.items()
    for is_flexible in (False, True)
    for shape in (Shape(title="header", is_flexible=is_flexible, columns=columns),)
}

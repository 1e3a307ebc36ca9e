"""Kafka's protocol between the bytes of a stream and plain bodies: frames, and every version of every API in `vocabulary.Api`.

A frame is its length as a signed 32-bit integer and that many bytes (Kafka's `NetworkReceive`). A negative length, or one above
`socket.request.max.bytes`, ends the connection, which bounds the memory that a peer can claim.

Functions compiled from Kafka's schemas (`kafka_shapes.py`, `codec_source.py`) read and write the bytes. kio's native reader is not used: it aborts
the process on an array of 2^31 entries, and refuses unknown tagged fields and error codes, which Kafka's clients and brokers must accept (KIP-482).

A message of the group APIs is an instance of a class in `messages.py`. A trace or a fault gets a body made from it on demand. Bodies have the fields
of all versions in the newest shape (`body_shapes.py`), with kio's names; a duration or time `x` is `x_ms` in milliseconds. Error codes are ints,
UUIDs strings (None for zero), lists tuples. A missing field is written as the schema's default: empty, zero, or null where null is allowed (a list is
empty).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.answer_templates import AnswerTemplate, template_of
from groupproof.protocol.wire.body_shapes import REWRITES
from groupproof.protocol.wire.codec import ENTRIES_MAX, Column, MalformedBytes, Reader, Shape, Writer
from groupproof.protocol.wire.codec_source import reader_of, writer_of
from groupproof.protocol.wire.kafka_shapes import VERSIONS, Side, field_names, has_flexible_header, shape_of
from groupproof.protocol.wire.message_conversion import (
    BodyMaker,
    MessagePair,
    body_maker,
    body_of,
    is_whole,
    message_shape,
    registered_messages,
    request_of,
    response_of,
)
from groupproof.protocol.wire.messages import GroupRequest, GroupResponse

__all__ = [
    "FRAME_BYTES_MAX", "VERSIONS", "FrameTooLong", "Framer", "FramingError", "NegativeLength", "UnsupportedVersion", "WireError", "WireRequest", "body_of", "frame",
    "read_as_messages", "read_request", "read_response", "response_of", "warm", "write_answer", "write_request", "write_response",
]  # fmt: skip


FRAME_BYTES_MAX: Final = 100 * 1024 * 1024
"""Kafka's default of `socket.request.max.bytes`."""

_LENGTH: Final = struct.Struct(">i")


class WireError(Exception):
    """A frame that cannot be read. `str()` gives the reason."""


class FramingError(WireError):
    """A stream without valid frames. The connection cannot continue. `first_bytes` are those of the invalid frame."""

    def __init__(self, reason: str, first_bytes: bytes = b"") -> None:
        super().__init__(reason)
        self.first_bytes = first_bytes


class FrameTooLong(FramingError):
    """A frame whose announced length is above the limit."""


class NegativeLength(FramingError):
    """A frame whose announced length is below zero."""


class Framer:
    """Splits a stream into frames. It holds at most one incomplete frame of `frame_bytes_max` bytes."""

    def __init__(self, frame_bytes_max: int = FRAME_BYTES_MAX) -> None:
        self._frame_bytes_max = frame_bytes_max
        self._held = bytearray()

    @property
    def pending(self) -> int:
        """Return the bytes of the incomplete frame. More than 0 at the stream's end means that a frame was cut."""
        return len(self._held)

    def feed(self, data: bytes) -> list[bytes]:
        """Return the frames that `data` completes, without their length prefix.

        Raises `FrameTooLong` or `NegativeLength` as soon as the length is known, before the frame's bytes are held. Complete frames before it in the
        same `data` are then lost with the connection. The framer must not be fed after an error.
        """
        held = self._held
        if not held and len(data) > _LENGTH.size and len(data) - _LENGTH.size == self._length(data, 0):
            return [data[_LENGTH.size :]]
        source: bytes | bytearray = data  # usually `data` consists of whole frames: then only these are copied
        if held:
            held += data
            source = held
        frames: list[bytes] = []
        at = 0
        while len(source) - at >= _LENGTH.size:
            start = at + _LENGTH.size
            end = start + self._length(source, at)
            if end > len(source):
                break
            frames.append(bytes(source[start:end]))
            at = end
        if source is held:
            del held[:at]
        else:
            held += data[at:]
        return frames

    def _length(self, held: bytes | bytearray, at: int) -> int:
        length: int = _LENGTH.unpack_from(held, at)[0]
        if 0 <= length <= self._frame_bytes_max:
            return length
        first = bytes(held[at : at + 16])
        if length < 0:
            raise NegativeLength(f"a frame of {length} bytes was announced; first bytes {first.hex()}", first)
        raise FrameTooLong(f"a frame of {length} bytes was announced, the bound is {self._frame_bytes_max}; first bytes {first.hex()}", first)


def frame(payload: bytes) -> bytes:
    """Return `payload` with its length prefix."""
    return _LENGTH.pack(len(payload)) + payload


class UnsupportedVersion(WireError):
    """An API or a version that this codec does not read. `api` is None for an unknown API key.

    An ApiVersions request gets an answer of v0 with UNSUPPORTED_VERSION and the version list (KIP-511).
    """

    def __init__(self, api: Api | None, api_key: int, version: int, correlation: int) -> None:
        reason = f"{api.title} is read from v{VERSIONS[api][0]} to v{VERSIONS[api][1]}" if api is not None else "no such API is known"
        super().__init__(f"a request with API key {api_key} and version {version}: {reason}")
        self.api = api
        self.api_key = api_key
        self.version = version
        self.correlation = correlation


class WireRequest:
    """One request as received. `body` has the newest shape, for every version; `message` is the same as a class of `messages.py`.

    One of the two was read; the other is made on demand. `message` raises `ValueError` for an API without a class. `surplus` counts bytes after the
    body, which Apache Kafka accepts: librdkafka 2.16 sends three when it asks for all topics.
    """

    __slots__ = ("api", "body", "client_id", "correlation", "message", "surplus", "version")
    body: dict[str, Any]
    message: GroupRequest

    def __init__(
        self,
        *,
        api: Api,
        version: int,
        correlation: int,
        client_id: str | None,
        body: dict[str, Any] | None = None,
        message: Any = None,
        surplus: int = 0,
    ) -> None:
        self.api, self.version, self.correlation, self.client_id, self.surplus = api, version, correlation, client_id, surplus
        if body is not None:
            self.body = body
        if message is not None:
            self.message = message

    def __getattr__(self, name: str) -> Any:
        """Make `message` or `body` at its first use."""
        if name == "message":
            self.message = request_of(self.api, self.body)
            return self.message
        if name == "body":
            body_of_message = _codec(self.api, self.version, "request").body_of_message
            assert body_of_message is not None, "only such a request was read as a message"
            self.body = body_of_message(self.message)
            return self.body
        raise AttributeError(name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WireRequest) and self._values == other._values

    def __repr__(self) -> str:
        return f"WireRequest({', '.join(map(repr, self._values))})"

    @property
    def _values(self) -> tuple[Any, ...]:
        return self.api, self.version, self.correlation, self.client_id, self.body, self.surplus


def read_request(frame: bytes, *, is_for_machine: bool = False) -> WireRequest:
    """Read a frame without its length prefix; raise `WireError`, or `UnsupportedVersion` for an unknown API or version.

    With `is_for_machine` it is read as a message where its version allows that; otherwise as a body.
    """
    if len(frame) < _REQUEST_HEADER.size:
        raise WireError(f"a request of {len(frame)} bytes is shorter than its header")
    api_key, version, correlation = _REQUEST_HEADER.unpack_from(frame)
    try:
        codec = _REQUESTS[api_key, version]
    except KeyError:
        codec = _request_codec(api_key, version, correlation)
    if is_for_machine and codec.repeated is not None and (found := codec.repeated.get(frame[_REQUEST_HEADER.size :])) is not None:
        client_id, message, surplus = found
        return WireRequest(api=codec.api, version=version, correlation=correlation, client_id=client_id, message=message, surplus=surplus)
    left = [ENTRIES_MAX]
    try:
        header, at = codec.read_header(frame, _REQUEST_HEADER.size, left)
        message, body = None, None
        if is_for_machine and codec.read_message is not None:
            message, at = codec.read_message(frame, at, left)
        else:
            body, at = codec.read(frame, at, left)
    except _UNREADABLE as error:
        raise WireError(f"{codec.title} cannot be read: {_why(error)}") from None
    if body is not None and codec.newest is not None:
        body = codec.newest(body, version)
    client_id, surplus = header["client id"], len(frame) - at
    if message is not None and codec.repeated is not None and len(frame) <= _REPEATED_BYTES_MAX:
        if len(codec.repeated) >= _REPEATED_MAX:
            codec.repeated.clear()
        codec.repeated[frame[_REQUEST_HEADER.size :]] = client_id, message, surplus
    return WireRequest(api=codec.api, version=version, correlation=correlation, client_id=client_id, body=body, message=message, surplus=surplus)


def write_request(api: Api, version: int, correlation: int, client_id: str | None, body: Mapping[str, Any]) -> bytes:
    """Return a frame without its length prefix; raise `ValueError` for a body that the version cannot express."""
    codec = _codec(api, version, "request")
    out = bytearray(_REQUEST_HEADER.pack(api, version, correlation))
    codec.write_header(out, {"client id": client_id})
    return _written(codec, out, body)


def write_response(api: Api, version: int, correlation: int, body: Mapping[str, Any]) -> bytes:
    """Return a frame without its length prefix; raise `ValueError` for a body that the version cannot express."""
    codec = _codec(api, version, "response")
    out = bytearray(_CORRELATION.pack(correlation) + codec.no_tags)
    return _written(codec, out, body)


def write_answer(message: GroupResponse, version: int, correlation: int) -> bytes:
    """Return a message as a response with its length prefix; raise `ValueError` for one that the version cannot express."""
    codec = _codec(message.api, version, "response")
    if codec.write_message is None:
        return frame(write_response(message.api, version, correlation, body_of(message)))
    if codec.old_message is not None:
        message = codec.old_message(message)
    template = None if getattr(message, "members", ()) else codec.template  # a leader's answer is unique
    if template is not None and (written := template.written(message, correlation)) is not None:
        return written
    out = bytearray(_LENGTH_AND_CORRELATION.pack(0, correlation) + codec.no_tags)
    try:
        codec.write_message(out, message)
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"{codec.title} cannot be written: {error}") from error
    _LENGTH.pack_into(out, 0, len(out) - _LENGTH.size)
    return bytes(out)


def read_response(api: Api, version: int, frame: bytes) -> tuple[int, dict[str, Any]]:
    """Read the answer to a request of `api` and `version`; return its correlation id and body, or raise `WireError`.

    An ApiVersions answer that refuses the version is always in v0, and is read as such (KIP-511).
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


@contextmanager
def read_as_messages(classes: Iterable[MessagePair]) -> Iterator[None]:
    """Let the machine get messages of these classes for the duration of the context. The compiled codecs are dropped before and after."""
    added = tuple(classes)
    with registered_messages(added):
        _forget_compiled()
        yield
    _forget_compiled()


def _forget_compiled() -> None:
    _codec.cache_clear()
    _REQUESTS.clear()


def warm(apis: Iterable[Api] = Api) -> None:
    """Load every version of `apis` now (some 10 ms each), so that no first request waits for it."""
    for api in apis:
        for version in range(VERSIONS[api][0], VERSIONS[api][1] + 1):
            _codec(api, version, "request")
            _codec(api, version, "response")


class _Codec:
    """Reader and writer of one version of one API's request or response."""

    __slots__ = (
        "api", "body_of_message", "fields", "newest", "no_tags", "old", "old_message", "read", "read_header", "read_message", "repeated", "template",
        "title", "version", "write", "write_header", "write_message",
    )  # fmt: skip

    def __init__(self, api: Api, version: int, side: Side) -> None:
        rewrite = REWRITES.get((api, side))
        if rewrite is not None and version > rewrite.version_max:
            rewrite = None
        self.newest = None if rewrite is None else rewrite.newest
        self.old = None if rewrite is None else rewrite.old
        shape, is_flexible = shape_of(api, version, side), has_flexible_header(api, version, side)
        self.api, self.version, self.title = api, version, shape.title
        self.read: Reader = reader_of(shape)
        self.write: Writer = writer_of(shape)
        self.fields = field_names(api, side)
        self.read_header, self.write_header = _HEADERS[side, is_flexible]
        self.read_message: Reader | None = None
        self.write_message: Writer | None = None
        self.body_of_message: BodyMaker | None = None
        self.no_tags = b"\0" if is_flexible else b""
        self.old_message = None if rewrite is None else rewrite.old_message
        self.template: AnswerTemplate | None = None
        typed = message_shape(shape, api, side) if rewrite is None or rewrite.old_message is not None else None
        if typed is not None and side == "response":
            self.write_message, self.template = writer_of(typed), template_of(api, typed, self.no_tags)
        elif typed is not None and is_whole(typed):
            self.read_message, self.body_of_message = reader_of(typed), body_maker(typed)
        # The decoded requests by their bytes after the correlation id: a member repeats the same heartbeat, and sends the same JoinGroup in many
        # rebalances. A message never changes.
        self.repeated: dict[bytes, tuple[str | None, Any, int]] | None = {} if api in _REPEATED and side == "request" else None


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
            if not body.keys() <= codec.fields:
                raise ValueError(f"it has no field {', '.join(sorted(body.keys() - codec.fields))}")
            body = codec.old(body, codec.version)
        codec.write(out, body)
    except (ValueError, TypeError, AttributeError, KeyError, IndexError) as error:
        raise ValueError(f"{codec.title} cannot be written: {error}") from error
    return bytes(out)


def _why(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"text that is not UTF-8: {error.object[error.start : error.start + 8]!r}"
    return str(error) if isinstance(error, MalformedBytes) else "it ends early"


_REPEATED: Final = frozenset({Api.HEARTBEAT, Api.CONSUMER_GROUP_HEARTBEAT, Api.JOIN_GROUP})
_REPEATED_MAX: Final = 8_192
_REPEATED_BYTES_MAX: Final = 512
_APIS: Final = {int(api): api for api in Api}
_REQUEST_HEADER: Final = struct.Struct(">hhi")
_CORRELATION: Final = struct.Struct(">i")
_LENGTH_AND_CORRELATION: Final = struct.Struct(">ii")
_UNSUPPORTED: Final = b"\0\x23"
_UNREADABLE: Final = (MalformedBytes, IndexError, struct.error, UnicodeDecodeError)
# The client id has the old string form in flexible headers too (Kafka's RequestHeader.json). These shapes begin after the correlation id.
_HEADER_COLUMNS: Final[dict[Side, tuple[Column, ...]]] = {
    "request": (Column(name="client id", kind="string", is_nullable=True),), "response": (),
}  # fmt: skip
_HEADERS: Final = {
    (side, is_flexible): (reader_of(shape), writer_of(shape))
    for side, columns in _HEADER_COLUMNS.items()
    for is_flexible in (False, True)
    for shape in (Shape(title="header", is_flexible=is_flexible, columns=columns),)
}

"""Reads a capture of brokers' traffic as a trace: the requests and answers of each connection to a port, decoded by the kit's own wire. Pure.

A connection whose beginning was not captured is read from its first segment that begins with a request. Frames of APIs that groups do not use,
and of other protocols, are skipped; TLS cannot be read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from groupproof.harness.running.importing.capture_file import packets_of
from groupproof.harness.running.importing.imported_event import ImportedEvent
from groupproof.harness.running.importing.segments import End, Segment, segment_of
from groupproof.harness.running.importing.tcp_streams import HalfStream
from groupproof.harness.subjects.tap.addresses import named_in
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import FRAME_BYTES_MAX, Framer, FramingError, WireError, WireRequest, read_request, read_response
from groupproof.protocol.wire.observation_columns import request_columns, response_columns

__all__ = ["API_MAX", "VERSION_MAX", "read_capture"]

_UNREAD: Final = frozenset({Api.SASL_AUTHENTICATE})
_API_ENDS: Final = 8
API_MAX: Final = 120
VERSION_MAX: Final = 30
"""API keys and versions stay below these limits for years to come; a frame with a higher number is no request."""


def read_capture(data: bytes, *, ports: Collection[int]) -> Iterator[ImportedEvent]:
    """Yield the requests, answers, begin and end of every connection to one of `ports`; raise `CaptureError` if the data is no capture."""
    connections: dict[tuple[End, End], _Connection] = {}
    nodes: dict[int, int] = {}
    numbers = 0
    for packet in packets_of(data):
        segment = segment_of(packet)
        if segment is None or not {segment.source[1], segment.target[1]} & set(ports):
            continue
        is_request = segment.target[1] in ports
        ends = (segment.source, segment.target) if is_request else (segment.target, segment.source)
        if ends not in connections or (segment.is_syn and is_request):
            numbers += 1
            connections[ends] = _Connection(number=numbers, ends=ends, nodes=nodes)
        yield from connections[ends].feed(segment, is_request=is_request)


@dataclass(slots=True, kw_only=True)
class _Connection:
    """One client's connection: both directions, and the requests without an answer yet. `nodes` are the brokers' ids by port."""

    number: int
    ends: tuple[End, End]
    nodes: dict[int, int]
    _requests: HalfStream = field(default_factory=HalfStream)
    _answers: HalfStream = field(default_factory=HalfStream)
    _asked: dict[int, tuple[WireRequest, dict[str, Any]]] = field(default_factory=dict)
    _framers: dict[bool, Framer] = field(default_factory=dict)
    _is_over: bool = False

    def feed(self, segment: Segment, *, is_request: bool) -> Iterator[ImportedEvent]:
        half = self._requests if is_request else self._answers
        if segment.is_syn:
            half.start(segment.number)
            if is_request:
                yield self._link(segment, "connected")
            return
        for payload in self._frames(half.feed(segment.number, segment.data), is_request=is_request):
            yield from self._request(segment, payload) if is_request else self._answer(segment, payload)
        if segment.is_over and not self._is_over:
            self._is_over = True
            yield self._link(segment, "closed", by="client" if is_request else "broker")

    def _frames(self, data: bytes, *, is_request: bool) -> list[bytes]:
        """Return the whole frames; a direction that cannot be parsed starts again with the next segment."""
        framer = self._framers.setdefault(is_request, Framer(FRAME_BYTES_MAX))
        if not framer.pending and not self._begins(data, is_request=is_request):
            return []
        try:
            return list(framer.feed(data))
        except FramingError:
            self._framers[is_request] = Framer(FRAME_BYTES_MAX)
            return []

    def _begins(self, data: bytes, *, is_request: bool) -> bool:
        """Return whether a frame can begin here: a request by its API and version, an answer by its correlation id."""
        if not is_request:
            return int.from_bytes(data[4:8], "big", signed=True) in self._asked
        return len(data) < _API_ENDS or (int.from_bytes(data[4:6], "big") <= API_MAX and int.from_bytes(data[6:8], "big") <= VERSION_MAX)

    def _link(self, segment: Segment, name: str, **more: str) -> ImportedEvent:
        body = {"name": name, "peer": "{}:{}".format(*self.ends[0]), **more}
        return ImportedEvent(at_ms=segment.at_ms, kind="event", columns={"who": "link", "connection": self.number, "body": body})

    def _request(self, segment: Segment, payload: bytes) -> Iterator[ImportedEvent]:
        try:
            wire = read_request(payload)
        except WireError:
            return
        if wire.api in _UNREAD:
            return
        who, body = request_columns(wire.api, wire.body)
        columns = {
            "node": self.nodes.get(self.ends[1][1]), "connection": self.number, "client": wire.client_id, "api": wire.api.title, "version": wire.version, "correlation": wire.correlation, **who,
        }  # fmt: skip
        self._asked[wire.correlation] = (wire, columns)
        yield ImportedEvent(at_ms=segment.at_ms, kind="request", columns={**columns, **body})

    def _answer(self, segment: Segment, payload: bytes) -> Iterator[ImportedEvent]:
        asked = self._asked.pop(int.from_bytes(payload[:4], "big", signed=True), None)
        if asked is None:
            return
        wire, columns = asked
        try:
            _, body = read_response(wire.api, wire.version, payload)
        except WireError:
            return
        self.nodes.update({named.address[1]: named.node for named in named_in(wire.api, body)})
        yield ImportedEvent(at_ms=segment.at_ms, kind="response", columns={**columns, **response_columns(wire.api, wire.body, body)})

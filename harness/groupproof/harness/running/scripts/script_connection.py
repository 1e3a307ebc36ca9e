"""One connection of a script. It sends requests and receives answers, and records each with its frame when it is sent or arrives.

Unlike a client's connection it has no protocol state: it sends what the script says, and any received bytes are evidence.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import trio

from groupproof.protocol.trace import Recorder
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import Framer, WireError, frame, read_response, write_request
from groupproof.protocol.wire.observation_columns import request_columns, response_columns
from groupproof.protocol.wire.throttle_time import obeyed_ms

__all__ = ["BROKEN", "RAW_BYTES_MAX", "Exchange", "ScriptLink"]

BROKEN = (OSError, trio.BrokenResourceError, trio.ClosedResourceError)
"""The exceptions of a stream whose other side is gone."""

RAW_BYTES_MAX = 16 << 10
"""Longer frames are not kept in the trace beside their decoded bodies."""

_READ_BYTES = 65536
_EXTRACTED = frozenset({Api.PRODUCE, Api.FETCH, Api.SASL_HANDSHAKE, Api.SASL_AUTHENTICATE})
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER on, for zero seconds: close() sends RST


@dataclass(slots=True, kw_only=True)
class Exchange:
    """A request and, once `done`, its answer's body; None where the connection ended before it."""

    member: str
    label: str
    api: Api
    version: int
    columns: Mapping[str, Any]
    asked: Mapping[str, Any]
    done: trio.Event = field(default_factory=trio.Event)
    answer: dict[str, Any] | None = None


class ScriptLink:
    """A connection called `name` to broker `node_id`. `on_answer` is called with each exchange before its waiters go on.

    `throttle_ms` is the longest throttle time of an answer.
    """

    def __init__(
        self, name: str, number: int, node_id: int | None, stream: trio.abc.Stream, recorder: Recorder, *, on_answer: Callable[[Exchange], None]
    ) -> None:
        self.name = name
        self.number = number
        self.node_id = node_id
        self.closed = trio.Event()
        self._stream = stream
        self._recorder = recorder
        self._on_answer = on_answer
        self._framer = Framer()
        self._open: dict[int, Exchange] = {}
        self._correlation = 0
        self._is_raw = False
        self._may_read = trio.Event()
        self._may_read.set()
        self._reading = trio.CancelScope()
        self.throttle_ms = 0.0
        self._free_at = trio.current_time()
        self._tell("connected")

    @property
    def is_open(self) -> bool:
        return not self.closed.is_set()

    async def until_free(self) -> None:
        """Return when a throttled client may send again (KIP-219). Times beyond any quota are not waited for: the answer is judged."""
        if self._free_at > trio.current_time():
            await trio.sleep_until(self._free_at)

    async def ask(self, *, member: str, label: str, api: Api, version: int, body: Mapping[str, Any]) -> Exchange:
        """Send a request; raise `ValueError` for a body that the version cannot encode. A connection that breaks meanwhile is recorded as closed."""
        self._correlation += 1
        payload = write_request(api, version, self._correlation, member, body)
        who, body_columns = request_columns(api, dict(body))
        at = {"who": "member", "node": self.node_id, "connection": self.number, "client": member, "api": api.title, "version": version}
        columns = {**at, "correlation": self._correlation, "detail": label or None, **who}
        exchange = Exchange(member=member, label=label, api=api, version=version, columns=columns, asked=body)
        self._open[self._correlation] = exchange
        self._recorder.record("request", **columns, **_whole(api, body_columns, body), raw=_kept(payload))
        await self._send(frame(payload))
        return exchange

    async def send_raw(self, data: bytes) -> None:
        """Send bytes unchanged. The broker's answer is recorded as it arrives."""
        self._is_raw = True
        self._tell("raw", bytes=len(data), raw=data)
        await self._send(data)

    async def _send(self, data: bytes) -> None:
        try:
            await self._stream.send_all(data)
        except BROKEN as error:
            self._over(f"the connection broke: {error.__cause__ or error}", by="broker")

    async def read(self) -> None:
        """Receive answers until the connection ends."""
        while self.is_open:
            if not self._may_read.is_set():
                await self._may_read.wait()
                continue
            with trio.CancelScope() as self._reading:
                await self._read_on()

    async def _read_on(self) -> None:
        try:
            while self.is_open:
                data = await self._stream.receive_some(_READ_BYTES)
                if not data:
                    self._over("the broker closed it", by="broker")
                for payload in self._framer.feed(bytes(data)):
                    if self.is_open:  # answers that were under way when the connection was cut belong to nobody
                        self._take(payload)
        except BROKEN as error:
            self._over(f"the connection broke: {error.__cause__ or error}", by="broker")
        except WireError as error:
            self._recorder.record("event", who="kit", connection=self.number, node=self.node_id, body={"name": "garbage", "why": str(error)})
            await self.cut()

    def _take(self, payload: bytes) -> None:
        exchange = self._open.get(int.from_bytes(payload[:4], "big", signed=True))
        if exchange is None and self._is_raw:
            self._tell("answered-raw", bytes=len(payload), raw=payload)
            return
        if exchange is None:
            raise WireError(f"an answer without a request: {payload[:24].hex(' ')}")
        correlation, body = read_response(exchange.api, exchange.version, payload)
        del self._open[correlation]
        columns = response_columns(exchange.api, exchange.asked, body)
        self._recorder.record("response", **{**exchange.columns, **_whole(exchange.api, columns, body)}, raw=_kept(payload))
        exchange.answer = body
        self._obey(obeyed_ms(body))
        self._on_answer(exchange)
        exchange.done.set()

    def _obey(self, silent_ms: float) -> None:
        if silent_ms:
            self.throttle_ms = max(self.throttle_ms, silent_ms)
            self._free_at = max(self._free_at, trio.current_time() + silent_ms / 1000)

    def stop_reading(self) -> None:
        """Leave received bytes in the kernel's buffers; the rest piles up at the broker.

        The buffer sizes stay as they are: TCP never forgets a small one.
        """
        self._may_read = trio.Event()
        self._reading.cancel()

    def read_again(self) -> None:
        self._may_read.set()

    async def cut(self, *, resets: bool = False) -> None:
        """Close the connection without a message; with `resets` by a TCP reset, where there is a socket. Closing twice is no error."""
        if resets:
            socket_of(self._stream, socket.SO_LINGER, _RESET)
        self._over("the script cut it", by="client")
        with suppress(*BROKEN):
            await trio.aclose_forcefully(self._stream)
        self._may_read.set()

    def _over(self, reason: str, *, by: str) -> None:
        """Record the end, once, with the unanswered requests, and release their waiters."""
        if not self.is_open:
            return
        owed = [exchange.label or exchange.api.title for exchange in self._open.values()]
        self._tell("closed", by=by, reason=reason, connection=self.name, owed=owed)
        self.closed.set()
        for exchange in self._open.values():
            exchange.done.set()
        self._open.clear()

    def _tell(self, name: str, *, raw: bytes | None = None, **body: Any) -> None:
        kept = None if raw is None else _kept(raw)
        self._recorder.record("event", who="link", node=self.node_id, connection=self.number, body={"name": name, **body}, raw=kept)


def socket_of(stream: trio.abc.Stream, option: int, value: int | bytes) -> None:
    """Set an option of the socket under a stream, TLS or not; do nothing without a socket."""
    inner = getattr(stream, "transport_stream", stream)
    setsockopt = getattr(inner, "setsockopt", None)
    if setsockopt is not None:
        setsockopt(socket.SOL_SOCKET, option, value)


def _whole(api: Api, columns: Mapping[str, Any], body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns with the whole body, where a client's trace has only an extract."""
    return {**columns, **({} if api in _EXTRACTED else {"body": dict(body)})}


def _kept(payload: bytes) -> bytes | None:
    return payload if len(payload) <= RAW_BYTES_MAX else None

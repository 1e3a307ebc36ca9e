"""One connection of a client to one broker: opens itself, negotiates versions, and matches answers to requests by their order (trio)."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

import trio

from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import FRAME_BYTES_MAX, VERSIONS, Framer, WireError, frame, read_response, write_request

__all__ = ["REQUESTS_MAX", "Answered", "Connect", "Connection", "Exchange", "NoCommonVersion", "Observer"]

Connect = Callable[[str, int], Awaitable[trio.abc.Stream]]
Answered = Callable[[dict[str, Any] | None], None]
"""Takes the body of the answer, or None if the connection ended first."""


class Exchange(NamedTuple):
    """A request when it is sent (`answer` is None), or with its answer. `connection` is the client's number of the connection."""

    connection: int
    api: Api
    version: int
    correlation: int
    request: Mapping[str, Any]
    answer: Mapping[str, Any] | None


Observer = Callable[[Exchange], None]

REQUESTS_MAX: Final = 1_000
"""The maximum of requests that wait to be written. One more ends the connection."""

_CONNECT_S: Final = 10.0
# From these versions on, bodies name topics by id. This client does not use them.
_BY_NAME: Final = {Api.FETCH: 12, Api.OFFSET_COMMIT: 9, Api.OFFSET_FETCH: 9}


class NoCommonVersion(Exception):
    """The broker and this client have no common version of an API. `str()` names both ranges."""


_ENDS: Final = (
    OSError, trio.TooSlowError, trio.BrokenResourceError, trio.ClosedResourceError, WireError, NoCommonVersion, ValueError,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Request:
    api: Api
    body: Mapping[str, Any]
    answered: Answered


class Connection:
    """Sends requests in the order of `send`. It calls `closed` once, after each unanswered request got None.

    The argument of `closed` is the reason: `NoCommonVersion` if a retry is pointless, otherwise a `ConnectionError`. A request without an answer for
    `timeout_s` ends the connection. It is infinite for group requests, because the member times them itself. If it is finite, `idle` is called after
    `idle_s` without a request or an answer.
    `observer` gets each request and answer, except ApiVersions. With `repeats_correlations` every request has the same correlation id.
    """

    def __init__(
        self,
        connect: Connect,
        host: str,
        port: int,
        *,
        client_id: str,
        versions: Mapping[Api, int],
        closed: Callable[[Exception], None],
        timeout_s: float = math.inf,
        idle_s: float = math.inf,
        idle: Callable[[], None] = lambda: None,
        observer: Observer | None = None,
        number: int = 0,
        repeats_correlations: bool = False,
    ) -> None:
        self._timeout_s, self._observer, self._number = timeout_s, observer, number
        self._idle_s, self._idle, self._used = idle_s, idle, 0.0
        self._correlation_step = 0 if repeats_correlations else 1
        self._connect, self._host, self._port = connect, host, port
        self._client_id, self._newest, self._closed = client_id, versions, closed
        self._ranges: dict[int, tuple[int, int]] = {}
        self._outgoing, self._to_write = trio.open_memory_channel[_Request](REQUESTS_MAX)
        self._unanswered: deque[tuple[int, Api, int, _Request]] = deque()
        self._due: deque[float] = deque()
        self._writing: Answered | None = None
        self._scope = trio.CancelScope()
        self._correlation = 0
        self._reason: Exception = ConnectionError("closed")

    def send(self, api: Api, body: Mapping[str, Any], answered: Answered) -> None:
        """Queue a request. `answered` is called later, never during this call."""
        self._used = trio.current_time()
        try:
            self._outgoing.send_nowait(_Request(api, body, answered))
        except trio.WouldBlock:
            self.close(f"{REQUESTS_MAX} requests wait to be written")

    def close(self, reason: str = "closed") -> None:
        """End the connection for this reason, unless it is already ending."""
        if not self._scope.cancel_called:
            self._reason = ConnectionError(reason)
        self._scope.cancel()

    async def run(self) -> None:
        """Run until the peer, an error or `close` ends the connection. Never raise because of a peer."""
        with self._scope:
            await self._ending(self._live)
        self._end()

    async def _ending(self, live: Callable[..., Awaitable[None]], *args: Any) -> None:
        """Run a part of the connection. The end of any part ends the connection."""
        try:
            await live(*args)
        except _ENDS as error:
            kind = NoCommonVersion if isinstance(error, NoCommonVersion) else ConnectionError
            self._reason = kind(f"{self._host}:{self._port}: {str(error) or type(error).__name__}")
        self._scope.cancel()

    def _end(self) -> None:
        self._outgoing.close()
        waiting = [request.answered for *_, request in self._unanswered]
        waiting += [] if self._writing is None else [self._writing]
        while True:
            try:
                waiting.append(self._to_write.receive_nowait().answered)
            except (trio.WouldBlock, trio.EndOfChannel):
                break
        self._unanswered.clear()
        for answered in waiting:
            answered(None)
        self._closed(self._reason)

    async def _live(self) -> None:
        with trio.fail_after(_CONNECT_S):
            stream = await self._connect(self._host, self._port)
        async with stream:
            framer = Framer(FRAME_BYTES_MAX)
            await self._agree(stream, framer)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._ending, self._write, stream)
                nursery.start_soon(self._ending, self._read, stream, framer)
                if self._timeout_s < math.inf:
                    nursery.start_soon(self._ending, self._watch)

    async def _agree(self, stream: trio.abc.Stream, framer: Framer) -> None:
        """Request the broker's versions, with v0 if the broker refuses the newest (KIP-511)."""
        for version in dict.fromkeys((min(self._newest.get(Api.API_VERSIONS, 3), 3), 0)):
            self._correlation += self._correlation_step
            body = {"client_software_name": "groupproof", "client_software_version": "0"}
            await stream.send_all(frame(write_request(Api.API_VERSIONS, version, self._correlation, self._client_id, body)))
            _, answer = _read_answer(Api.API_VERSIONS, version, await _one_frame(stream, framer))
            if answer["error_code"] == 0:
                self._ranges = {api["api_key"]: (api["min_version"], api["max_version"]) for api in answer["api_keys"]}
                return
        raise NoCommonVersion("the broker refuses ApiVersions v0 and v3")

    def _version(self, api: Api) -> int:
        ours = VERSIONS[api]
        if int(api) not in self._ranges:
            raise NoCommonVersion(f"the broker does not speak {api.title}")
        theirs = self._ranges[int(api)]
        newest = min(ours[1], theirs[1], _BY_NAME.get(api, ours[1]), self._newest.get(api, ours[1]))
        if newest < max(ours[0], theirs[0]):
            raise NoCommonVersion(f"the broker speaks {api.title} v{theirs[0]} to v{theirs[1]}, this client v{ours[0]} to v{ours[1]}")
        return newest

    async def _write(self, stream: trio.abc.Stream) -> None:
        async for request in self._to_write:
            self._correlation += self._correlation_step
            self._writing = request.answered
            version = self._version(request.api)
            data = frame(write_request(request.api, version, self._correlation, self._client_id, request.body))
            self._unanswered.append((self._correlation, request.api, version, request))
            self._due.append(trio.current_time() + self._timeout_s)
            self._writing = None
            if self._observer is not None:
                self._observer(Exchange(self._number, request.api, version, self._correlation, request.body, None))
            await stream.send_all(data)

    async def _watch(self) -> None:
        """End the connection when its oldest request is overdue, and report when it is idle."""
        while True:
            now = trio.current_time()
            if self._due and now >= self._due[0]:
                raise trio.TooSlowError(f"no answer for {self._timeout_s:g} s")
            if not self._due and now >= self._used + self._idle_s:
                self._used = now
                self._idle()
            await trio.sleep_until(self._due[0] if self._due else min(now + self._timeout_s, self._used + self._idle_s))

    async def _read(self, stream: trio.abc.Stream, framer: Framer) -> None:
        while data := await stream.receive_some():
            for item in framer.feed(bytes(data)):
                if not self._unanswered:
                    raise WireError("an answer came without a request")
                correlation, api, version, request = self._unanswered[0]
                got, body = _read_answer(api, version, item)
                if got != correlation:
                    raise WireError(f"the answer to request {got} came where {correlation} was due")
                self._unanswered.popleft()
                self._due.popleft()
                self._used = trio.current_time()
                if self._observer is not None:
                    self._observer(Exchange(self._number, api, version, correlation, request.body, body))
                request.answered(body)
        self._reason = ConnectionError(f"{self._host}:{self._port} closed the connection")


_CORRELATION_BYTES: Final = 4


def _read_answer(api: Api, version: int, payload: bytes) -> tuple[int, dict[str, Any]]:
    if api not in _SHARED or len(payload) < _CORRELATION_BYTES:
        return read_response(api, version, payload)
    return int.from_bytes(payload[:_CORRELATION_BYTES], "big", signed=True), _shared(api, version, payload[_CORRELATION_BYTES:])


_SHARED: Final = frozenset({Api.API_VERSIONS, Api.METADATA})


@lru_cache(maxsize=32)
def _shared(api: Api, version: int, answer: bytes) -> dict[str, Any]:
    """Decode an answer without its correlation id.

    All members in one process share the result, and nobody changes it. Decoding a thousand partitions takes longer than joining.
    """
    return read_response(api, version, bytes(_CORRELATION_BYTES) + answer)[1]


async def _one_frame(stream: trio.abc.Stream, framer: Framer) -> bytes:
    while data := await stream.receive_some():
        if frames := framer.feed(bytes(data)):
            return frames[0]
    raise trio.BrokenResourceError("the broker closed the connection")

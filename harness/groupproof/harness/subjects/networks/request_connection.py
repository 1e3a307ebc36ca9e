"""A connection for one request at a time, outside the cases: is the broker up, create a topic, report the settings."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import trio

from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import VERSIONS, Framer, WireError, frame, read_response, write_request
from groupproof.protocol.wire.throttle_time import obeyed_ms

__all__ = ["GONE", "Asker", "Connect", "NoCommonVersion", "Ranges", "asking", "versions_of"]

ANSWER_S = 30.0
CLIENT_ID = "groupproof"

Connect = Callable[[str, int], Awaitable[trio.abc.Stream]]
"""Takes a host and a port, and returns a stream that is ready for frames."""

Ranges = Mapping[Api, tuple[int, int]]
"""The API versions that a broker speaks, by its ApiVersions."""


class NoCommonVersion(Exception):
    """The broker and the kit share no version of an API. `str()` names the versions of both."""


GONE = (OSError, trio.BrokenResourceError, trio.ClosedResourceError, trio.TooSlowError, WireError, EOFError)
"""The errors of a broker that is absent, not up yet, or no broker."""


class Asker:
    """Sends requests over a stream that is ready for frames. Two tasks must not use it at once."""

    def __init__(self, stream: trio.abc.Stream, client_id: str = CLIENT_ID) -> None:
        self._stream = stream
        self._client_id = client_id
        self._framer = Framer()
        self._correlation = 0
        self._free_at = 0.0
        self.ranges: Ranges = {}

    async def greet(self) -> Ranges:
        """Learn the broker's versions. Raise one of `GONE`, or `NoCommonVersion` where it refuses even v0."""
        answer = await self.ask(Api.API_VERSIONS, {}, version=0)
        if answer["error_code"]:
            raise NoCommonVersion(f"it answers ApiVersions v0 with error {answer['error_code']}")
        by_key = {int(api): api for api in Api}
        self.ranges = {by_key[api["api_key"]]: (api["min_version"], api["max_version"]) for api in answer["api_keys"] if api["api_key"] in by_key}
        return self.ranges

    def version(self, api: Api, newest: int | None = None) -> int:
        """Return the newest version that both sides speak. Raise `NoCommonVersion`."""
        ours, theirs = VERSIONS[api], self.ranges.get(api)
        if theirs is None:
            raise NoCommonVersion(f"it does not speak {api.title}")
        version = min(ours[1], theirs[1], ours[1] if newest is None else newest)
        if version < max(ours[0], theirs[0]):
            raise NoCommonVersion(f"it speaks {api.title} v{theirs[0]} to v{theirs[1]}, the kit v{ours[0]} to v{ours[1]}")
        return version

    async def ask(self, api: Api, body: Mapping[str, Any], *, version: int | None = None, newest: int | None = None) -> dict[str, Any]:
        """Return the response body. Raise one of `GONE`, or `NoCommonVersion`."""
        chosen = self.version(api, newest) if version is None else version
        self._correlation += 1
        try:
            with trio.fail_after(ANSWER_S):
                await self._stream.send_all(frame(write_request(api, chosen, self._correlation, self._client_id, body)))
                correlation, answer = read_response(api, chosen, await self.next_frame())
        except trio.TooSlowError as slow:
            raise trio.TooSlowError(f"no answer to {api.title} within {ANSWER_S:g} s") from slow
        if correlation != self._correlation:
            raise WireError(f"the answer to request {correlation} came where {self._correlation} was due")
        self._free_at = trio.current_time() + obeyed_ms(answer) / 1000
        return answer

    async def until_free(self) -> None:
        """Return when a throttled client may send again (KIP-219): whoever measures times waits for that first."""
        if self._free_at > trio.current_time():
            await trio.sleep_until(self._free_at)

    async def next_frame(self) -> bytes:
        """Return the next frame. Raise `EOFError` when the broker closes the connection instead."""
        while data := await self._stream.receive_some():
            if frames := self._framer.feed(bytes(data)):
                return frames[0]
        raise EOFError("the broker closed the connection")


@asynccontextmanager
async def asking(stream: trio.abc.Stream, *, client_id: str = CLIENT_ID) -> AsyncIterator[Asker]:
    """Own `stream`, and learn the versions first."""
    asker = Asker(stream, client_id)
    try:
        await asker.greet()
        yield asker
    finally:
        await trio.aclose_forcefully(stream)


async def versions_of(stream: trio.abc.Stream) -> Ranges:
    """Return the versions of the broker at the end of `stream`, and close the stream."""
    async with asking(stream) as asker:
        return asker.ranges

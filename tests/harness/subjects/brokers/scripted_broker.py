"""A broker made of a function: it answers each request by what that says, over streams in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import trio
import trio.testing

from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import VERSIONS, Framer, WireRequest, frame, read_request, write_response

__all__ = ["ALL", "Answer", "ScriptedBroker", "metadata"]

Answer = Callable[[WireRequest], Mapping[str, Any] | bytes | None]
"""A body, or bytes to send as they are; None closes the connection."""

ALL: Mapping[Api, tuple[int, int]] = VERSIONS


class ScriptedBroker:
    """Tells `versions` in ApiVersions, answers everything else by `answer`, and keeps what it was asked."""

    def __init__(self, nursery: trio.Nursery, answer: Answer, versions: Mapping[Api, tuple[int, int]] = ALL) -> None:
        self._nursery, self._answer, self._versions = nursery, answer, versions
        self.asked: list[WireRequest] = []

    @classmethod
    @asynccontextmanager
    async def up(cls, answer: Answer, versions: Mapping[Api, tuple[int, int]] = ALL) -> AsyncIterator[ScriptedBroker]:
        async with trio.open_nursery() as nursery:
            yield cls(nursery, answer, versions)
            nursery.cancel_scope.cancel()

    async def connect(self, host: str, port: int) -> trio.abc.Stream:
        ours, theirs = trio.testing.memory_stream_pair()
        self._nursery.start_soon(self._serve, theirs)
        await trio.lowlevel.checkpoint()
        return ours

    async def _serve(self, stream: trio.abc.Stream) -> None:
        framer = Framer()
        async with stream:
            while data := await stream.receive_some():
                for item in framer.feed(bytes(data)):
                    answer = self._answered(read_request(item))
                    if answer is None:
                        return
                    await stream.send_all(answer)

    def _answered(self, request: WireRequest) -> bytes | None:
        body = self._own(request) if request.api is Api.API_VERSIONS else self._answer_and_keep(request)
        if body is None or isinstance(body, bytes):
            return body
        return frame(write_response(request.api, request.version, request.correlation, body))

    def _own(self, request: WireRequest) -> Mapping[str, Any]:
        keys = ({"api_key": int(api), "min_version": low, "max_version": high} for api, (low, high) in self._versions.items())
        return {"error_code": 0, "api_keys": tuple(keys)}

    def _answer_and_keep(self, request: WireRequest) -> Mapping[str, Any] | bytes | None:
        self.asked.append(request)
        return self._answer(request)


def metadata(*, brokers: int = 1, topics: Mapping[str, int] | None = None) -> Mapping[str, Any]:
    """Return a Metadata answer: nodes 0 and up on h:9092 and up, and the topics with so many partitions (0: unknown)."""
    return {
        "brokers": tuple({"node_id": node, "host": "h", "port": 9092 + node} for node in range(brokers)),
        "topics": tuple(
            {"name": name, "error_code": 0 if count else 3, "partitions": tuple({"partition_index": index} for index in range(count))}
            for name, count in (topics or {}).items()
        ),
    }

"""A reference cluster in a thread with a loop of its own, so that a test can be synchronous, or run on asyncio or trio.

Calls run in that thread. If a test's own loop runs the client, the test must wait in that loop: `awaited` does this. `done` is for
synchronous tests and refuses to run inside a loop.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeVar

import sniffio
import trio

from groupproof.coordinator.broker.served_cluster import ServingCluster, serve
from groupproof.protocol.trace import Recorder

__all__ = ["ServerConfig", "ServerThread"]

_Got = TypeVar("_Got")

START_S: Final = 30.0
CALL_S: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """The cluster to serve; `settings` are Kafka's broker settings, `topics` maps names to partitions, each with `records` records."""

    profile: str = "kafka-4.1"
    settings: Mapping[str, Any] = field(default_factory=dict)
    topics: Mapping[str, int] = field(default_factory=lambda: {"t": 2})
    records: int = 20
    brokers: int = 1


class ServerThread:
    """Serves from construction until `close`. Raise the errors of a wrong profile or setting."""

    serving: ServingCluster
    nursery: trio.Nursery

    def __init__(self, served: ServerConfig) -> None:
        self.served = served
        began = time.monotonic()
        self.recorder = Recorder(lambda: round((time.monotonic() - began) * 1e9), run="pytest")
        self._token: trio.lowlevel.TrioToken | None = None
        self._up: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name="groupproof coordinator", daemon=True)
        self._thread.start()
        self._up.result(START_S)

    def _run(self) -> None:
        try:
            trio.run(self._main)
        except BaseException as error:
            if not self._up.done():
                self._up.set_exception(_alone(error))

    async def _main(self) -> None:
        async with trio.open_nursery() as self.nursery:
            served = self.served
            self.serving = await self.nursery.start(
                partial(
                    serve,
                    ports=(0,) * served.brokers,
                    profile=served.profile,
                    settings=served.settings,
                    topics=served.topics,
                    records=served.records,
                    recorder=self.recorder,
                )
            )
            self._token = trio.lowlevel.current_trio_token()
            self._up.set_result(None)

    def close(self) -> None:
        """End the server, and return when it has ended."""
        if self._token is not None:
            with suppress(trio.RunFinishedError):
                self._token.run_sync_soon(lambda: self.nursery.cancel_scope.cancel())
        self._thread.join(CALL_S)

    def call(self, do: Callable[[], _Got]) -> _Got:
        """Run a quick function in the server's thread, and return its result."""

        async def at_once() -> _Got:
            return do()

        return self.submit(at_once).result(CALL_S)

    def submit(self, do: Callable[[], Awaitable[_Got]]) -> Future[_Got]:
        """Start a coroutine in the server's loop; it continues there even if nobody waits for it."""
        future: Future[_Got] = Future()
        assert self._token is not None
        self._token.run_sync_soon(self.nursery.start_soon, self._carry, do, future)
        return future

    async def _carry(self, do: Callable[[], Awaitable[_Got]], future: Future[_Got]) -> None:
        try:
            got = await do()
        except Exception as error:
            future.set_exception(error)
        except BaseException:
            future.cancel()
            raise
        else:
            future.set_result(got)

    def done(self, do: Callable[[], Awaitable[_Got]], instead: str) -> _Got:
        """Wait for a coroutine in a synchronous test; raise `RuntimeError` inside a loop, which would be blocked meanwhile."""
        if _loop() is not None:
            raise RuntimeError(f"this would stop the {_loop()} loop that the test runs in, and its clients with it: await {instead} instead")
        return self.submit(do).result()

    async def awaited(self, do: Callable[[], Awaitable[_Got]]) -> _Got:
        """Wait for a coroutine in a test on asyncio or trio, whose loop continues meanwhile."""
        future = self.submit(do)
        if _loop() == "asyncio":
            return await asyncio.wrap_future(future)
        over, token = trio.Event(), trio.lowlevel.current_trio_token()
        future.add_done_callback(lambda _: token.run_sync_soon(over.set))
        await over.wait()
        return future.result()


def _loop() -> str | None:
    """Return the name of the async library whose loop runs in this thread."""
    try:
        return sniffio.current_async_library()
    except sniffio.AsyncLibraryNotFoundError:
        return None


def _alone(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error

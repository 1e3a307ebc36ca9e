"""The reference member's shim inside this process: the same contract over channels instead of pipes, in virtual or real time.

`kill` ends it like SIGKILL (its connections drop without a message). `freeze` stops its streams, which is what SIGSTOP looks like from outside.
"""

from __future__ import annotations

import math
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Protocol

import trio

from groupproof.harness.subjects.networks.stream_wrapper import StreamWrapper
from groupproof.harness.subjects.shims.conversation import Conversation, Ending
from groupproof.harness.subjects.shims.stderr_log import StderrLog

__all__ = ["Gate", "InProcessShim", "RunShim"]

Connect = Callable[[str, int], Awaitable[trio.abc.Stream]]
Emit = Callable[[str], Awaitable[None]]


class RunShim(Protocol):
    """The reference member's `run_shim`: speaks the contract over `lines` and `emit` until the lines end."""

    async def __call__(self, lines: AsyncIterator[str], emit: Emit, connect: Connect, *, seed: int, variant: str | None = None) -> None: ...


class InProcessShim:
    """Runs one reference member. `run` returns when it has ended."""

    pid = None

    def __init__(self, run_shim: RunShim, connect: Connect, *, seed: int, variant: str | None = None) -> None:
        self.stderr = StderrLog()
        self.conversation = Conversation(self._say, self._note)
        self.ended = trio.Event()
        self.gate = Gate(connect)
        self._run_shim = run_shim
        self._seed = seed
        self._variant = variant
        self._scope = trio.CancelScope()
        self._lines_in, self._lines_out = trio.open_memory_channel[str](math.inf)

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        status: int | None = None
        try:
            with self._scope:
                await self._speak()
                status = 0
        except Exception:
            # A member that raises has crashed, as a program would. The variants are wrong on purpose.
            status = 1
            for line in traceback.format_exc().splitlines():
                self.stderr.add(line)
        finally:
            with trio.CancelScope(shield=True):
                await self.gate.cut()
            self.conversation.end(Ending(status=-9 if status is None else status, stderr=self.stderr.last()))
            self.ended.set()

    async def _speak(self) -> None:
        await self._run_shim(self._lines_out, self._emit, self.gate.connect, seed=self._seed, variant=self._variant)

    async def _emit(self, line: str) -> None:
        self.conversation.feed(line.rstrip("\n"))
        await trio.lowlevel.checkpoint()

    def _note(self, text: str) -> None:
        self.stderr.add(f"[groupproof] {text}")

    async def _say(self, line: str) -> None:
        await self._lines_in.send(line)

    def close_stdin(self) -> None:
        self._lines_in.close()

    def kill(self) -> None:
        self._scope.cancel()


class Gate:
    """The connections of one in-process member. They can be stopped, and cut all at once."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._streams: list[_GatedStream] = []
        self._open = trio.Event()
        self._open.set()

    async def connect(self, host: str, port: int) -> trio.abc.Stream:
        stream = _GatedStream(await self._connect(host, port), self)
        self._streams.append(stream)
        return stream

    def freeze(self) -> None:
        if self._open.is_set():
            self._open = trio.Event()

    def thaw(self) -> None:
        self._open.set()

    async def passed(self) -> None:
        while not self._open.is_set():
            await self._open.wait()

    async def cut(self) -> None:
        for stream in self._streams:
            with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                await trio.aclose_forcefully(stream.inner)
        self._streams.clear()

    def forget(self, stream: _GatedStream) -> None:
        with suppress(ValueError):
            self._streams.remove(stream)


class _GatedStream(StreamWrapper):
    def __init__(self, inner: trio.abc.Stream, gate: Gate) -> None:
        super().__init__(inner)
        self._gate = gate

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self._gate.passed()
        await super().send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        await self._gate.passed()
        await super().wait_send_all_might_not_block()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        received = await super().receive_some(max_bytes)
        await self._gate.passed()
        return received

    async def aclose(self) -> None:
        self._gate.forget(self)
        await super().aclose()

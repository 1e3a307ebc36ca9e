"""One shim as a process in its own session. Its three streams are drained, and its whole group is gone afterwards."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from subprocess import PIPE

import trio

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.shims.container import Container
from groupproof.harness.subjects.shims.contract_lines import LINE_BYTES_MAX
from groupproof.harness.subjects.shims.conversation import Conversation, Ending
from groupproof.harness.subjects.shims.process_reaper import process_reaper
from groupproof.harness.subjects.shims.stderr_log import StderrLog

__all__ = ["Program", "ShimProcess", "lines_of"]

GRACE_S = 5.0
"""How long (s) a process may take from SIGTERM to its end before SIGKILL."""

CLOSED_S = 2.0
"""How long (s) a process may take from the end of its stdout to its own end."""

DRAIN_S = 5.0
"""How long (s) the streams of an ended process are read on, when a process that left its group still holds them open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """How to start a shim. `env` is added to this process's own."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None

    def __str__(self) -> str:
        return shlex.join((*(f"{name}={value}" for name, value in self.env.items()), *self.argv))


async def lines_of(stream: trio.abc.ReceiveStream) -> AsyncGenerator[str, None]:
    """Yield lines without their ends. A line beyond the contract's limit is cut just after it, so that memory stays bounded and the reader notices."""
    async with aclosing(_blocks_of(stream)) as blocks:
        async for lines in blocks:
            for line in lines:
                yield line


async def _blocks_of(stream: trio.abc.ReceiveStream) -> AsyncGenerator[list[str], None]:
    """Yield the lines of each chunk together."""
    pending = b""
    async for chunk in stream:
        *whole, pending = (pending + chunk).split(b"\n")
        if whole:
            yield [_text(line) for line in whole]
        # The rest of a line that is too long is not kept.
        pending = pending[: LINE_BYTES_MAX + 1]
    if pending:
        yield [_text(pending)]


def _text(line: bytes) -> str:
    return line[: LINE_BYTES_MAX + 1].decode("utf-8", "replace").rstrip("\r")


class ShimProcess:
    """Runs one process. `run` returns when it has ended and been reaped, and kills it when cancelled. `on_stderr_line` gets each line of its stderr."""

    def __init__(self, program: Program, grace_s: float = GRACE_S) -> None:
        self.program = program
        self.stderr = StderrLog()
        self.conversation = Conversation(self._say, self._note)
        self.ended = trio.Event()
        self.on_stderr_line: Callable[[str], None] = lambda line: None
        self._grace_s = grace_s
        self._process: trio.Process | None = None
        self._argv, self._container = Container.of(program.argv)
        self._stdin_lock = trio.StrictFIFOLock()
        self._is_ending = False

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Raise `BrokenEnvironment` when the program cannot be started."""
        process = self._process = await self._spawn()
        self._keep(process)
        task_status.started()
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._follow, process, nursery.cancel_scope)
                nursery.start_soon(self._read_stderr, process)
                await process.wait()
                # Processes left in the group would hold its streams open, and must not stay anyway.
                self._signal_group(signal.SIGKILL)
                nursery.cancel_scope.deadline = trio.current_time() + DRAIN_S
        finally:
            with trio.CancelScope(shield=True):
                await self._end(process)
                await self._let_go(process)
            self.conversation.end(Ending(status=process.returncode, stderr=self.stderr.last()))
            self.ended.set()

    async def _spawn(self) -> trio.Process:
        program = self.program
        spawn = partial(
            trio.lowlevel.open_process,
            list(self._argv),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            start_new_session=True,
            cwd=program.cwd,
            env={**os.environ, **program.env},
        )
        try:
            return await spawn()
        except OSError as error:
            raise BrokenEnvironment(f"can't start {program.argv[0]}: {error.strerror or error}") from error

    async def _follow(self, process: trio.Process, scope: trio.CancelScope) -> None:
        """Read stdout to its end. End a process that broke the contract, or closed its stdout and goes on: no further dialogue is possible."""
        assert process.stdout is not None
        async for line in lines_of(process.stdout):
            self.take(line)
            if self.conversation.ending is not None and not self._is_ending:
                self._break_off(scope)
        with trio.move_on_after(CLOSED_S):
            await process.wait()
        if process.returncode is None and not (self._is_ending or self.conversation.is_leaving):
            self.conversation.end(Ending(broken="the shim closed its stdout and still runs", stderr=self.stderr.last()))
            self._break_off(scope)

    def _break_off(self, scope: trio.CancelScope) -> None:
        """End the process. Its streams are drained in the meantime, for its last lines."""
        self.signal(signal.SIGTERM)
        scope.deadline = min(scope.deadline, trio.current_time() + self._grace_s)

    def take(self, line: str) -> None:
        """Process one line of stdout."""
        self.conversation.feed(line)

    async def _read_stderr(self, process: trio.Process) -> None:
        assert process.stderr is not None
        async with aclosing(_blocks_of(process.stderr)) as blocks:
            async for lines in blocks:
                for line in lines:
                    self.stderr.add(line)
                    self.on_stderr_line(line)

    def _note(self, text: str) -> None:
        self.stderr.add(f"[groupproof] {text}")

    async def _say(self, line: str) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        async with self._stdin_lock:
            await self._process.stdin.send_all(line.encode() + b"\n")

    def _keep(self, process: trio.Process) -> None:
        """Make sure that even SIGKILL of the kit does not leave the process behind, not even a stopped one."""
        process_reaper.keep("group", process.pid)
        if self._container is not None:
            process_reaper.keep("container", self._container.name)

    async def _let_go(self, process: trio.Process) -> None:
        process_reaper.let_go("group", process.pid)
        if self._container is not None:
            await trio.to_thread.run_sync(self._container.remove)
            process_reaper.let_go("container", self._container.name)

    def signal(self, number: int) -> None:
        """Signal the whole process group, or its container. A process that is gone is no error."""
        self._is_ending = self._is_ending or number in (signal.SIGTERM, signal.SIGKILL)
        if self._container is not None:
            self._container.signal(number)
        if self._container is None or number != signal.SIGSTOP:
            self._signal_group(number)

    def _signal_group(self, number: int) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    async def _end(self, process: trio.Process) -> None:
        """Close stdin and send SIGTERM. Send SIGKILL after the grace period, and always to what remains in the group."""
        if process.returncode is None:
            assert process.stdin is not None
            await process.stdin.aclose()
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGTERM)
            with trio.move_on_after(self._grace_s):
                await process.wait()
        self._signal_group(signal.SIGKILL)
        await process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                await stream.aclose()

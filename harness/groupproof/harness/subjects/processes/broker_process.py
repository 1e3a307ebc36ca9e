"""One program that is a broker or a part of one. It logs to a file, and it ends when the process that started it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from subprocess import PIPE, STDOUT
from typing import IO, Any

import trio

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.shims.shim_process import lines_of

__all__ = ["BrokerProcess", "Command", "guarded", "last_lines"]

TAIL_BYTES = 32 << 10
LINES_MAX = 6
LINE_CHARS_MAX = 300
_ENDING_S = 5.0
_ORDER_S = 40.0


def guarded(
    argv: Sequence[str],
    *,
    remove: Sequence[Path] = (),
    after: Sequence[Sequence[str]] = (),
    again: Sequence[str] = (),
    orders: Mapping[str, Sequence[str]] | None = None,
) -> tuple[str, ...]:
    """Return the command that runs `argv` until its standard input ends. Then `after` is run and the folders in `remove` are deleted.

    On a restart it runs `again` instead. `orders` are commands that pause, resume and kill it, where signals are not enough.
    """
    plan: dict[str, Any] = {"argv": list(argv), "remove": [str(path) for path in remove], "after": [list(item) for item in after]}
    if again:
        plan["again"] = list(again)
    if orders:
        plan["orders"] = {name: list(value) for name, value in orders.items()}
    return (sys.executable, "-I", "-S", str(Path(__file__).with_name("guard.py")), json.dumps(plan))


def last_lines(log: Path, lines_max: int = LINES_MAX) -> list[str]:
    """Return the last meaningful lines of a log without stack frames. Errors are preferred to other lines."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - TAIL_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    lines = [line.rstrip()[:LINE_CHARS_MAX] for line in text.splitlines() if line.strip() and not line.startswith(("\tat ", "\t... "))]
    errors = [line for line in lines if any(word in line for word in ("ERROR", "FATAL", "Exception", "Error:"))]
    return (errors or lines)[-lines_max:]


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A program that ends with its standard input. `title` is for a person; `log` gets its output, with `speaks` only its stderr."""

    title: str
    argv: tuple[str, ...]
    log: Path
    env: Mapping[str, str] = field(default_factory=dict)
    speaks: bool = False


class BrokerProcess:
    """A process in its own session. Its standard input stays open while it is wanted. It must end itself when that input ends."""

    def __init__(self, title: str, process: trio.Process, input: trio.SocketStream, log: Path) -> None:
        self.title = title
        self.log = log
        self.was_stopped = False
        self._process = process
        self._input = input
        self._orders = trio.Lock()
        self._lines: AsyncGenerator[str, None] | None = None

    @classmethod
    async def start(cls, command: Command) -> BrokerProcess:
        """Start a program. Raise `BrokenEnvironment` where that fails."""
        with _opened(command.log) as file, _channel() as (ours, theirs):
            spawn = partial(
                trio.lowlevel.open_process,
                list(command.argv),
                stdin=theirs.fileno(),
                stdout=PIPE if command.speaks else file,
                stderr=file if command.speaks else STDOUT,
                start_new_session=True,
                env={**os.environ, **command.env},
            )
            try:
                process = await spawn()
            except OSError as error:
                raise BrokenEnvironment(f"can't start {command.title} by {command.argv[0]}: {error.strerror or error}") from error
            return cls(command.title, process, trio.SocketStream(trio.socket.from_stdlib_socket(ours)), command.log)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def status(self) -> int | None:
        """The exit status, None while it runs."""
        return self._process.returncode

    def death(self) -> str | None:
        """Return a sentence about a process that ended unasked, or None."""
        if self.status is None or self.was_stopped:
            return None
        words = last_lines(self.log)
        words_at_end = f"; its last words: {' | '.join(words)}" if words else ""
        return f"{self.title} ended with status {self.status}{words_at_end} (log: {self.log})"

    async def next_line(self) -> str:
        """Return the next line of its standard output. Raise `BrokenEnvironment` when the output ends."""
        if self._lines is None:
            assert self._process.stdout is not None
            self._lines = lines_of(self._process.stdout)
        try:
            return await anext(self._lines)
        except StopAsyncIteration:
            with trio.move_on_after(_ENDING_S):
                await self._process.wait()
            raise BrokenEnvironment(self.death() or f"{self.title} says no more (log: {self.log})") from None

    async def say(self, line: str) -> None:
        """Write a line to its standard input. Raise `BrokenEnvironment` when nothing reads it any more."""
        try:
            await self._input.send_all(line.encode() + b"\n")
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise BrokenEnvironment(self.death() or f"{self.title} closed its standard input (log: {self.log})") from None

    async def order(self, order: str) -> None:
        """Pause, resume, kill (what it wrote is kept) or restart a guarded program, and return when that is done.

        Raise `BrokenEnvironment` with the reason where that fails.
        """
        async with self._orders:
            await self.say(order)
            answer = b""
            with trio.move_on_after(_ORDER_S), suppress(trio.ClosedResourceError, trio.BrokenResourceError):
                while not answer.endswith(b"\n") and (some := await self._input.receive_some()):
                    answer += some
        if answer != b"done\n":
            why = answer.decode(errors="replace").strip() or self.death() or f"nothing was answered within {_ORDER_S:g} s"
            raise BrokenEnvironment(f"{self.title} can't be made to {order}: {why} (log: {self.log})")

    async def finish(self, within_s: float) -> bool:
        """Ask a guarded program to end in order. Return whether it did in time."""
        self.was_stopped = True
        await self.say("end")
        with trio.move_on_after(within_s):
            await self._process.wait()
        return self.status is not None

    async def kill(self, within_s: float = 10.0) -> None:
        """End it at once, and wait until it is gone. A process that has already ended is no error."""
        self.was_stopped = self.was_stopped or self.status is None
        with trio.CancelScope(shield=True):
            await self._input.aclose()
            with trio.move_on_after(within_s):
                await self._process.wait()
            # Kill what remains in its session, and the process itself where the end of its input was not enough.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.wait()
            if self._lines is not None:
                await self._lines.aclose()
            if self._process.stdout is not None:
                await self._process.stdout.aclose()


@contextmanager
def _channel() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Make a standard input that also carries answers, because a guard reports there the result of an order. Our end stays open unless there is an
    error."""
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            yield ours, theirs
        except BaseException:
            ours.close()
            raise


def _opened(log: Path) -> IO[bytes]:
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        return log.open("ab")
    except OSError as error:
        raise BrokenEnvironment(f"can't write the log {log}: {error.strerror or error}") from error

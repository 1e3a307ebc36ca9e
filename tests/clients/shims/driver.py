"""Drives a shim's process as the kit does, and holds every line that it writes against the shipped schemas."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import trio

from groupproof.protocol.schemas import validate

__all__ = ["Line", "Shim", "running", "subscribe_fields"]

Line = dict[str, Any]

WITHIN_S = 60.0
"""A bound for a busy machine; nothing here is judged by time."""


def subscribe_fields(**changed: Any) -> Line:
    """Return the fields of a valid `subscribe`, those given replaced."""
    return {
        "bootstrap": "127.0.0.1:1", "group": "g", "topics": ["t"], "client_id": "m0", "protocol": "classic", "assignors": ["range"],
        "session_timeout_ms": 6000, "heartbeat_interval_ms": 300, "max_poll_interval_ms": 30000, "poll_timeout_ms": 100,
        "auto_commit": False, "auto_offset_reset": "earliest", **changed,
    }  # fmt: skip


class Shim:
    """A running shim; `lines` are all that it wrote to stdout, in order."""

    def __init__(self, process: trio.Process) -> None:
        self.process = process
        self.lines: list[Line] = []
        self.noise: list[str] = []
        self.stderr = ""
        self._changed = trio.Condition()
        self._number = 0
        self._streams_open = 2

    async def ask(self, command: str, member: str | None = None, **fields: Any) -> Line:
        """Send a command and return its answer."""
        return await self.answer(await self.send(command, member, **fields))

    async def answer(self, number: int) -> Line:
        return await self.until_line(lambda line: line.get("id") == number)

    async def send(self, command: str, member: str | None = None, **fields: Any) -> int:
        self._number += 1
        addressed = {} if member is None else {"member": member}
        line = {"id": self._number, "command": command, **addressed, **fields}
        validate("shim-command", line)
        await self.write(json.dumps(line))
        return self._number

    async def write(self, text: str) -> None:
        assert self.process.stdin is not None
        await self.process.stdin.send_all(f"{text}\n".encode())

    async def event(self, name: str, member: str | None = None, after: int = 0, **fields: Any) -> Line:
        """Return the first event of that name and those fields among the lines from number `after` on; wait for it."""
        wanted = {"name": name, "member": member, **fields}
        return await self.until_line(lambda line: all(line.get(key) == value for key, value in wanted.items()), after)

    async def until_line(self, is_wanted: Callable[[Line], bool], after: int = 0) -> Line:
        with trio.fail_after(WITHIN_S):
            while True:
                async with self._changed:
                    for line in self.lines[after:]:
                        if is_wanted(line):
                            return line
                    await self._changed.wait()

    def of(self, member: str | None, after: int = 0) -> list[str]:
        """Return the names of a member's events, and `answer` for its answers, in order."""
        return [line.get("name", "answer") for line in self.lines[after:] if line.get("member") == member and line.get("name") != "hello"]

    async def ended(self) -> int:
        """Return the exit status once the process has ended and its streams are read."""
        with trio.fail_after(WITHIN_S):
            async with self._changed:
                while self._streams_open:
                    await self._changed.wait()
            return await self.process.wait()

    async def end_of_stdin(self) -> None:
        assert self.process.stdin is not None
        await self.process.stdin.aclose()

    async def read_stdout(self) -> None:
        assert self.process.stdout is not None
        pending = b""
        async for chunk in self.process.stdout:
            *whole, pending = (pending + chunk).split(b"\n")
            for line in whole:
                await self._take(line.decode())
        await self._at_end_of_stream()

    async def read_stderr(self) -> None:
        assert self.process.stderr is not None
        async for chunk in self.process.stderr:
            self.stderr += chunk.decode(errors="replace")
        await self._at_end_of_stream()

    async def _at_end_of_stream(self) -> None:
        async with self._changed:
            self._streams_open -= 1
            self._changed.notify_all()

    async def _take(self, text: str) -> None:
        if not text.startswith("{"):
            self.noise.append(text)
            return
        line = json.loads(text)
        validate("shim-event" if "name" in line else "shim-answer", line)
        async with self._changed:
            self.lines.append(line)
            self._changed.notify_all()


@asynccontextmanager
async def running(argv: Sequence[str], env: Mapping[str, str]) -> AsyncIterator[Shim]:
    """Start a shim, wait for its first line, and leave no process behind."""
    async with trio.open_nursery() as nursery:
        process = await trio.lowlevel.open_process(
            list(argv), env={**os.environ, **env}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        shim = Shim(process)
        nursery.start_soon(shim.read_stdout)
        nursery.start_soon(shim.read_stderr)
        try:
            await shim.until_line(lambda _line: True)
            yield shim
        finally:
            if process.returncode is None:
                process.kill()
            with trio.CancelScope(shield=True):
                await process.wait()
            nursery.cancel_scope.cancel()

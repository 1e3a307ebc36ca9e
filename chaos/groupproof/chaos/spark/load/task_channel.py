"""The messages between tasks and driver during a load: JSON lines over TCP.

A task sends a hello and waits for the start, so that all begin together, and tasks without a slot differ from slow ones. Then it reports its
counters every second. When the driver's half of the connection closes, the task stops, even if the driver died.
"""

from __future__ import annotations

import hmac
import json
import os
import socket
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import trio

__all__ = ["Channel", "Lines", "Task", "TaskDismissal", "TaskRegistry"]

_CONNECT_S: Final = 20.0
_START_S: Final = 600.0
_SEND_S: Final = 10.0
_LINE_BYTES_MAX: Final = 1 << 22


class Lines:
    """Reads JSON objects, one a line."""

    def __init__(self, stream: trio.abc.ReceiveStream) -> None:
        self._stream, self._rest, self._ready = stream, b"", deque[bytes]()

    async def next(self) -> dict[str, Any] | None:
        """Return the next object, None at the end; raise `ValueError` for a line that is no object."""
        while not self._ready:
            some = await self._stream.receive_some()
            if not some:
                return None
            *lines, self._rest = (self._rest + bytes(some)).split(b"\n")
            self._ready.extend(lines)
            if len(self._rest) > _LINE_BYTES_MAX:
                raise ValueError("a line without end")
        message = json.loads(self._ready.popleft())
        if not isinstance(message, dict):
            raise ValueError("a line that is no object")
        return message


class TaskDismissal(Exception):
    """The driver does not need this task, or is gone: the task ends without running members."""


class Channel:
    """The task's end. Not for several threads at once."""

    def __init__(self, address: tuple[str, int], secret: str, task: int, attempt: int) -> None:
        """Connect to the driver; raise `TaskDismissal` where nobody listens."""
        self.is_stopped = False
        try:
            self._socket = socket.create_connection(address, timeout=_CONNECT_S)
        except OSError as error:
            raise TaskDismissal(f"the driver can't be reached at {address[0]}:{address[1]}: {error.strerror or error}") from error
        self._say({"secret": secret, "task": task, "attempt": attempt, "host": socket.gethostname(), "pid": os.getpid()})

    def wait(self) -> int:
        """Wait for the start; return the run's start, in nanoseconds of the wall clock; raise `TaskDismissal`."""
        self._socket.settimeout(_START_S)
        line = b""
        try:
            while not line.endswith(b"\n"):
                some = self._socket.recv(4096)
                if not some:
                    raise TaskDismissal("the driver dismissed this task before it began")
                line += some
        except OSError as error:
            raise TaskDismissal(f"the driver never began: {error}") from error
        self._socket.settimeout(_SEND_S)
        return int(json.loads(line)["start_ns"])

    def report(self, message: Mapping[str, Any]) -> bool:
        """Send the counters; return whether the driver is still there and wants more."""
        self._say(message)
        if not self.is_stopped:
            self._socket.settimeout(0)
            try:
                self.is_stopped = not self._socket.recv(4096)
            except BlockingIOError:
                pass
            except OSError:
                self.is_stopped = True
            finally:
                self._socket.settimeout(_SEND_S)
        return not self.is_stopped

    def close(self) -> None:
        self._socket.close()

    def _say(self, message: Mapping[str, Any]) -> None:
        try:
            self._socket.sendall(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        except OSError:
            self.is_stopped = True


@dataclass(slots=True)
class Task:
    """The driver's view of a task: its last attempt, process and host, whether it is connected, and its last and earlier counters."""

    number: int
    attempt: int = -1
    host: str = ""
    pid: int = 0
    is_there: bool = False
    is_done: bool = False
    counts: Mapping[str, Any] = field(default_factory=dict)
    past: list[Mapping[str, Any]] = field(default_factory=list)
    lost: int = 0


class TaskRegistry:
    """The driver's side: waits for all tasks, starts them together, and keeps their last counters. `failed` gets a task's own error."""

    def __init__(self, tasks: int, secret: str, failed: Callable[[Mapping[str, Any]], None], lost: Callable[[Task], None]) -> None:
        self.tasks = [Task(number) for number in range(tasks)]
        self.all_there, self._begun = trio.Event(), trio.Event()
        self.secret, self._failed, self._lost = secret, failed, lost
        self._start_ns = 0
        self._is_stopped = False
        self._streams: set[trio.SocketStream] = set()

    def begin(self, start_ns: int) -> None:
        """Let the waiting tasks begin, and later ones at once."""
        self._start_ns = start_ns
        self._begun.set()

    async def stop(self) -> None:
        """Tell every task to stop, later ones too."""
        self._is_stopped = True
        for stream in list(self._streams):
            try:
                await stream.send_eof()
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                continue

    async def serve(self, stream: trio.SocketStream) -> None:
        """Serve one task until it is gone; raise nothing if the task fails."""
        task: Task | None = None
        attempt = -1
        try:
            lines = Lines(stream)
            while (message := await lines.next()) is not None:
                if task is None:
                    task = self._handshake(message)
                    if task is None or self._is_stopped:
                        return
                    attempt = task.attempt
                    await self._start(stream)
                elif attempt == task.attempt:
                    self._receive(task, message)
        except (trio.BrokenResourceError, trio.ClosedResourceError, ValueError):
            pass  # a killed task ends like this
        finally:
            self._streams.discard(stream)
            await trio.aclose_forcefully(stream)
            if task is not None and attempt == task.attempt:
                task.is_there = False
                if not task.is_done and self._begun.is_set() and not self._is_stopped:
                    task.lost += 1
                    self._lost(task)

    def _handshake(self, message: Mapping[str, Any]) -> Task | None:
        number, attempt = message.get("task"), message.get("attempt")
        if not hmac.compare_digest(str(message.get("secret")), self.secret) or not isinstance(number, int) or not isinstance(attempt, int):
            return None
        if not 0 <= number < len(self.tasks):
            return None
        task = self.tasks[number]
        if task.counts:
            task.past.append({**task.counts, "groups": {}})
            task.counts = {}
        task.attempt, task.is_there, task.is_done = attempt, True, False
        task.host, task.pid = str(message.get("host", "")), int(message.get("pid", 0))
        if all(task.is_there for task in self.tasks):
            self.all_there.set()
        return task

    async def _start(self, stream: trio.SocketStream) -> None:
        self._streams.add(stream)
        await self._begun.wait()
        await stream.send_all(json.dumps({"start_ns": self._start_ns}).encode() + b"\n")

    def _receive(self, task: Task, message: Mapping[str, Any]) -> None:
        if "failed" in message:
            task.is_done = True
            self._failed(message)
        elif "done" in message:
            task.is_done = True
        else:
            task.counts = message

"""The sockets of a server: one task reads all of them, and writing does not wait.

A task for each socket costs trio a system call to arm it, a turn of its scheduler and a switch of tasks: more than a Heartbeat needs. Here all
sockets are in one epoll, and trio waits for the epoll's own file descriptor. The data of each socket goes to its connection by a plain call. Only
when the connection cannot finish within the call does its task wake, with the rest of the work. Its socket is not read until it asks again, so TCP
slows a slow connection, as if it read its socket itself.
"""

from __future__ import annotations

import contextlib
import os
import select
import selectors
import socket
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar

import trio

__all__ = ["ACKNOWLEDGED_S_MAX", "BestReadiness", "BySelector", "Poller", "Readiness", "Socket", "close_stream", "has_all"]

T = TypeVar("T")

ACKNOWLEDGED_S_MAX: Final = 0.2
"""Seconds within which the host of a peer that has closed the connection acknowledges the sent bytes."""

_READ_BYTES: Final = 65536
_TURN_MAX: Final = 64  # sockets that are served before other tasks have their turn


class Readiness(Protocol):
    """Finds the readable sockets."""

    def fileno(self) -> int:
        """Return a file descriptor that is readable as soon as one of the sockets is."""
        ...

    def add(self, fd: int) -> None: ...

    def remove(self, fd: int) -> None: ...

    def ready(self) -> list[int]:
        """Return readable sockets, `_TURN_MAX` at most. Call it again for the others, once these are read."""
        ...

    def close(self) -> None: ...


class BySelector:
    """The implementation for every system."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._left: list[int] = []

    def fileno(self) -> int:
        return self._selector.fileno()

    def add(self, fd: int) -> None:
        self._selector.register(fd, selectors.EVENT_READ)

    def remove(self, fd: int) -> None:
        self._selector.unregister(fd)
        self._left = [other for other in self._left if other != fd]

    def ready(self) -> list[int]:
        events = self._left or [key.fd for key, _ in self._selector.select(0)]
        self._left = events[_TURN_MAX:]
        return events[:_TURN_MAX]

    def close(self) -> None:
        self._selector.close()


if sys.platform == "linux":

    class ByEpoll:
        """The implementation for Linux. `selectors` asks epoll for every socket at once, and makes objects for each ready one."""

        def __init__(self) -> None:
            self._epoll = select.epoll()
            self.fileno, self.close = self._epoll.fileno, self._epoll.close

        def add(self, fd: int) -> None:
            self._epoll.register(fd, select.EPOLLIN)

        def remove(self, fd: int) -> None:
            with contextlib.suppress(OSError):  # a closed socket is already removed
                self._epoll.unregister(fd)

        def ready(self) -> list[int]:
            return [fd for fd, _ in self._epoll.poll(0, _TURN_MAX)]

    BestReadiness: Final[Callable[[], Readiness]] = ByEpoll
else:
    BestReadiness: Final[Callable[[], Readiness]] = BySelector


@dataclass(slots=True, eq=False)
class _Offer(Generic[T]):
    """A `task` that wakes when `take` has returned or raised something."""

    task: trio.lowlevel.Task
    take: Callable[[bytes], T | None]
    left: T | None = None
    error: Exception | None = None


class Poller:
    """Waits for any number of sockets in one task, `run`."""

    def __init__(self, readiness: Callable[[], Readiness] = BestReadiness) -> None:
        self._readiness = readiness()
        self._offers: dict[int, _Offer[Any]] = {}

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Offer incoming data until cancelled. It raises no exception of a connection.

        While more data is ready, it is read without a turn of trio, up to a bound that keeps other tasks from waiting too long.
        """
        task_status.started()
        while True:
            await trio.lowlevel.wait_readable(self._readiness.fileno())
            served = 0
            while served < _TURN_MAX and (ready := self._readiness.ready()):
                for fd in ready:
                    if (offer := self._offers.get(fd)) is not None:  # None: an earlier offer of this turn has ended its wait
                        self._offer(fd, offer)
                served += len(ready)

    def close(self) -> None:
        """Close the poller's own resources, after every socket is closed."""
        self._readiness.close()

    def _offer(self, fd: int, offer: _Offer[T]) -> None:
        try:
            offer.left = offer.take(os.read(fd, _READ_BYTES))
        except BlockingIOError:
            return
        except Exception as error:
            offer.error = error
        else:
            if offer.left is None:
                return
        self._end(fd)
        trio.lowlevel.reschedule(offer.task)

    def _end(self, fd: int) -> None:
        self._readiness.remove(fd)
        del self._offers[fd]

    async def left(self, fd: int, take: Callable[[bytes], T | None]) -> T:
        """Offer the data of `fd`, b"" at its end, to `take` until that returns a value or raises; return the value or raise the error."""
        offer = _Offer(trio.lowlevel.current_task(), take)

        def abort(_: object) -> trio.lowlevel.Abort:
            self._end(fd)
            return trio.lowlevel.Abort.SUCCEEDED

        self._readiness.add(fd)
        self._offers[fd] = offer
        await trio.lowlevel.wait_task_rescheduled(abort)
        if offer.error is not None:
            raise offer.error
        assert offer.left is not None, "a task is woken only with a reason"
        return offer.left

    def forget(self, fd: int) -> None:
        """Wake the task that waits in `left` for `fd`, which is about to be closed."""
        offer = self._offers.get(fd)
        if offer is not None:
            offer.error = trio.ClosedResourceError("the connection was closed")
            self._end(fd)
            trio.lowlevel.reschedule(offer.task)


_TCP_INFO_BYTES: Final = 28
_UNACKNOWLEDGED_AT: Final = 24
_CLOSE_WAIT: Final = 8  # the peer has sent a FIN and no RST, which it would have sent with bytes unread (RFC 1122, 4.2.2.13)
_ASKED_EVERY_S: Final = 0.01
_RESET: Final = struct.pack("ii", 1, 0)  # SO_LINGER on, for zero seconds: close() sends RST


async def has_all(stream: trio.abc.Stream) -> bool:
    """Return whether a peer that closed in order received all sent bytes: its host acknowledged them and sent no RST.

    A stream without a socket refuses bytes that a closed peer cannot receive, so sent bytes were received.
    """
    getsockopt = getattr(stream, "getsockopt", None)
    if getsockopt is None:
        return True
    with trio.move_on_after(ACKNOWLEDGED_S_MAX):
        while True:
            try:
                info = getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES) if hasattr(socket, "TCP_INFO") else b""
            except OSError:
                return False
            if info is None:
                return True
            if len(info) < _TCP_INFO_BYTES or info[0] != _CLOSE_WAIT:
                return False
            if not int.from_bytes(info[_UNACKNOWLEDGED_AT:_TCP_INFO_BYTES], sys.byteorder):
                return True
            await trio.sleep(_ASKED_EVERY_S)
    return False


async def close_stream(stream: trio.abc.Stream, *, reset: bool) -> None:
    """Close a stream within a second in any case, with RST where `reset` is set and there is a socket."""
    with trio.move_on_after(1, shield=True), contextlib.suppress(OSError, trio.BrokenResourceError, trio.ClosedResourceError):
        if reset and (setsockopt := getattr(stream, "setsockopt", None)):
            setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        await stream.aclose()


class Socket(trio.abc.Stream):
    """A connected socket that is read through `poller`."""

    def __init__(self, stream: trio.SocketStream, poller: Poller) -> None:
        self._stream = stream
        self._poller = poller
        self._fd = stream.socket.fileno()

    async def left(self, take: Callable[[bytes], T | None]) -> T:
        """Offer the data, b"" at the end, to `take` until that returns a value or raises; return the value or raise the error."""
        self._check_open()
        return await self._poller.left(self._fd, take)

    def send_now(self, data: bytes) -> bytes:
        """Pass the kernel as many bytes as it accepts now, and return the rest. Raises `trio.BrokenResourceError`."""
        try:
            return data[os.write(self._fd, data) :]
        except BlockingIOError:
            return data
        except OSError as error:
            self._check_open()
            raise trio.BrokenResourceError(f"the connection broke: {error}") from error

    def _check_open(self) -> None:
        if self._fd < 0:
            raise trio.ClosedResourceError("the connection was closed")

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        return bytes(await self._stream.receive_some(max_bytes))

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self._stream.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        await self._stream.wait_send_all_might_not_block()

    def setsockopt(self, level: int, option: int, value: bytes) -> None:
        self._stream.setsockopt(level, option, value)

    def getsockopt(self, level: int, option: int, buffersize: int) -> bytes:
        return bytes(self._stream.getsockopt(level, option, buffersize))

    async def aclose(self) -> None:
        """Close the socket. A waiting task gets `trio.ClosedResourceError`. Closing twice is no error."""
        fd, self._fd = self._fd, -1  # the next connection may reuse the number
        if fd >= 0:
            self._poller.forget(fd)
        await self._stream.aclose()

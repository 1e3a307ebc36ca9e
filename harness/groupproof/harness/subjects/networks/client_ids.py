"""Finds the owner of a connection. Programs of level 0 choose their own client id, often the same for all; here each gets its member's name.

The owner is found by the socket: Linux shows which process holds the other end. The requests of a connection then carry the member's name as client
id, as if the program had set it. On other systems they are left as they are.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import trio

from groupproof.harness.subjects.networks.stream_wrapper import StreamWrapper
from groupproof.protocol.wire.message_codec import FRAME_BYTES_MAX, Framer, FramingError, frame

__all__ = ["OwnerGone", "ProcessStarts", "RelabelledStream", "owner_of_connection", "with_client_id"]

_PROC = Path("/proc")
_CLIENT_ID_AT = 8  # after API key, version and correlation; a nullable string in every request header from v1 on
_READ_BYTES = 65_536
_TCP_LOCAL, _TCP_REMOTE, _TCP_INODE = 1, 2, 9  # columns of /proc/net/tcp
_NO_INODE = "0"  # of a socket that its process has closed


class OwnerGone(Exception):
    """The other end was closed before its owner was known. Nobody waits for an answer there."""


def with_client_id(request: bytes, client_id: str) -> bytes:
    """Return a request frame's payload with another client id. Return one that is too short for an id unchanged."""
    if len(request) < _CLIENT_ID_AT + 2:
        return request
    (length,) = struct.unpack_from(">h", request, _CLIENT_ID_AT)
    rest = request[_CLIENT_ID_AT + 2 + max(length, 0) :]
    name = client_id.encode()
    return request[:_CLIENT_ID_AT] + struct.pack(">h", len(name)) + name + rest


class RelabelledStream(StreamWrapper):
    """The server's end of a connection, on which every request gets `client_id`. Responses pass unchanged."""

    def __init__(self, inner: trio.abc.Stream, client_id: str) -> None:
        super().__init__(inner)
        self._client_id = client_id
        self._framer = Framer(FRAME_BYTES_MAX)

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Return whole frames, possibly more than `max_bytes`. Raise `BrokenResourceError` where the bytes are no frames."""
        while data := await super().receive_some(_READ_BYTES):
            try:
                frames = self._framer.feed(data)
            except FramingError as error:
                raise trio.BrokenResourceError(str(error)) from error
            if frames:
                return b"".join(frame(with_client_id(data, self._client_id)) for data in frames)
        return b""


class ProcessStarts:
    """The starts of processes whose connections are named by their pid. A busy kit may get a connection before it gets the pid."""

    def __init__(self) -> None:
        self._pending = 0
        self._ended = trio.Event()

    @contextmanager
    def pending(self) -> Iterator[None]:
        """Count one start, until the pid has its name."""
        self._pending += 1
        try:
            yield
        finally:
            self._pending -= 1
            if not self._pending:
                self._ended.set()
                self._ended = trio.Event()

    async def over(self) -> None:
        """Wait until no start is pending."""
        while self._pending:
            await self._ended.wait()


def owner_of_connection(local: int, remote: int, processes: Mapping[int, str]) -> str | None:
    """Return the name of the process (by pid) that holds the socket on port `local` with our port `remote` at the other end.

    With a single process every connection is its own, except those of members in this process (reference peers). Return None when the owner is none
    of them or unknown. Raise `OwnerGone` when the socket is already closed.
    """
    names = set(processes.values())
    if not (_PROC / "net").is_dir():
        return next(iter(names)) if len(names) == 1 else None
    inode = _inode_of(local, remote)
    if inode is None:
        raise OwnerGone
    held = f"socket:[{inode}]"
    if len(names) == 1:
        is_ours = os.getpid() not in processes and held in _sockets_of(os.getpid())
        return None if is_ours else next(iter(names))
    return next((name for pid, name in processes.items() if held in _sockets_of(pid)), None)


def _inode_of(local: int, remote: int) -> str | None:
    """Return the inode of the socket between the two ports. One port is not enough: the kernel reuses it for another peer."""
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in (_PROC / "net" / table).read_text().splitlines()[1:]:
                columns = line.split()
                ports = tuple(int(columns[at].rpartition(":")[2], 16) for at in (_TCP_LOCAL, _TCP_REMOTE))
                if ports == (local, remote) and columns[_TCP_INODE] != _NO_INODE:
                    return columns[_TCP_INODE]
    return None


def _sockets_of(pid: int) -> Iterable[str]:
    found: set[str] = set()
    with suppress(OSError):
        for path in (_PROC / str(pid) / "fd").iterdir():
            with suppress(OSError):
                found.add(str(path.readlink()))
    return found

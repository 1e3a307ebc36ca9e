"""A stream around a stream. What the wrapper does not change goes to the inner stream."""

from __future__ import annotations

from typing import Any

import trio

__all__ = ["StreamWrapper"]


class StreamWrapper(trio.abc.Stream):
    """Passes everything on to `inner`. Subclasses change their part. Socket options reach the socket, if there is one."""

    def __init__(self, inner: trio.abc.Stream) -> None:
        self.inner = inner

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self.inner.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        await self.inner.wait_send_all_might_not_block()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        return bytes(await self.inner.receive_some(max_bytes))

    async def aclose(self) -> None:
        await self.inner.aclose()

    def setsockopt(self, level: int, option: int, value: Any) -> None:
        """Set an option of the inner socket. A stream without a socket has no options to set."""
        setsockopt = getattr(self.inner, "setsockopt", None)
        if setsockopt is not None:
            setsockopt(level, option, value)

    def getsockopt(self, level: int, option: int, buffersize: int) -> bytes | None:
        """Return an option of the inner socket, or None for a stream without one."""
        getsockopt = getattr(self.inner, "getsockopt", None)
        return None if getsockopt is None else getsockopt(level, option, buffersize)

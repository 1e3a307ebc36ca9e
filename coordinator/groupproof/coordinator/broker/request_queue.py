"""The requests of one connection that wait for their turn, bounded in number and in bytes.

Kafka mutes a connection's channel while it processes a request. This broker reads on up to a bound, so that arrival and processing are two
observations. Beyond the bound TCP slows the peer; nothing more is stored.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import trio

if TYPE_CHECKING:
    from groupproof.coordinator.broker.group_coordinators import Ticket
    from groupproof.coordinator.machine.incoming_request import IncomingRequest

__all__ = ["INBOX_BYTES_MAX", "INBOX_FRAMES_MAX", "ConnectionEnd", "Inbox", "OpenRequest", "Unread"]

INBOX_FRAMES_MAX = 256
INBOX_BYTES_MAX = 1024 * 1024

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """A request that was begun where it was read. The rest is to wait for its `ticket`, or to send `rest`, the unsent bytes of its answer."""

    arrived: IncomingRequest
    ticket: Ticket | None = None
    rest: bytes = b""


class ConnectionEnd(Exception):
    """The connection is over. `str()` is the reason; `is_fault` says that the peer broke the protocol."""

    def __init__(self, reason: str, *, is_fault: bool = False) -> None:
        super().__init__(reason)
        self.is_fault = is_fault


@dataclass(frozen=True, slots=True)
class Unread:
    """The input that could not be answered where it was read: requests with their sizes, then the error that `broke` the stream, or its end."""

    arrived: list[tuple[IncomingRequest, int]]
    broken: Exception | None = None
    is_end: bool = False


class Inbox(Generic[Item]):
    """A queue with one reader and one writer. At least one item fits, however long it is."""

    def __init__(self) -> None:
        self._items: deque[tuple[Item, int]] = deque()
        self._bytes = 0
        self._closed = self._is_held = False
        self.is_awaited = False
        """Whether the reader waits and the queue is empty, so that all earlier items are processed."""
        self._waiting = trio.lowlevel.ParkingLot()

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def holds_any(self) -> bool:
        return bool(self._items)

    async def put(self, item: Item, size: int) -> None:
        """Append `item` of `size` bytes; wait while the inbox is full."""
        while self._items and (len(self._items) >= INBOX_FRAMES_MAX or self._bytes + size > INBOX_BYTES_MAX):
            await self._waiting.park()
        self.put_first(item, size)

    def put_first(self, item: Item, size: int = 0) -> None:
        """Append `item` to an empty inbox, without a wait."""
        self._items.append((item, size))
        self._bytes += size
        self.is_awaited = False
        self._waiting.unpark_all()

    async def get(self) -> Item | None:
        """Return the oldest item, None once the inbox is closed and empty."""
        while self._is_held or not self._items:
            if self._closed and not self._is_held:
                return None
            self.is_awaited = not self._is_held
            await self._waiting.park()
        self.is_awaited = False
        item, size = self._items.popleft()
        self._bytes -= size
        self._waiting.unpark_all()
        return item

    def hold(self) -> None:
        """Give the reader nothing until `resume`: a request outside the queue is under way."""
        self._is_held, self.is_awaited = True, False

    def resume(self, first: Item | None = None) -> None:
        """Continue, with `first` before all queued items. A reader without items is not woken."""
        self._is_held = False
        if first is not None:
            self._items.appendleft((first, 0))
        if self._items or self._closed:
            self._waiting.unpark_all()
        else:
            self.is_awaited = True

    def close(self) -> None:
        """Accept no more items. Queued items can still be read."""
        self._closed, self.is_awaited = True, False
        self._waiting.unpark_all()

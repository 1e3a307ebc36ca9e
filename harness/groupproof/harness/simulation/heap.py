"""Virtual time: a heap of scheduled calls. Calls for the same instant run in the order in which they were scheduled."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

__all__ = ["Heap"]


class Heap:
    """The event heap. `now_ms` is the time in milliseconds since the start of the run, `events` the number of calls that ran."""

    def __init__(self) -> None:
        self.now_ms = 0
        self._asked = 0
        self._heap: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []

    @property
    def events(self) -> int:
        return self._asked - len(self._heap)

    def at(self, at_ms: int, act: Callable[..., None], *arguments: Any) -> None:
        """Schedule `act(*arguments)` at `at_ms`, which is now or later."""
        number = self._asked = self._asked + 1
        heappush(self._heap, (at_ms, number, act, arguments))

    def put(self, at_ms: int, act: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        """Schedule `act(*arguments)` at `at_ms`: a faster form of `at`."""
        number = self._asked = self._asked + 1
        heappush(self._heap, (at_ms, number, act, arguments))

    def after(self, ms: int, act: Callable[..., None], *arguments: Any) -> None:
        """Schedule `act(*arguments)` in `ms` milliseconds."""
        number = self._asked = self._asked + 1
        heappush(self._heap, (self.now_ms + ms, number, act, arguments))

    def run(self, until_ms: int) -> None:
        """Run every call that is due up to and including `until_ms`."""
        heap = self._heap
        while heap and heap[0][0] <= until_ms:
            self.now_ms, _, act, arguments = heappop(heap)
            act(*arguments)
        self.now_ms = until_ms

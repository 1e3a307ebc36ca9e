"""Virtual time: a heap of what is to happen, and when; what is due at one instant happens in the order in which it was asked for."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

__all__ = ["Heap"]


class Heap:
    """`now_ms` is the time, in milliseconds from the start of the run; `events` counts what has happened."""

    def __init__(self) -> None:
        self.now_ms = 0
        self._asked = 0
        self._heap: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []

    @property
    def events(self) -> int:
        return self._asked - len(self._heap)

    def at(self, at_ms: int, act: Callable[..., None], *arguments: Any) -> None:
        """Let `act(*arguments)` happen at `at_ms`, which is now or later."""
        number = self._asked = self._asked + 1
        heappush(self._heap, (at_ms, number, act, arguments))

    def put(self, at_ms: int, act: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        """Let `act(*arguments)` happen at `at_ms`, as `at` does, for whom that takes too long."""
        number = self._asked = self._asked + 1
        heappush(self._heap, (at_ms, number, act, arguments))

    def after(self, ms: int, act: Callable[..., None], *arguments: Any) -> None:
        """Let `act(*arguments)` happen in `ms` milliseconds."""
        number = self._asked = self._asked + 1
        heappush(self._heap, (self.now_ms + ms, number, act, arguments))

    def run(self, until_ms: int) -> None:
        """Let everything happen that is due up to `until_ms`, that instant included."""
        heap = self._heap
        while heap and heap[0][0] <= until_ms:
            self.now_ms, _, act, arguments = heappop(heap)
            act(*arguments)
        self.now_ms = until_ms

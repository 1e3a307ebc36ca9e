"""Virtual time: a heap of what is to happen, and when; what is due at one instant happens in the order in which it was asked for."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

__all__ = ["Heap"]


class Heap:
    """`now_ms` is the time, in milliseconds from the start of the run; `events` counts what has happened."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.events = 0
        self._asked = 0
        self._heap: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []

    def at(self, at_ms: int, act: Callable[..., None], *arguments: Any) -> None:
        """Let `act(*arguments)` happen at `at_ms`, which is now or later."""
        self._asked += 1
        heapq.heappush(self._heap, (at_ms, self._asked, act, arguments))

    def after(self, ms: int, act: Callable[..., None], *arguments: Any) -> None:
        """Let `act(*arguments)` happen in `ms` milliseconds."""
        self.at(self.now_ms + ms, act, *arguments)

    def run(self, until_ms: int) -> None:
        """Let everything happen that is due up to `until_ms`, that instant included."""
        heap, pop = self._heap, heapq.heappop
        while heap and heap[0][0] <= until_ms:
            self.now_ms, _, act, arguments = pop(heap)
            self.events += 1
            act(*arguments)
        self.now_ms = until_ms

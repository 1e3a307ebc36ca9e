"""The coordinator's timers: arming again costs a dictionary entry, so that a heartbeat is O(1) however many members there are."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import NamedTuple

from groupproof.protocol.spec import On

__all__ = ["TimerKey", "Timers"]


class TimerKey(NamedTuple):
    """Whose timer: `member_id` is empty for a timer of the whole group."""

    on: On
    group_id: str
    member_id: str = ""


_Due = tuple[int, int]  # the instant in ms, and the order of arming, which decides between equals


@dataclass(slots=True)
class Timers:
    """Deadlines by key. A heap entry is never moved: one that comes up early is put back at its key's present deadline."""

    _due: dict[TimerKey, _Due] = field(default_factory=dict)
    _heap: list[tuple[int, int, TimerKey]] = field(default_factory=list)
    _queued: dict[TimerKey, int] = field(default_factory=dict)  # the earliest heap entry of a key
    _armed: int = 0

    def arm(self, key: TimerKey, due_ms: int) -> None:
        """Arm `key` for `due_ms`, in place of what it was armed for."""
        self._armed += 1
        self._due[key] = (due_ms, self._armed)
        queued = self._queued.get(key)
        if queued is None or due_ms < queued:
            self._push(key, (due_ms, self._armed))

    def cancel(self, key: TimerKey) -> None:
        """Disarm `key`; one that is not armed is no error."""
        self._due.pop(key, None)

    def next_ms(self) -> int | None:
        """Return the earliest deadline, or None."""
        top = self._settle()
        return None if top is None else top[0]

    def pop_due(self, now_ms: int) -> tuple[TimerKey, int] | None:
        """Disarm and return the earliest key due at or before `now_ms`, with its deadline, or None."""
        top = self._settle()
        if top is None or top[0] > now_ms:
            return None
        heapq.heappop(self._heap)
        due_ms, _, key = top
        del self._due[key]
        self._queued.pop(key, None)
        return key, due_ms

    def due_of(self, key: TimerKey) -> int | None:
        """Return the deadline of `key`, or None."""
        due = self._due.get(key)
        return None if due is None else due[0]

    def __len__(self) -> int:
        return len(self._due)

    def _push(self, key: TimerKey, due: _Due) -> None:
        heapq.heappush(self._heap, (due[0], due[1], key))
        self._queued[key] = due[0]

    def _settle(self) -> tuple[int, int, TimerKey] | None:
        """Drop or put back what is stale at the top of the heap; return the true top."""
        while self._heap:
            due_ms, order, key = self._heap[0]
            current = self._due.get(key)
            if current == (due_ms, order):
                return self._heap[0]
            heapq.heappop(self._heap)
            if self._queued.get(key) != due_ms:
                continue  # a newer, earlier entry of this key stands for it
            del self._queued[key]
            if current is not None:
                self._push(key, current)
        return None

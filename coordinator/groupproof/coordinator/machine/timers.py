"""The coordinator's timers. Arming again costs one dictionary entry, so a heartbeat is O(1) for any number of members.

Of timers due at one instant, the timers of the whole group go first: a phase that ends then includes every member that was in time. Timers of members
follow. Each kind goes in the order of arming.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from groupproof.protocol.rules.classic.classic_terms import ClassicEvent

if TYPE_CHECKING:
    from groupproof.protocol.rules.cells import EventKind

__all__ = ["TimerKey", "Timers", "session_of"]


class TimerKey(NamedTuple):
    """The key of a timer. `member_id` is empty for a timer of the whole group."""

    kind: EventKind
    group_id: str
    member_id: str = ""


@lru_cache(maxsize=65_536)
def session_of(group_id: str, member_id: str) -> TimerKey:
    """Return the key of a member's session timer. Every heartbeat arms it again."""
    return TimerKey(ClassicEvent.SESSION_END, group_id, member_id)


_Due = tuple[int, bool, int]  # the instant in ms; whether it is a member's; the order of arming


@dataclass(slots=True)
class Timers:
    """Deadlines by key. A heap entry never moves: one that comes up early is pushed again with its key's current deadline.

    Nothing is due before `quiet_until_ms`, the time of the earliest heap entry.
    """

    _due: dict[TimerKey, _Due] = field(default_factory=dict)
    _heap: list[tuple[_Due, TimerKey]] = field(default_factory=list)
    _queued: dict[TimerKey, int] = field(default_factory=dict)  # the earliest heap entry of a key
    _armed: int = 0
    quiet_until_ms: float = math.inf

    def arm(self, key: TimerKey, due_ms: int) -> None:
        """Arm `key` for `due_ms`, in place of its previous deadline."""
        self._armed += 1
        due = self._due[key] = (due_ms, bool(key.member_id), self._armed)
        queued = self._queued.get(key)
        if queued is None or due_ms < queued:
            self._push(key, due)

    def cancel(self, key: TimerKey) -> None:
        """Disarm `key`. A key that is not armed is ignored."""
        self._due.pop(key, None)

    def next_ms(self, before_ms: float = math.inf) -> int | None:
        """Return the earliest deadline, None where none is before `before_ms`."""
        if self.quiet_until_ms >= before_ms:
            return None
        top = self._settle()
        return None if top is None or top[0][0] >= before_ms else top[0][0]

    def pop_due(self, now_ms: int) -> tuple[TimerKey, int] | None:
        """Disarm the earliest key that is due at `now_ms` and return it with its deadline; None where nothing is due."""
        if self.quiet_until_ms > now_ms:
            return None
        top = self._settle()
        if top is None or top[0][0] > now_ms:
            return None
        self._pop()
        due, key = top
        del self._due[key]
        del self._queued[key]  # the true top is the key's queued entry
        return key, due[0]

    def due_of(self, key: TimerKey) -> int | None:
        """Return the deadline of `key`, None where it is not armed."""
        due = self._due.get(key)
        return None if due is None else due[0]

    def __len__(self) -> int:
        return len(self._due)

    @property
    def entries(self) -> int:
        """Return the number of heap entries, stale ones included: the cost of the timers."""
        return len(self._heap)

    def _push(self, key: TimerKey, due: _Due) -> None:
        heapq.heappush(self._heap, (due, key))
        self._queued[key] = due[0]
        self.quiet_until_ms = float(self._heap[0][0][0])

    def _pop(self) -> None:
        heapq.heappop(self._heap)
        self.quiet_until_ms = float(self._heap[0][0][0]) if self._heap else math.inf

    def _settle(self) -> tuple[_Due, TimerKey] | None:
        """Remove stale entries from the top of the heap, or push them again; return the true top."""
        while self._heap:
            due, key = self._heap[0]
            current = self._due.get(key)
            if current == due:
                return self._heap[0]
            self._pop()
            if self._queued.get(key) != due[0]:
                continue  # a newer, earlier entry of this key replaces it
            del self._queued[key]
            if current is not None:
                self._push(key, current)
        return None

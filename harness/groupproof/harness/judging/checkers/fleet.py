"""Many groups in one stream of observations: each is dealt to the groups that it touches, in the order of `seq`. Pure.

What names a group is that group's. What befalls a link, and answers that name no group, touch the groups that were spoken of on it; a fault, and what the kit does to all, touches
every group of its run. Memory is bounded by groups, connections and members.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from groupproof.harness.judging.checkers.live_group import MEMBERSHIP, GroupFold, GroupTold
from groupproof.harness.model.verdicts import Finding
from groupproof.protocol.trace import Observation

__all__ = ["WINDOW_ROWS", "Fleet", "InOrder", "touches_all", "touches_connection"]

WINDOW_ROWS: Final = 10_000
"""How far an observation may be out of its place in a stream."""

Key = tuple[str, str, str]


def touches_all(seen: Observation) -> bool:
    """Tell whether an observation that names no group is of all groups of its run."""
    return seen.group is None and (seen.kind == "fault" or (seen.who == "kit" and seen.connection is None))


def touches_connection(seen: Observation) -> bool:
    """Tell whether an observation that names no group is of those that were spoken of on its connection."""
    return seen.group is None and seen.connection is not None and seen.kind != "fault"


@dataclass(slots=True)
class Fleet:
    """The groups of a stream that is in order."""

    _groups: dict[Key, GroupFold] = field(default_factory=dict)
    _of_connection: dict[tuple[str, str, int], dict[Key, None]] = field(default_factory=dict)
    _settings: dict[tuple[str, str], list[Observation]] = field(default_factory=dict)
    _spoken: set[Key] = field(default_factory=set)

    def feed(self, seen: Observation) -> list[Finding]:
        """Take the next observation; return what is found now."""
        return [finding for _, finding in self.found(seen)]

    def found(self, seen: Observation) -> list[tuple[str, Finding]]:
        """Take the next observation; return what is found now, with the group in which it is."""
        return [(key[2], finding) for key in self._touched(seen) for finding in self._of(key).feed(seen)]

    def _touched(self, seen: Observation) -> list[Key]:
        if seen.group is not None:
            key = (seen.run, seen.case, seen.group)
            if seen.api in MEMBERSHIP:
                self._spoken.add(key)
            if seen.connection is not None:
                self._of_connection.setdefault((seen.run, seen.case, seen.connection), {})[key] = None
            return [key]
        if touches_all(seen):
            if "settings" in seen.body:
                self._settings.setdefault((seen.run, seen.case), []).append(seen)
            return [key for key in self._groups if key[:2] == (seen.run, seen.case)]
        if touches_connection(seen) and seen.connection is not None:
            at = (seen.run, seen.case, seen.connection)
            is_over = seen.body.get("name") == "closed"
            return list((self._of_connection.pop(at, None) if is_over else self._of_connection.get(at)) or ())
        return []

    def _of(self, key: Key) -> GroupFold:
        if key not in self._groups:
            self._groups[key] = made = GroupFold(*key)
            for seen in self._settings.get(key[:2], ()):
                made.feed(seen)
        return self._groups[key]

    def told(self) -> Iterator[GroupTold]:
        """Yield what each group showed that a member spoke of, when nothing follows."""
        for key, group in self._groups.items():
            if key in self._spoken:
                yield group.told()


@dataclass(slots=True)
class InOrder:
    """Puts a stream in the order of `seq` as far as `rows` reach; `displaced` counts what was out of its place, `late` what came too late to be put in it."""

    rows: int = WINDOW_ROWS
    displaced: int = 0
    late: int = 0
    _heap: list[tuple[int, int, Observation]] = field(default_factory=list)
    _count: int = 0
    _highest: int = -1
    _released: int = -1

    def sorted(self, stream: Iterable[Observation]) -> Iterator[Observation]:
        """Yield the stream in order; what is late is left out."""
        for seen in stream:
            self.displaced += seen.seq < self._highest
            self._highest = max(self._highest, seen.seq)
            if seen.seq < self._released:
                self.late += 1
                continue
            self._count += 1
            heapq.heappush(self._heap, (seen.seq, self._count, seen))
            if len(self._heap) > self.rows:
                yield self._next()
        while self._heap:
            yield self._next()

    def _next(self) -> Observation:
        self._released, _, seen = heapq.heappop(self._heap)
        return seen

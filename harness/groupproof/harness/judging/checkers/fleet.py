"""Checks many groups in one stream of observations. Each observation goes to the groups that it touches, in the order of `seq`. Pure.

An observation that names a group touches that group. Events of a connection, and responses without a group, touch the groups that were named on it.
A fault, and an action of the kit without a connection, touch every group of its run. Memory is bounded by groups, connections and members.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from groupproof.harness.judging.checkers.live_group import GroupChecker, GroupResult
from groupproof.harness.judging.checkers.tracking.reader_registry import membership_apis
from groupproof.harness.model.verdicts import Finding
from groupproof.protocol.trace import Observation

__all__ = ["WINDOW_ROWS", "Fleet", "InOrder", "Key", "touches_all", "touches_connection"]

WINDOW_ROWS: Final = 10_000
"""How many rows an observation may be out of order in a stream."""

Key = tuple[str, str, str]


def touches_all(obs: Observation) -> bool:
    """Return whether an observation without a group touches all groups of its run."""
    return obs.group is None and (obs.kind == "fault" or (obs.who == "kit" and obs.connection is None))


def touches_connection(obs: Observation) -> bool:
    """Return whether an observation without a group touches the groups that were named on its connection."""
    return obs.group is None and obs.connection is not None and obs.kind != "fault"


@dataclass(slots=True)
class Fleet:
    """The groups of an ordered stream."""

    _groups: dict[Key, GroupChecker] = field(default_factory=dict)
    _of_connection: dict[tuple[str, str, int], dict[Key, None]] = field(default_factory=dict)
    _settings: dict[tuple[str, str], list[Observation]] = field(default_factory=dict)
    _spoken: set[Key] = field(default_factory=set)

    def feed(self, obs: Observation) -> list[Finding]:
        """Process the next observation. Return the new findings."""
        if obs.group is not None:
            return self._of(self._named(obs, obs.group)).feed(obs)
        return [finding for _, finding in self.found(obs)]

    def found(self, obs: Observation) -> list[tuple[str, Finding]]:
        """Process the next observation. Return the new findings, each with its group."""
        return [(key[2], finding) for key in self._touched(obs) for finding in self._of(key).feed(obs)]

    def deal(self, obs: Observation) -> list[tuple[Key, GroupChecker]]:
        """Record the next observation without feeding it. Return the groups that must be fed, with their checkers."""
        return [(key, self._of(key)) for key in self._touched(obs)]

    def checker_of(self, key: Key) -> GroupChecker:
        return self._groups[key]

    def knows(self, key: Key, connection: int | None) -> bool:
        """Return whether a group was named on this connection before. One more observation on it then changes only that group."""
        return key in self._spoken and key in self._of_connection.get((*key[:2], -1 if connection is None else connection), ())

    def _touched(self, obs: Observation) -> list[Key]:
        if obs.group is not None:
            return [self._named(obs, obs.group)]
        if touches_all(obs):
            if "settings" in obs.body:
                self._settings.setdefault((obs.run, obs.case), []).append(obs)
            return [key for key in self._groups if key[:2] == (obs.run, obs.case)]
        if touches_connection(obs) and obs.connection is not None:
            at = (obs.run, obs.case, obs.connection)
            is_over = obs.body.get("name") == "closed"
            return list((self._of_connection.pop(at, None) if is_over else self._of_connection.get(at)) or ())
        return []

    def _named(self, obs: Observation, group: str) -> Key:
        """Return the group that an observation names. Record it, and its connection."""
        key = (obs.run, obs.case, group)
        if key not in self._spoken and obs.api in membership_apis():
            self._spoken.add(key)
        if obs.connection is not None:
            at = (obs.run, obs.case, obs.connection)
            groups = self._of_connection.get(at)
            if groups is None:
                self._of_connection[at] = {key: None}
            else:
                groups[key] = None
        return key

    def _of(self, key: Key) -> GroupChecker:
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = GroupChecker(*key)
            for obs in self._settings.get(key[:2], ()):
                group.feed(obs)
        return group

    def results(self) -> Iterator[GroupResult]:
        """Yield the result of each group that a member named, when nothing follows."""
        return (result for _, result in self.placed_results())

    def placed_results(self) -> Iterator[tuple[int, GroupResult]]:
        """Yield the same results, each with the number of the first observation that names the group."""
        for key, group in self._groups.items():
            if key in self._spoken:
                yield group.first_seq, group.result()


@dataclass(slots=True)
class InOrder:
    """Sorts a stream by `seq` within a window of `rows`. `displaced` counts the observations out of order, `late` those beyond the window."""

    rows: int = WINDOW_ROWS
    displaced: int = 0
    late: int = 0
    _heap: list[tuple[int, int, Observation]] = field(default_factory=list)
    _count: int = 0
    _highest: int = -1
    _released: int = -1

    def sorted(self, stream: Iterable[Observation]) -> Iterator[Observation]:
        """Yield the stream in order, without the late observations."""
        coming = iter(stream)
        held = deque[Observation]()
        for obs in coming:
            if obs.seq < self._highest:
                yield from self._from_here(held, chain((obs,), coming))
                return
            self._highest = obs.seq
            held.append(obs)
            if len(held) > self.rows:
                first = held.popleft()
                self._released = first.seq
                yield first
        yield from held

    def _from_here(self, held: Iterable[Observation], coming: Iterable[Observation]) -> Iterator[Observation]:
        """Yield the held observations, which are in order, and the rest, which is not."""
        self._heap = [(obs.seq, number, obs) for number, obs in enumerate(held)]
        self._count = len(self._heap)
        for obs in coming:
            self.displaced += obs.seq < self._highest
            self._highest = max(self._highest, obs.seq)
            if obs.seq < self._released:
                self.late += 1
                continue
            self._count += 1
            heapq.heappush(self._heap, (obs.seq, self._count, obs))
            if len(self._heap) > self.rows:
                yield self._next()
        while self._heap:
            yield self._next()

    def _next(self) -> Observation:
        self._released, _, obs = heapq.heappop(self._heap)
        return obs

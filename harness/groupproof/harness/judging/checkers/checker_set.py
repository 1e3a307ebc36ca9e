"""Runs the checkers of one dialect on one group: one tracker for all, and each row goes only to the checkers that listen to it. Pure.

The findings are those of the single checkers, each with its own tracker (`tests/harness/judging/checkers/test_checker_set.py`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final

from groupproof.harness.judging.checkers.checker import Checker
from groupproof.harness.judging.checkers.listening_checker import ANY_API, ListeningChecker, is_frame
from groupproof.harness.judging.checkers.steady import NO_ROWS, Steady
from groupproof.harness.judging.checkers.tracking.group_tracker import GroupTracker, TrackingChecker
from groupproof.harness.model.verdicts import Finding
from groupproof.protocol.trace import Observation

__all__ = ["CheckerSet"]

_Look = Callable[[Observation], Iterable[Finding]]
_FrameFilter = frozenset[tuple[str, str]] | None
"""The frames that a checker listens to. None means all."""
_NEVER_MS: Final = float("inf")


class CheckerSet:
    """Takes the observations of one group in the order of `seq`, like a single checker."""

    def __init__(self, makers: Sequence[Callable[[], Checker]]) -> None:
        self._checkers = [make() for make in makers]
        self._filters = tuple(map(_filter_of, self._checkers))
        self._group = GroupTracker()
        trackers = [checker for checker in self._checkers if isinstance(checker, TrackingChecker)]
        for checker in trackers:
            checker.share(self._group)
        self._tracks = bool(trackers)
        self._waiting = [
            (place, checker, queue)
            for place, checker in enumerate(self._checkers)
            if isinstance(checker, ListeningChecker)
            for queue in checker.queues()
        ]
        self._wait_ms = min((queue.wait_ms for _, _, queue in self._waiting), default=_NEVER_MS)
        self._due_ms = _NEVER_MS  # nothing is due before; at times it is a little early
        self._listeners: dict[str | None, dict[str | None, tuple[tuple[int, _Look], ...]]] = {}
        self._hearers_of: dict[frozenset[tuple[str, str]], list[tuple[int, Checker, frozenset[tuple[str, str]]]]] = {}

    def step(self, obs: Observation) -> Sequence[Finding]:
        """Process the next observation. Return what is now certain, in the order of the checkers."""
        found = self._found(obs)
        return [finding for _, finding in found] if found else ()

    def wants(self, steady: Steady) -> dict[int, Collection[int]] | None:
        """Return the rows of a member's steady exchanges that checkers need, by the index of the checker. Return None where the tracker needs them."""
        if self._tracks and not self._group.is_steady(steady):
            return None
        wanted: dict[int, Collection[int]] = {}
        for place, checker, listens in self._hearers(frozenset(steady.frames())):
            if (rows := checker.wants(steady)) != NO_ROWS:
                wanted[place] = frozenset(steady.rows(listens)) if rows is None else rows
        return wanted

    def absorb(self, steady: Steady, wanted: Collection[int]) -> None:
        """Record a member's steady exchanges for all checkers except those at these indexes."""
        if self._tracks:
            self._group.absorb(steady)
        for place, checker, _ in self._hearers(frozenset(steady.frames())):
            if place not in wanted:
                checker.absorb(steady)

    def conclude(self, steady: Steady, wanted: Mapping[int, Collection[int]]) -> None:
        """Let all checkers record what they keep of a member's exchanges at the end of the stretch; `wanted` are the rows that they got."""
        for place, checker, _ in self._hearers(frozenset(steady.frames())):
            checker.conclude(steady, wanted.get(place, NO_ROWS))

    def _hearers(self, frames: frozenset[tuple[str, str]]) -> list[tuple[int, Checker, frozenset[tuple[str, str]]]]:
        """Return the checkers that listen to any of these frames, each with its index and its frames."""
        found = self._hearers_of.get(frames)
        if found is None:
            filters = ((place, checker, _frames_of(checker, frames)) for place, checker in enumerate(self._checkers))
            found = self._hearers_of[frames] = [entry for entry in filters if entry[2]]
        return found

    def is_before(self, at_ms: float) -> bool:
        """Return whether all waiting items were added at or before an instant. Clocks may go back, and items wait in the order in which they came."""
        return all(queue.is_before(at_ms) for _, _, queue in self._waiting)

    def pass_time(self, instants_ms: Sequence[float]) -> list[Finding]:
        """Return the findings that become due at these ascending instants, while only rows come that change nothing."""
        found: list[Finding] = []
        at = bisect_right(instants_ms, self._due_ms)
        while at < len(instants_ms):
            found += [finding for _, finding in self._due(instants_ms[at])]
            at = bisect_right(instants_ms, self._due_ms)
        return found

    def step_some(self, obs: Observation, places: Collection[int]) -> list[Finding]:
        """Process an observation for the checkers at these indexes only, because the tracker does not need it. Return what is now certain."""
        at_ms = obs.at_ms
        found = self._due(at_ms) if at_ms > self._due_ms else []
        found += [(place, finding) for place in places for finding in _look_of(self._checkers[place])(obs)]
        self._due_ms = min(self._due_ms, at_ms + self._wait_ms)
        return [finding for _, finding in sorted(found, key=lambda entry: entry[0])]

    def last_was(self, obs: Observation) -> None:
        """Record the newest observation when no checker needed it."""
        self._group.last = obs

    def by_checker(self, trace: Iterable[Observation]) -> list[list[Finding]]:
        """Return the findings in a whole trace, a list for each checker. The checkers must be fresh."""
        findings: list[list[Finding]] = [[] for _ in self._checkers]
        for obs in trace:
            for place, finding in self._found(obs):
                findings[place].append(finding)
        for of_checker, checker in zip(findings, self._checkers, strict=True):
            of_checker += checker.end()
        return findings

    def _found(self, obs: Observation) -> Sequence[tuple[int, Finding]]:
        """Process the next observation. Return what is now certain, each with the checker's index."""
        at_ms = obs.at_ns / 1e6
        due = self._due(at_ms) if at_ms > self._due_ms else None
        if self._tracks:
            self._group.follow(obs)
        kind = obs.kind if is_frame(obs) else None
        try:
            listeners = self._listeners[kind][obs.api]
        except KeyError:
            listeners = self._listeners.setdefault(kind, {})[obs.api] = self._listeners_to(kind, obs.api)
        found: list[tuple[int, Finding]] = []
        for place, look in listeners:
            for finding in look(obs):
                found.append((place, finding))  # most rows find nothing, and a comprehension costs a call
        if at_ms + self._wait_ms < self._due_ms:
            self._due_ms = at_ms + self._wait_ms
        return sorted(chain(due, found), key=lambda entry: entry[0]) if due else found

    def _due(self, at_ms: float) -> list[tuple[int, Finding]]:
        due = {place: checker for place, checker, queue in self._waiting if queue.until_ms < at_ms}
        found = [(place, finding) for place, checker in due.items() for finding in checker.due(at_ms)]
        self._due_ms = min((queue.until_ms for _, _, queue in self._waiting), default=_NEVER_MS)
        return found

    def _listeners_to(self, kind: str | None, api: str | None) -> tuple[tuple[int, _Look], ...]:
        return tuple((place, _look_of(self._checkers[place])) for place in _places(self._filters, kind, api))

    def end(self) -> Iterable[Finding]:
        """Yield what is certain when nothing follows. Called once."""
        for checker in self._checkers:
            yield from checker.end()


def _frames_of(checker: Checker, frames: frozenset[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    return frozenset((kind, api) for kind, api in frames if _passes(_filter_of(checker), kind, api))


def _look_of(checker: Checker) -> _Look:
    return checker.look if isinstance(checker, ListeningChecker) else checker.step


@lru_cache(maxsize=1_024)
def _places(filters: tuple[_FrameFilter, ...], kind: str | None, api: str | None) -> tuple[int, ...]:
    """Return the indexes of the checkers that listen. It is cached, because a run judges hundreds of traces with the same checkers."""
    return tuple(place for place, frames in enumerate(filters) if _passes(frames, kind, api))


def _filter_of(checker: Checker) -> _FrameFilter:
    return checker.listens if isinstance(checker, ListeningChecker) else None


def _passes(frames: _FrameFilter, kind: str | None, api: str | None) -> bool:
    return kind is None or frames is None or (kind, ANY_API) in frames or (kind, api) in frames

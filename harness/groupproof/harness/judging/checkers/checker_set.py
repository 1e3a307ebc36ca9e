"""The checkers of one dialect at work on the members of one group: one tracker for all, and each row for those alone who listen to it. Pure.

What comes out is what the checkers find one by one, each with a tracker of its own (`tests/harness/judging/checkers/test_checker_set.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Final

from groupproof.harness.judging.checkers.checker import Checker
from groupproof.harness.judging.checkers.listening_checker import ANY_API, ListeningChecker, is_frame
from groupproof.harness.judging.checkers.tracking.group_tracker import GroupTracker, TrackingChecker
from groupproof.harness.model.verdicts import Finding
from groupproof.protocol.trace import Observation

__all__ = ["CheckerSet"]

_Look = Callable[[Observation], Iterable[Finding]]
_NEVER_MS: Final = float("inf")


class CheckerSet:
    """Takes the observations of one group in the order of `seq`, as one checker does."""

    def __init__(self, makers: Sequence[Callable[[], Checker]]) -> None:
        self._checkers = [make() for make in makers]
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
        self._due_ms = _NEVER_MS  # nothing is due before; at times a little before something is
        self._listeners: dict[str | None, dict[str | None, tuple[tuple[int, _Look], ...]]] = {}

    def step(self, obs: Observation) -> Sequence[Finding]:
        """Take the next observation; return what is certain now, in the order of the checkers."""
        found = self._found(obs)
        return [finding for _, finding in found] if found else ()

    def by_checker(self, trace: Iterable[Observation]) -> list[list[Finding]]:
        """Return what the checkers find in a whole trace, of which they have taken nothing yet: a list for each checker."""
        findings: list[list[Finding]] = [[] for _ in self._checkers]
        for obs in trace:
            for place, finding in self._found(obs):
                findings[place].append(finding)
        for of_checker, checker in zip(findings, self._checkers, strict=True):
            of_checker += checker.end()
        return findings

    def _found(self, obs: Observation) -> Sequence[tuple[int, Finding]]:
        """Take the next observation; return what is certain now, with the checker's place."""
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
        ripe = {place: checker for place, checker, queue in self._waiting if queue.until_ms < at_ms}
        found = [(place, finding) for place, checker in ripe.items() for finding in checker.due(at_ms)]
        self._due_ms = min((queue.until_ms for _, _, queue in self._waiting), default=_NEVER_MS)
        return found

    def _listeners_to(self, kind: str | None, api: str | None) -> tuple[tuple[int, _Look], ...]:
        return tuple((place, _look_of(checker)) for place, checker in enumerate(self._checkers) if _listens(checker, kind, api))

    def end(self) -> Iterable[Finding]:
        """Return what is certain when nothing follows. It is asked once."""
        for checker in self._checkers:
            yield from checker.end()


def _look_of(checker: Checker) -> _Look:
    return checker.look if isinstance(checker, ListeningChecker) else checker.step


def _listens(checker: Checker, kind: str | None, api: str | None) -> bool:
    if kind is None or not isinstance(checker, ListeningChecker):
        return True
    return (kind, ANY_API) in checker.listens or (kind, api) in checker.listens

"""Checkers that declare the frames they listen to, so that a row reaches only those. Pure."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Final, Generic, TypeVar

from groupproof.harness.judging.checkers.checker import Checker, Waiting
from groupproof.harness.model.verdicts import Finding
from groupproof.protocol.trace import Observation

__all__ = ["ANY_API", "SPEAKERS", "ListeningChecker", "WaitingChecker", "is_frame"]

T = TypeVar("T")

ANY_API: Final = "*"
"""In `listens`: requests or responses of any API."""

SPEAKERS: Final = frozenset({"kit", "link", "shim", "member"})
"""Observations of these go to every checker: a command, the end of a connection, or a callback."""


def is_frame(obs: Observation) -> bool:
    """Return whether an observation goes only to the checkers that listen to its kind and API."""
    return obs.kind in ("request", "response") and obs.who not in SPEAKERS


class ListeningChecker(Checker):
    """A checker with a step in two parts: first what is `due` from before, then a `look` at the observation.

    `listens` are the frames, as kind and API, that `look` needs. It gets every observation that is no frame. Items that wait are in its `queues`.
    """

    listens: ClassVar[frozenset[tuple[str, str]]]

    def queues(self) -> tuple[Waiting[Any], ...]:
        return ()

    def due(self, at_ms: float) -> Iterable[Finding]:
        """Return the findings that are due before an instant. The caller must read all of them before it goes on."""
        return ()

    @abstractmethod
    def look(self, obs: Observation) -> Iterable[Finding]:
        """Process an observation after everything due, and return what is now certain."""

    def step(self, obs: Observation) -> Iterable[Finding]:
        yield from self.due(obs.at_ms)
        yield from self.look(obs)


class WaitingChecker(ListeningChecker, Generic[T]):
    """A listening checker that judges each item `wait_ms` after it was added to `_waiting`, or at the end: answers and reports are recorded a little
    after they were acted on.
    """

    wait_ms: ClassVar[float]

    def __init__(self) -> None:
        super().__init__()
        self._waiting: Waiting[T] = Waiting(self.wait_ms)

    def queues(self) -> tuple[Waiting[Any], ...]:
        return (self._waiting,)

    def due(self, at_ms: float) -> Iterator[Finding]:
        for item in self._waiting.due(at_ms):
            yield from self._judge(item)

    def end(self) -> Iterator[Finding]:
        for item in self._waiting.rest():
            yield from self._judge(item)

    @abstractmethod
    def _judge(self, item: T) -> Iterator[Finding]: ...

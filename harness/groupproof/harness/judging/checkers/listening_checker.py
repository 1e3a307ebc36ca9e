"""Checkers that declare the frames they listen to, so that a row reaches only those. Pure."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Final

from groupproof.harness.judging.checkers.checker import Checker, Waiting
from groupproof.harness.model.verdicts import Finding
from groupproof.protocol.trace import Observation

__all__ = ["ANY_API", "SPEAKERS", "ListeningChecker", "is_frame"]

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

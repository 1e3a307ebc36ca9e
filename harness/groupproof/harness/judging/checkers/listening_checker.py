"""Checkers that say which frames they listen to, so that a row reaches those alone. Pure."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Final

from groupproof.harness.judging.checkers.checker import Checker, Waiting
from groupproof.harness.model.verdicts import Finding
from groupproof.protocol.trace import Observation

__all__ = ["ANY_API", "SPEAKERS", "ListeningChecker", "is_frame"]

ANY_API: Final = "*"
"""In `listens`: requests or responses of any api."""

SPEAKERS: Final = frozenset({"kit", "link", "shim", "member"})
"""What these say is for every checker: it may be a command, the end of a connection, or a callback."""


def is_frame(obs: Observation) -> bool:
    """Tell whether an observation is for those alone who listen to its kind and api."""
    return obs.kind in ("request", "response") and obs.who not in SPEAKERS


class ListeningChecker(Checker):
    """A checker whose step has two parts: what is `due` by now, by what was there before; and then a `look` at the observation.

    `listens` are the frames, as kind and api, that `look` has any use for; of what is no frame it takes all. What it keeps waiting is in its `queues`.
    """

    listens: ClassVar[frozenset[tuple[str, str]]]

    def queues(self) -> tuple[Waiting[Any], ...]:
        return ()

    def due(self, at_ms: float) -> Iterable[Finding]:
        """Return what has waited until before an instant; all of it must be read before anything else goes on."""
        return ()

    @abstractmethod
    def look(self, obs: Observation) -> Iterable[Finding]:
        """Take an observation, of which nothing is due any more, and return what is certain now."""

    def step(self, obs: Observation) -> Iterable[Finding]:
        yield from self.due(obs.at_ms)
        yield from self.look(obs)

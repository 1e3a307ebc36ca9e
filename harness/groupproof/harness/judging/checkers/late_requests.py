"""Which requests came too late to be legal, and which of those were only delayed on their way. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from groupproof.harness.judging.checkers.checker import Newest, UnderWay, Waiting
from groupproof.harness.judging.checkers.frame_facts import SLACK_MS
from groupproof.harness.judging.checkers.steady import Steady
from groupproof.protocol.trace import Observation

__all__ = ["LateRequests"]

_CLOSED_KEPT: Final = 1_000
"""The number of closed connections that are remembered, the newest first."""


class LateRequests:
    """Requests that come too late to be legal, held for a short while. A request that was only delayed on its way is no fault.

    There are two signs of a delay. Its client closed the connection before it arrived or just after, so nobody reads the answer. Or requests with
    higher correlations overtook it, which TCP does not do, but some proxies and simulated networks do.
    """

    def __init__(self) -> None:
        self._closed: Newest[int | None, float] = Newest(_CLOSED_KEPT)
        self._asked: UnderWay[Observation] = UnderWay()
        self._waiting: Waiting[Observation] = Waiting(SLACK_MS)
        self._waited: set[int] = set()
        self._highest: dict[int | None, int] = {}

    def add(self, request: Observation) -> None:
        """Add a late request. `follow` must have processed it before."""
        is_overtaken = request.correlation is not None and request.correlation < self._highest.get(request.connection, request.correlation)
        if self._closed.get(request.connection) is None and not is_overtaken:
            self._asked.ask(request, request)
            self._waiting.add(request.at_ms, request)

    @property
    def queue(self) -> Waiting[Observation]:
        return self._waiting

    def due(self, at_ms: float) -> Iterator[Observation]:
        """Yield the requests that are now certain to have been sent too late."""
        return self._faulty(self._waiting.due(at_ms))

    def follow(self, obs: Observation) -> None:
        """Record the next observation. Nothing may be due any more at its time."""
        if obs.kind == "request" and obs.correlation is not None:
            highest = self._highest.get(obs.connection)
            if highest is None or obs.correlation > highest:
                self._highest[obs.connection] = obs.correlation
        elif obs.kind == "response":
            self._asked.answered(obs)
        elif obs.who == "link" and obs.body.get("name") == "closed":
            self._closed.set(obs.connection, obs.at_ms)
            self._highest.pop(obs.connection, None)
            self._waited.update(request.seq for request in self._asked.closed(obs) if obs.at_ms - request.at_ms <= SLACK_MS)

    def is_apart(self, steady: Steady) -> bool:
        """Return whether none of these exchanges is late or answers a late request."""
        return self._asked.is_apart(steady)

    def absorb(self, steady: Steady) -> None:
        """Record requests of which none is late."""
        self._highest[steady.connection] = max(steady.highest, self._highest.get(steady.connection, steady.highest))

    def rest(self) -> Iterator[Observation]:
        return self._faulty(self._waiting.rest())

    def _faulty(self, requests: Iterator[Observation]) -> Iterator[Observation]:
        for request in requests:
            if request.seq not in self._waited:
                yield request
            self._waited.discard(request.seq)

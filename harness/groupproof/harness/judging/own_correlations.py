"""Says which request an answer belongs to where a client repeats correlation ids: each of its requests gets an id of its own. Pure.

pykafka sends 0 with every request: its answers come in order, and it needs no more. A judge that looks for the answer to a Heartbeat would else get the
connection's last one, of a Fetch.

A whole trace is renumbered on every connection that repeats an id (`with_own_correlations`), because judges look answers up in all of it. A stream is
renumbered from the moment when two requests of a connection with one id have no answer yet (`OwnCorrelations`). Until then an id names one request.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from groupproof.protocol.trace import ExchangeId, Observation, Trace

__all__ = ["OwnCorrelations", "with_own_correlations"]

_FIRST: Final = 1 << 30
"""The first number that is given: higher than the ids that a client has counted up to, and still of 32 bits."""

_Key = tuple[ExchangeId, str | None]


def with_own_correlations(trace: Trace) -> Trace:
    """Return the trace with the ids that its clients repeat replaced. Connections without a repeated id stay as they are."""
    sent = Counter(obs.exchange_id for obs in trace if obs.kind == "request" and obs.connection is not None)
    repeating = {connection for (connection, _), count in sent.items() if count > 1}
    own = OwnCorrelations(repeating)
    return [own.renumbered(obs) if obs.connection in repeating else obs for obs in trace] if repeating else trace


@dataclass(slots=True)
class _Connection:
    """The requests of a connection that repeats ids: how many were numbered, those without an answer by id and API, and the last one with an answer."""

    numbered: int = 0
    open: dict[_Key, deque[int]] = field(default_factory=lambda: defaultdict(deque))
    answered: dict[_Key, int] = field(default_factory=dict)

    def number_of(self, obs: Observation) -> int | None:
        """Return the number of the request that an observation belongs to. A broker answers in order: it is the oldest one without an answer."""
        key = obs.exchange_id, obs.api
        if obs.kind == "request":
            number = self._next()
            self.open[key].append(number)
            return number
        if waiting := self.open[key]:
            if obs.kind != "response":
                return waiting[0]
            self.answered[key] = waiting.popleft()
            return self.answered[key]
        if obs.kind == "response" and key not in self.answered:
            return self._next()  # its request was sent before the trace begins
        return self.answered.get(key)  # a receipt that follows its answer, or one answer too many

    def _next(self) -> int:
        self.numbered += 1
        return _FIRST + self.numbered


class OwnCorrelations:
    """Takes the observations of a stream in order. It can be pickled between any two of them and resumed. `repeating` are connections that are known
    to repeat ids."""

    def __init__(self, repeating: Iterable[int | None] = ()) -> None:
        self._repeating = {connection: _Connection() for connection in repeating}
        self._open: dict[int | None, dict[int, str | None]] = {}

    def renumbered(self, obs: Observation) -> Observation:
        """Return the next observation, with the number of its request as its correlation id where its connection repeats ids."""
        if obs.correlation is None or obs.connection is None:
            if obs.who == "link" and obs.body.get("name") == "closed":
                self._open.pop(obs.connection, None)
            return obs
        if obs.connection not in self._repeating and not self._is_repeated(obs, obs.correlation):
            return obs
        return replace(obs, correlation=self._repeating[obs.connection].number_of(obs))

    def repeats(self, connection: int) -> bool:
        """Return whether requests of this connection are numbered."""
        return connection in self._repeating

    def _is_repeated(self, obs: Observation, correlation: int) -> bool:
        """Record a frame. Return whether its connection repeats ids from here on: a request has the id of one without an answer, or an answer has the
        id of a request of another API."""
        if obs.kind == "request":
            waiting = self._open.setdefault(obs.connection, {})
            if correlation not in waiting:
                waiting[correlation] = obs.api
                return False
        elif obs.kind == "response":
            waiting = self._open.get(obs.connection, {})
            if waiting.get(correlation, obs.api) == obs.api:
                waiting.pop(correlation, None)
                return False
        else:
            return False
        numbered = self._repeating[obs.connection] = _Connection()
        for other, api in self._open.pop(obs.connection, {}).items():
            numbered.open[(obs.connection, other), api].append(other)
        return True

"""Gives each request of a connection a correlation id of its own, where a client repeats them. Pure.

pykafka sends 0 with every request: its answers come in order, and it needs no more. A judge that looks for the answer to a Heartbeat would else get the
connection's last one, of a Fetch.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from groupproof.protocol.trace import ExchangeId, Observation, Trace

__all__ = ["with_own_correlations"]

_Key = tuple[ExchangeId, str | None]


def with_own_correlations(trace: Trace) -> Trace:
    """Return the trace with the ids that its clients repeat replaced by the numbers of the requests on their connection. Others stay as they are."""
    sent = Counter(obs.exchange_id for obs in trace if obs.kind == "request" and obs.connection is not None)
    repeating = {connection for (connection, _), count in sent.items() if count > 1}
    return list(_renumbered(trace, repeating)) if repeating else trace


@dataclass(slots=True)
class _Connection:
    """The requests of one connection: how many were sent, those without an answer by id and API, and the last one with an answer."""

    sent: int = 0
    open: dict[_Key, deque[int]] = field(default_factory=lambda: defaultdict(deque))
    answered: dict[_Key, int] = field(default_factory=dict)

    def number_of(self, obs: Observation) -> int | None:
        """Return the number of the request that an observation belongs to. A broker answers in order: it is the oldest one without an answer."""
        key = obs.exchange_id, obs.api
        if obs.kind == "request":
            self.sent += 1
            self.open[key].append(self.sent)
            return self.sent
        if not self.open[key]:
            return self.answered.get(key)  # a receipt that follows its answer
        if obs.kind == "response":
            self.answered[key] = self.open[key].popleft()
            return self.answered[key]
        return self.open[key][0]


def _renumbered(trace: Trace, repeating: set[int | None]) -> Iterator[Observation]:
    connections: dict[int | None, _Connection] = defaultdict(_Connection)
    for obs in trace:
        if obs.correlation is None or obs.connection not in repeating:
            yield obs
        else:
            yield replace(obs, correlation=connections[obs.connection].number_of(obs))

"""How long answers to heartbeats take: every answer counts, errors included (DIAG-12)."""

from __future__ import annotations

from typing import Final

from groupproof.harness.judging.meters.meter import Figures
from groupproof.protocol.trace import ExchangeId, Observation
from groupproof.protocol.vocabulary import Api

__all__ = ["Heartbeats"]

_BEATS: Final = frozenset({Api.HEARTBEAT.title, Api.CONSUMER_GROUP_HEARTBEAT.title})


class Heartbeats:
    """Measures `heartbeat_answers`, `heartbeat_latency_ms` (a sum, for the mean), and the peak `heartbeat_latency_max_ms`."""

    def __init__(self) -> None:
        self._asked: dict[ExchangeId, float] = {}
        self._figures = Figures()

    def feed(self, obs: Observation) -> None:
        if obs.api not in _BEATS:
            return
        if obs.kind == "request":
            self._asked[obs.exchange_id] = obs.at_ms
        elif obs.kind == "response" and (asked_ms := self._asked.pop(obs.exchange_id, None)) is not None:
            latency = max(0.0, obs.at_ms - asked_ms)
            self._figures.add("heartbeat_answers", 1, obs.client)
            self._figures.add("heartbeat_latency_ms", latency, obs.client)
            self._figures.peak("heartbeat_latency_max_ms", latency)

    def result(self) -> Figures:
        return self._figures

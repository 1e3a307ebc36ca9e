"""How long answers to heartbeats take: every answer counts, errors included (DIAG-12)."""

from __future__ import annotations

from groupproof.harness.judging.meters.meter import Figures
from groupproof.protocol.trace import ExchangeId, Observation
from groupproof.protocol.vocabulary import Api

__all__ = ["Heartbeats"]


class Heartbeats:
    """Measures `heartbeat_answers`, `heartbeat_latency_ms` (summed, from which the mean follows), and as a peak `heartbeat_latency_max_ms`."""

    def __init__(self) -> None:
        self._asked: dict[ExchangeId, float] = {}
        self._figures = Figures()

    def feed(self, seen: Observation) -> None:
        if seen.api != Api.HEARTBEAT.title:
            return
        if seen.kind == "request":
            self._asked[seen.exchange_id] = seen.at_ms
        elif seen.kind == "response" and (asked_ms := self._asked.pop(seen.exchange_id, None)) is not None:
            latency = max(0.0, seen.at_ms - asked_ms)
            self._figures.add("heartbeat_answers", 1, seen.client)
            self._figures.add("heartbeat_latency_ms", latency, seen.client)
            self._figures.peak("heartbeat_latency_max_ms", latency)

    def result(self) -> Figures:
        return self._figures

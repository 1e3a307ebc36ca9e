"""A client's own timeouts, read from the wire: session and rebalance timeout from JoinGroup, heartbeat interval from its heartbeats. Pure.

A plan asks for settings, but a shim may be unable to set them, and a client may have its own rhythm. Judges and plans go by what the client does
(contract, amendment 2). The driver that waits and the judge that reads use the same values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Final

from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api

__all__ = ["REACT_MS", "Terms", "TermsReader"]

REACT_MS: Final = 6_000.0
"""The time (ms) within which a client reacts, unless its own measured rhythm is slower."""

_TOLERANCE: Final = 0.1
"""The share by which a long wait may overrun before it counts as late (contract, "Time")."""
_GAPS_KEPT: Final = 16
_GAPS_MIN: Final = 3
_JOIN, _BEAT, _EPOCH_BEAT = Api.JOIN_GROUP.title, Api.HEARTBEAT.title, Api.CONSUMER_GROUP_HEARTBEAT.title


@dataclass(slots=True)
class Terms:
    """The timeouts of one client. `settings` are those of its newest `subscribe`. `ignored` are those that its shim could not set."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    ignored: frozenset[str] = frozenset()
    subscribed: Observation | None = None
    join: Observation | None = None
    _beat: Observation | None = None
    _gaps_ms: list[float] = field(default_factory=list)

    @property
    def session_ms(self) -> float:
        """Return the session timeout (ms) of its newest JoinGroup, or the plan's where it sent none."""
        on_the_wire = None if self.join is None else self.join.body.get("session_timeout_ms")
        return float(on_the_wire or self.settings.get("session_timeout_ms") or 0)

    @property
    def rebalance_ms(self) -> float:
        """Return the rebalance timeout (ms) of its newest JoinGroup. JoinGroup v0 has only the session timeout, which serves for both."""
        on_the_wire = None if self.join is None else self.join.body.get("rebalance_timeout_ms")
        if on_the_wire is not None and on_the_wire > 0:
            return float(on_the_wire)
        return self.session_ms if self.join is not None else float(self.settings.get("max_poll_interval_ms") or 0)

    @property
    def heartbeat_ms(self) -> float:
        """Return the observed interval (ms) of its heartbeats, but not less than the plan's."""
        wished = float(self.settings.get("heartbeat_interval_ms") or 0)
        if len(self._gaps_ms) >= _GAPS_MIN:
            return max(wished, median(self._gaps_ms))
        # Kafka advises a third of the session, and no known client takes more.
        return max(wished, self.session_ms / 3) if "heartbeat_interval_ms" in self.ignored else wished

    def follow(self, obs: Observation) -> None:
        """Record the next observation of this client."""
        if obs.who == "kit" and obs.body.get("command") == "subscribe":
            self.settings, self.ignored, self.subscribed = obs.body.get("fields") or {}, frozenset(), None
        elif obs.who == "shim" and obs.body.get("name") == "answer" and self.subscribed is None and self.settings:
            self.ignored, self.subscribed = frozenset(obs.body.get("ignored") or ()), obs
        elif obs.kind == "request" and obs.api == _JOIN and obs.body.get("session_timeout_ms"):
            self.join, self._beat = obs, None
        elif obs.kind == "request" and obs.api == _EPOCH_BEAT and obs.member_epoch == 0:
            self.join, self._beat = obs, None  # KIP-848: the session timeout is the coordinator's
        elif obs.kind == "request" and obs.api in (_BEAT, _EPOCH_BEAT):
            self._follow_heartbeat(obs)

    def _follow_heartbeat(self, beat: Observation) -> None:
        before, self._beat = self._beat, beat
        if before is not None and (before.member, before.generation) == (beat.member, beat.generation):
            self._gaps_ms = [*self._gaps_ms[1 - _GAPS_KEPT :], beat.at_ms - before.at_ms]


class TermsReader:
    """Reads every observation of a trace in order, and keeps the timeouts of each client so far."""

    def __init__(self) -> None:
        self._terms: dict[str, Terms] = {}
        self.stretch = 1.0

    def feed(self, obs: Observation) -> None:
        if obs.client is not None:
            if (terms := self._terms.get(obs.client)) is None:
                terms = self._terms[obs.client] = Terms()
            terms.follow(obs)
        elif obs.who == "kit" and obs.body.get("name") == "rhythm":
            self.stretch = max(1.0, float(obs.body["react_ms"]) / REACT_MS)

    def of(self, client: str) -> Terms:
        return self._terms.get(client) or Terms()

    def session_surplus_ms(self) -> float:
        """Return by how many ms a client's session timeout exceeds the plan's, at most. A ghost stays in the group that much longer."""
        wished = ((term.session_ms, term.settings.get("session_timeout_ms")) for term in self._terms.values() if term.join is not None)
        return max((max(0.0, on_the_wire - float(plan)) for on_the_wire, plan in wished if plan), default=0.0)

    def patience_ms(self, within_ms: float) -> float:
        """Return how long (ms) a plan waits for a condition with `within_ms`: by the client's own rhythm, and until ghosts of longer sessions are
        gone.

        The longer session gets the same tolerance as other waits: a run that ended earlier would be INCONCLUSIVE.
        """
        return within_ms * self.stretch + self.session_surplus_ms() * (1 + _TOLERANCE)

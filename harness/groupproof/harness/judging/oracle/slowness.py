"""How late the machine was while a trace was made: the kit, or the broker with answers that wait for nothing. Pure.

A broker that nobody gives a processor answers late, and its timers go off late; what only that explains is laid at nobody's door.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from groupproof.harness.judging.oracle.exchanges import Exchange, History, histories
from groupproof.harness.judging.oracle.tolerance import Tolerance
from groupproof.protocol.trace import Trace
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["BROKER", "KIT", "SLOW_MS_MIN", "Slowness", "slowness_of"]

SLOW_MS_MIN: Final = 100.0
"""From this on an answer that waits for nothing was late."""

BUSY_MS_MIN: Final = 20.0
"""As long as a request has a start over what makes sure that it was taken up (`scripted.SETTLE_S`)."""

KIT: Final = {"lag": "lag_ms"}
BROKER: Final = {"slow": "slow_ms", "settled": "answered_ms"}
"""What the kit tells of lateness: its own, and that of the broker with Heartbeats of nobody's, which the cases are no part of."""

_PARKED: Final = (Api.JOIN_GROUP, Api.SYNC_GROUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slowness:
    """How late things were at worst: the kit itself, the broker as the kit tells, and the broker by the answers of the trace, none of them more than is judged late."""

    kit_ms: float
    broker_ms: float
    late_answers_ms: float

    @property
    def is_busy(self) -> bool:
        """Whether something that waits for nothing took so long that other connections may have waited to be read."""
        return max(self.kit_ms, self.broker_ms, self.late_answers_ms) >= BUSY_MS_MIN

    def allowed_ms(self, kind: str, api: Api) -> float:
        """Return what may be laid at the machine's door for a divergence of that kind.

        An answer that waits for nothing and is late is not excused by others of the broker's: only the kit, which shares its machine, can have been kept waiting too.
        """
        excuses_itself = kind in ("late", "slow") and api not in _PARKED
        allowed_ms = self.kit_ms if excuses_itself else max(self.kit_ms, self.broker_ms, self.late_answers_ms)
        return allowed_ms if allowed_ms >= SLOW_MS_MIN else 0.0


def slowness_of(trace: Trace, of_groups: Sequence[History] | None = None) -> Slowness:
    """Return how late kit and broker were at worst while the trace was made; `of_groups` are its histories, where they are read already."""
    exchanges = (exchange for history in (histories(trace) if of_groups is None else of_groups) for exchange in history.exchanges)
    waits = (exchange.answered_ms - exchange.ready_ms for exchange in exchanges if exchange.answered_ms is not None and _waits_for_nothing(exchange))
    return Slowness(kit_ms=_worst(trace, KIT), broker_ms=_worst(trace, BROKER), late_answers_ms=min(max(waits, default=0.0), Tolerance().prompt_ms))


def _worst(trace: Trace, fields: Mapping[str, str]) -> float:
    events = (obs.body for obs in trace if obs.who == "kit" and obs.body.get("name") in fields)
    return max((float(event.get(fields[event["name"]], 0.0)) for event in events), default=0.0)


def _waits_for_nothing(exchange: Exchange) -> bool:
    is_asked_for_id = exchange.api is Api.JOIN_GROUP and exchange.code == ErrorCode.MEMBER_ID_REQUIRED
    return (exchange.api not in _PARKED or is_asked_for_id) and not exchange.is_unread

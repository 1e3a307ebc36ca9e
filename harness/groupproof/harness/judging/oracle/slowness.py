"""How late the kit or the broker was while a trace was made, by answers that wait for nothing. Pure.

A broker without processor time answers late, and its timers fire late. A divergence that only this explains is nobody's fault.
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
"""From this delay on, an answer that waits for nothing was late."""

BUSY_MS_MIN: Final = 20.0
"""The head start of a request over the request that makes sure that it was processed (`SETTLE_S` of `script_runner`)."""

KIT: Final = {"lag": "lag_ms"}
BROKER: Final = {"slow": "slow_ms", "settled": "answered_ms"}
"""The kit's events about lateness: its own, and the broker's, measured with Heartbeats to a group that no case uses."""

_PARKED: Final = (Api.JOIN_GROUP, Api.SYNC_GROUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slowness:
    """The worst delays: of the kit itself, of the broker by the kit's measurements, and of the broker by the trace's answers.

    The last is at most the prompt time.
    """

    kit_ms: float
    broker_ms: float
    late_answers_ms: float

    @property
    def is_busy(self) -> bool:
        """Whether an answer that waits for nothing was so slow that other connections may have waited to be read."""
        return max(self.kit_ms, self.broker_ms, self.late_answers_ms) >= BUSY_MS_MIN

    def allowed_ms(self, kind: str, api: Api) -> float:
        """Return the delay in milliseconds that excuses a divergence of that kind.

        An answer that waits for nothing and is late is not excused by the broker's other late answers. Only the kit's delay excuses it: kit and
        broker share a host.
        """
        excuses_itself = kind in ("late", "slow") and api not in _PARKED
        allowed_ms = self.kit_ms if excuses_itself else max(self.kit_ms, self.broker_ms, self.late_answers_ms)
        return allowed_ms if allowed_ms >= SLOW_MS_MIN else 0.0


def slowness_of(trace: Trace, of_groups: Sequence[History] | None = None) -> Slowness:
    """Return the worst delays of kit and broker while the trace was made. `of_groups` are its histories, if the caller has them."""
    exchanges = (exchange for history in (histories(trace) if of_groups is None else of_groups) for exchange in history.exchanges)
    waits = (exchange.answered_ms - exchange.ready_ms for exchange in exchanges if exchange.answered_ms is not None and _waits_for_nothing(exchange))
    return Slowness(kit_ms=_worst(trace, KIT), broker_ms=_worst(trace, BROKER), late_answers_ms=min(max(waits, default=0.0), Tolerance().prompt_ms))


def _worst(trace: Trace, fields: Mapping[str, str]) -> float:
    events = (obs.body for obs in trace if obs.who == "kit" and obs.body.get("name") in fields)
    return max((float(event.get(fields[event["name"]], 0.0)) for event in events), default=0.0)


def _waits_for_nothing(exchange: Exchange) -> bool:
    is_asked_for_id = exchange.api is Api.JOIN_GROUP and exchange.code == ErrorCode.MEMBER_ID_REQUIRED
    return (exchange.api not in _PARKED or is_asked_for_id) and not exchange.is_unread

"""Workers that do not keep step: threads of real processes drift apart, while virtual ones would heartbeat at one instant for ever after a rebalance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypedDict

if TYPE_CHECKING:
    from random import Random

__all__ = ["Pace", "drifting"]

_DRIFT_MAX: Final = 0.04
_HEARTBEAT_MS: Final = 3_000
_TICK_MS: Final = 500


class Pace(TypedDict):
    """How often a worker heartbeats and ticks."""

    heartbeat_interval_ms: int
    tick_ms: int


def drifting(random: Random) -> Pace:
    """Return DataLink's own intervals (TIMER-29, TIMER-30), up to 4 % shorter or longer."""
    drift = 1 + random.uniform(-_DRIFT_MAX, _DRIFT_MAX)
    return Pace(heartbeat_interval_ms=round(_HEARTBEAT_MS * drift), tick_ms=round(_TICK_MS * drift))

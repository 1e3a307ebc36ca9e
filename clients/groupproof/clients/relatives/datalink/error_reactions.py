"""A worker's reaction to each answer: the special errors of the design, as a table (WORKER-05 to WORKER-12, seed 001).

Each special error leads back to PreparingJoin. Three also trigger a new coordinator lookup, two also reset the generation. A lost connection
is no special error: the worker looks the coordinator up again and keeps its state, unless it waited for that answer to join.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from groupproof.protocol.rules.classic.member_reactions import Answer, Lapse
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["SPECIAL", "Reaction", "reaction"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """`rejoins`: return to PreparingJoin. `backs_off`: first wait for retry.backoff.ms. `fails`: end, because the worker cannot continue."""

    rejoins: bool = False
    rediscovers: bool = False
    resets: bool = False
    backs_off: bool = False
    fails: bool = False


_REDISCOVER: Final = Reaction(rejoins=True, rediscovers=True, backs_off=True)
_RESET: Final = Reaction(rejoins=True, resets=True)

SPECIAL: Final[Mapping[Answer, Reaction]] = {
    ErrorCode.COORDINATOR_NOT_AVAILABLE: _REDISCOVER,
    ErrorCode.NOT_COORDINATOR: _REDISCOVER,
    ErrorCode.REBALANCE_IN_PROGRESS: Reaction(rejoins=True),
    ErrorCode.ILLEGAL_GENERATION: _RESET,
    ErrorCode.UNKNOWN_MEMBER_ID: _RESET,
    Lapse.TIMED_OUT: _REDISCOVER,
}
"""All special errors of the design (WORKER-09)."""

_GOES_ON: Final = Reaction()
_BROKEN: Final = Reaction(rediscovers=True, backs_off=True)
_LOADING: Final = Reaction(rejoins=True, backs_off=True)  # DISC-20: the client of 0.10.1 retries
_FAILS: Final = Reaction(fails=True)


def reaction(api: Api, answer: Answer) -> Reaction:
    """Return a worker's reaction to the answer of JoinGroup, SyncGroup or Heartbeat."""
    if answer == ErrorCode.NONE:
        return _GOES_ON
    if answer is Lapse.DISCONNECTED:
        return _BROKEN if api is Api.HEARTBEAT else _REDISCOVER
    if answer == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and api is Api.JOIN_GROUP:
        return _LOADING
    return SPECIAL.get(answer, _FAILS)

"""What a worker does with each answer: the special errors of the design, as a table (WORKER-05 to WORKER-12, seed 001).

Of the special errors each leads back to PreparingJoin; two of them have the coordinator looked up again besides, two the generation reset. A connection that
breaks is no special error: the coordinator is looked up again, and the worker stays what it is, unless it waited for that answer to join.
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
    """`rejoins`: go back to PreparingJoin; `backs_off`: but wait retry.backoff.ms; `fails`: end, for there is no way on."""

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
"""The special errors of the design: these and no others (WORKER-09)."""

_GOES_ON: Final = Reaction()
_BROKEN: Final = Reaction(rediscovers=True, backs_off=True)
_LOADING: Final = Reaction(rejoins=True, backs_off=True)  # DISC-20: the client of 0.10.1 tries again
_FAILS: Final = Reaction(fails=True)


def reaction(api: Api, answer: Answer) -> Reaction:
    """Return what a worker does with the answer to JoinGroup, SyncGroup or Heartbeat."""
    if answer == ErrorCode.NONE:
        return _GOES_ON
    if answer is Lapse.DISCONNECTED:
        return _BROKEN if api is Api.HEARTBEAT else _REDISCOVER
    if answer == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and api is Api.JOIN_GROUP:
        return _LOADING
    return SPECIAL.get(answer, _FAILS)

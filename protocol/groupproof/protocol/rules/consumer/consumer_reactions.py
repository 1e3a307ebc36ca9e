"""The member's side of the `consumer` protocol as one table: a client's reaction to each answer, by API, code and phase.

The table follows the newest Java client (`AbstractHeartbeatRequestManager.onErrorResponse`, `CommitRequestManager`). It is total, and read like the
classic member's (`rules/classic/member_reactions.py`): effects are applied in the order written, and the API's `other` row covers every other code.

`LOSE` with `REJOIN` is Kafka's "fenced": the lost-callback runs, and the member joins at epoch 0 with the same member id. `SAY_ALL` makes the next
heartbeat a full one. `JOINING` is the phase of a member whose join is not answered yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from groupproof.protocol.rules.classic.member_reactions import REACTIONS, Answer, Effect, Lapse, Phase, Reaction, Reactions
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["CONSUMER_REACTIONS", "consumer_reaction"]

ACCEPT, REDISCOVER, REJOIN, LOSE, SAY_ALL = Effect.ACCEPT, Effect.REDISCOVER, Effect.REJOIN, Effect.LOSE, Effect.SAY_ALL
BACK_OFF, RETRY, RETRY_OWN, FAIL = Effect.BACK_OFF, Effect.RETRY, Effect.RETRY_OWN, Effect.FAIL
REPORT, RAISE, IGNORE = Effect.REPORT, Effect.RAISE, Effect.IGNORE


def _row(*effects: Effect, by: str) -> Reaction:
    return Reaction(effects, tuple(by.split()))


_HEARTBEAT: Final = Reactions(
    rows={
        0: _row(ACCEPT, by="CGC-24 CGT-02 CGT-03"),
        14: _row(BACK_OFF, SAY_ALL, by="CGT-23 CGC-20"),
        15: _row(REDISCOVER, SAY_ALL, by="CGT-22 CGC-19"),
        16: _row(REDISCOVER, SAY_ALL, by="CGT-22 CGC-19"),
        25: _row(LOSE, REJOIN, by="CGT-19 CGC-06"),
        29: _row(REPORT, SAY_ALL, BACK_OFF, by="CGT-28 CGC-20"),
        30: _row(RAISE, by="CGT-25 CGT-31"),
        35: _row(RAISE, by="CGC-31 CGT-32"),
        42: _row(RAISE, by="CGT-25 CGT-31"),
        69: _row(RAISE, by="CGT-29 CGT-31"),
        81: _row(RAISE, by="CGT-25 CGT-31"),
        82: _row(RAISE, by="CGT-26 CGT-32"),
        110: _row(LOSE, REJOIN, by="CGT-18 CGC-06"),
        111: _row(RAISE, by="CGT-27 CGT-31"),
        112: _row(RAISE, by="CGT-25 CGT-31"),
        113: _row(RAISE, by="CGT-30 CGT-31"),
        128: _row(RAISE, by="CGT-25 CGT-31"),
        Lapse.DISCONNECTED: _row(REDISCOVER, BACK_OFF, SAY_ALL, by="CGT-24 CGC-19"),
        Lapse.TIMED_OUT: _row(REDISCOVER, BACK_OFF, SAY_ALL, by="CGT-24 CGC-19"),
    },
    other=_row(RAISE, by="CGT-30 CGT-31"),
    # A member whose join is refused backs off: the coordinator may keep its last membership until the session ends.
    phases={
        Phase.JOINING: {25: _row(LOSE, REJOIN, BACK_OFF, by="CGT-19 CGT-25"), 110: _row(LOSE, REJOIN, BACK_OFF, by="CGT-18 CGT-25")},
    },
    # The answer does not concern a member that has left or joined anew.
    phase_others={Phase.STALE: _row(IGNORE, by="CGT-33 CGV-12")},
)

_OFFSET_COMMIT: Final = Reactions(
    rows={
        0: _row(ACCEPT, by="CGP-01"),
        3: _row(BACK_OFF, RETRY, by="CGP-08"),
        7: _row(BACK_OFF, RETRY, by="CGP-08"),
        14: _row(BACK_OFF, RETRY, by="CGP-08"),
        15: _row(REDISCOVER, BACK_OFF, RETRY, by="CGP-08"),
        16: _row(REDISCOVER, BACK_OFF, RETRY, by="CGP-08"),
        25: _row(FAIL, by="CGP-07"),
        # Only the member's own commit, before a revocation or the close, is retried: an application's may itself be outdated.
        113: _row(BACK_OFF, RETRY_OWN, by="CGP-05 CGP-06 CGP-04"),
        Lapse.DISCONNECTED: _row(REDISCOVER, BACK_OFF, RETRY, by="CGP-08"),
        Lapse.TIMED_OUT: _row(REDISCOVER, BACK_OFF, RETRY, by="CGP-08"),
    },
    other=_row(FAIL, by="CGP-06"),
)

_OFFSET_FETCH: Final = Reactions(
    rows={
        0: _row(ACCEPT, by="CGP-11"),
        7: _row(BACK_OFF, RETRY, by="CGP-10"),
        14: _row(BACK_OFF, RETRY, by="CGP-10"),
        15: _row(REDISCOVER, BACK_OFF, RETRY, by="CGP-10"),
        16: _row(REDISCOVER, BACK_OFF, RETRY, by="CGP-10"),
        88: _row(BACK_OFF, RETRY, by="CGP-10"),
        113: _row(BACK_OFF, RETRY, by="CGP-09"),
        Lapse.DISCONNECTED: _row(REDISCOVER, BACK_OFF, RETRY, by="CGP-10"),
        Lapse.TIMED_OUT: _row(REDISCOVER, BACK_OFF, RETRY, by="CGP-10"),
    },
    other=_row(FAIL, by="CGP-10"),
)

CONSUMER_REACTIONS: Final[Mapping[Api, Reactions]] = {
    Api.FIND_COORDINATOR: REACTIONS[Api.FIND_COORDINATOR],
    Api.CONSUMER_GROUP_HEARTBEAT: _HEARTBEAT,
    Api.OFFSET_COMMIT: _OFFSET_COMMIT,
    Api.OFFSET_FETCH: _OFFSET_FETCH,
}
"""The APIs whose answers a member of the protocol reacts to."""

assert {code for reactions in CONSUMER_REACTIONS.values() for code in reactions.rows if isinstance(code, int)} <= set(ErrorCode)


@lru_cache(maxsize=1_024)
def consumer_reaction(api: Api, answer: Answer, phase: Phase) -> Reaction:
    """Return the reference member's reaction to `answer`, for every code. Raises `KeyError` for an API without reactions."""
    return CONSUMER_REACTIONS[api].of(answer, phase)

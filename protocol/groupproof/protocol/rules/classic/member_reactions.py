"""The member's side of the classic protocol as one table: a client's reaction to each answer, by API, code and phase.

The table follows the newest Java client (trunk, `AbstractCoordinator` and `ConsumerCoordinator`; the catalogue's sections D and D.7 list the
differences of 1.1). It is total: the API's `other` row covers every other code. The reference member follows it; legal variants and planted bugs are
deviations from it.

Effects are applied in the order written. `REJOIN` alone means at once after a JoinGroup or SyncGroup, and at the next poll after a Heartbeat or
OffsetCommit (CLIENT-60, CLIENT-75). With `BACK_OFF` it waits for `retry.backoff.ms`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import Final

from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["MEMBER_APIS", "REACTIONS", "UNREACHABLE", "Answer", "Effect", "Lapse", "Phase", "Reaction", "Reactions", "reaction"]


class Lapse(Enum):
    """The ways in which a request ends without an answer. Both close the connection (Kafka's client treats a timeout as a disconnect)."""

    DISCONNECTED = "disconnected"
    TIMED_OUT = "timed out"


Answer = int | Lapse
"""An error code (0 is success), or the lack of an answer."""


class Phase(Enum):
    """The member's situation when the answer comes, compared with its request.

    `CURRENT`: the request's member id and generation are still the member's, and it is not rebalancing. `JOINING`: the same, with a JoinGroup
    unanswered. `SYNCING`: the same, with a SyncGroup unanswered. `STALE`: the member has changed (another generation, a reset, a leave, a newer
    attempt).
    """

    CURRENT = "current"
    JOINING = "joining"
    SYNCING = "syncing"
    STALE = "stale"

    __hash__ = object.__hash__  # by identity, which is fast: each member is unique


class Effect(Enum):
    """A member's reaction to an answer."""

    ACCEPT = "take what the answer says"
    TAKE_ID = "keep the member id that the answer hands out"
    RENEW_SESSION = "count the coordinator as heard from"
    DROP_GENERATION = "set the generation to -1"
    DROP_ID = "empty the member id"
    LOSE = "hold the owned partitions for lost"
    REDISCOVER = "forget the coordinator and look it up again"
    REJOIN = "join again"
    BACK_OFF = "wait retry.backoff.ms before the next try"
    RETRY = "send the request again (an asynchronous commit fails instead)"
    RETRY_OWN = "send the member's own commit again, with its newest epoch; fail an application's (KIP-848)"
    SAY_ALL = "send every field with the next heartbeat (KIP-848)"
    FAIL = "fail the request to whoever asked for it"
    REPORT = "tell the application, and go on"
    HALT = "stop heartbeating"
    RAISE = "tell the application, and end: nothing but a goodbye is sent any more"
    IGNORE = "do nothing"


ACCEPT, TAKE_ID, RENEW_SESSION, REDISCOVER = Effect.ACCEPT, Effect.TAKE_ID, Effect.RENEW_SESSION, Effect.REDISCOVER
DROP_GENERATION, DROP_ID, LOSE, REJOIN = Effect.DROP_GENERATION, Effect.DROP_ID, Effect.LOSE, Effect.REJOIN
BACK_OFF, RETRY, FAIL, REPORT = Effect.BACK_OFF, Effect.RETRY, Effect.FAIL, Effect.REPORT
HALT, RAISE, IGNORE = Effect.HALT, Effect.RAISE, Effect.IGNORE


@dataclass(frozen=True, slots=True)
class Reaction:
    """One cell: the effects in order, and the requirements behind them."""

    effects: tuple[Effect, ...]
    requirements: tuple[str, ...]

    def __contains__(self, effect: object) -> bool:
        return effect in self.effects


@dataclass(frozen=True, slots=True, kw_only=True)
class Reactions:
    """One API: rows by answer, the row for any other code, and the rows that differ in a phase."""

    rows: Mapping[Answer, Reaction]
    other: Reaction
    phases: Mapping[Phase, Mapping[Answer, Reaction]] = field(default_factory=dict)
    phase_others: Mapping[Phase, Reaction] = field(default_factory=dict)

    def of(self, answer: Answer, phase: Phase) -> Reaction:
        """Return the cell: from the phase's own rows, else its `other`, else the API's rows."""
        own = self.phases.get(phase, {}).get(answer) or self.phase_others.get(phase)
        return own or self.rows.get(answer, self.other)


def _row(*effects: Effect, by: str) -> Reaction:
    """Return a reaction. `by` lists requirement ids, without the prefix `CLIENT-`."""
    return Reaction(effects, tuple(part if "-" in part else f"CLIENT-{part}" for part in by.split()))


_FIND_COORDINATOR: Final = Reactions(
    rows={
        0: _row(ACCEPT, by="01 07"),
        3: _row(BACK_OFF, RETRY, by="06"),
        7: _row(BACK_OFF, RETRY, by="06"),
        14: _row(BACK_OFF, RETRY, by="06"),
        15: _row(BACK_OFF, RETRY, by="06"),
        16: _row(BACK_OFF, RETRY, by="06"),
        30: _row(RAISE, by="06"),
        Lapse.DISCONNECTED: _row(BACK_OFF, RETRY, by="06"),
        Lapse.TIMED_OUT: _row(BACK_OFF, RETRY, by="06"),
    },
    other=_row(RAISE, by="06"),
    phase_others={Phase.STALE: _row(IGNORE, by="02")},
)

_JOIN_GROUP: Final = Reactions(
    rows={
        0: _row(ACCEPT, by="11"),
        14: _row(BACK_OFF, REJOIN, by="15"),
        15: _row(REDISCOVER, BACK_OFF, REJOIN, by="16 04"),
        16: _row(REDISCOVER, BACK_OFF, REJOIN, by="16 04"),
        # Kafka's client has no branch for 22 here: "Unexpected error in join group response".
        22: _row(RAISE, by="21"),
        23: _row(RAISE, by="17"),
        24: _row(RAISE, by="17"),
        25: _row(DROP_GENERATION, DROP_ID, LOSE, REJOIN, by="14"),
        26: _row(RAISE, by="17"),
        # A broker whose log append timed out answers 27; retried from 2.8 on.
        27: _row(REJOIN, by="75"),
        30: _row(RAISE, by="17"),
        79: _row(TAKE_ID, REJOIN, by="18"),
        81: _row(RAISE, by="19"),
        82: _row(RAISE, by="19"),
        Lapse.DISCONNECTED: _row(REDISCOVER, BACK_OFF, REJOIN, by="05 10 75"),
        Lapse.TIMED_OUT: _row(REDISCOVER, BACK_OFF, REJOIN, by="22 10 75"),
    },
    other=_row(RAISE, by="21"),
    phase_others={Phase.STALE: _row(IGNORE, by="20")},
)

_SYNC_GROUP: Final = Reactions(
    rows={
        0: _row(ACCEPT, by="30 81"),
        15: _row(REDISCOVER, BACK_OFF, REJOIN, by="34 31 04"),
        16: _row(REDISCOVER, BACK_OFF, REJOIN, by="34 31 04"),
        # The id is kept since 3.2 (KAFKA-13419); the catalogue's CLIENT-33 is the rule of 1.1, which drops it too.
        22: _row(DROP_GENERATION, LOSE, REJOIN, by="33 31 76"),
        23: _row(RAISE, by="35"),
        25: _row(DROP_GENERATION, DROP_ID, LOSE, REJOIN, by="33 31"),
        27: _row(REJOIN, by="32 31"),
        30: _row(RAISE, by="35"),
        82: _row(RAISE, by="35"),
        Lapse.DISCONNECTED: _row(REDISCOVER, BACK_OFF, REJOIN, by="05 31 75"),
        Lapse.TIMED_OUT: _row(REDISCOVER, BACK_OFF, REJOIN, by="05 31 75"),
    },
    other=_row(RAISE, by="35"),
    phase_others={Phase.STALE: _row(IGNORE, by="20")},
)

_HEARTBEAT: Final = Reactions(
    rows={
        0: _row(RENEW_SESSION, by="45"),
        15: _row(REDISCOVER, by="49 04"),
        16: _row(REDISCOVER, by="49 04"),
        22: _row(DROP_GENERATION, LOSE, REJOIN, by="47 76"),
        25: _row(DROP_GENERATION, DROP_ID, LOSE, REJOIN, by="48 55"),
        27: _row(RENEW_SESSION, REJOIN, by="46 HB-58"),
        30: _row(REPORT, BACK_OFF, by="50 41"),
        82: _row(HALT, RAISE, by="57"),
        Lapse.DISCONNECTED: _row(REDISCOVER, by="05"),
        Lapse.TIMED_OUT: _row(REDISCOVER, by="05 51"),
    },
    other=_row(REPORT, BACK_OFF, by="50 41"),
    phases={
        # The JoinGroup in flight brings a new generation; answers for the old one no longer matter.
        Phase.JOINING: {
            22: _row(IGNORE, by="46"), 25: _row(IGNORE, by="46"), 27: _row(RENEW_SESSION, by="46 65"),
        },
        Phase.SYNCING: {27: _row(RENEW_SESSION, by="46 65")},
        Phase.STALE: {15: _row(REDISCOVER, by="49 04"), 16: _row(REDISCOVER, by="49 04"), Lapse.DISCONNECTED: _row(REDISCOVER, by="05"),
                      Lapse.TIMED_OUT: _row(REDISCOVER, by="05")},
    },
    phase_others={Phase.STALE: _row(IGNORE, by="47 48")},
)  # fmt: skip

_OFFSET_COMMIT: Final = Reactions(
    rows={
        0: _row(ACCEPT, by="66"),
        3: _row(BACK_OFF, RETRY, by="69"),
        7: _row(REDISCOVER, RETRY, by="69"),
        12: _row(FAIL, by="69"),
        14: _row(BACK_OFF, RETRY, by="69"),
        15: _row(REDISCOVER, RETRY, by="69 04"),
        16: _row(REDISCOVER, RETRY, by="69 04"),
        22: _row(DROP_GENERATION, LOSE, REJOIN, FAIL, by="68 78"),
        25: _row(DROP_GENERATION, DROP_ID, LOSE, REJOIN, FAIL, by="68"),
        27: _row(REJOIN, FAIL, by="68 78"),
        28: _row(FAIL, by="69"),
        29: _row(FAIL, by="69"),
        30: _row(FAIL, by="69"),
        82: _row(FAIL, HALT, RAISE, by="57 STATIC-10"),
        Lapse.DISCONNECTED: _row(REDISCOVER, RETRY, by="05 69"),
        Lapse.TIMED_OUT: _row(REDISCOVER, RETRY, by="05 69"),
    },
    other=_row(FAIL, by="69"),
    phases={
        phase: {22: _row(FAIL, by="64 68"), 25: _row(FAIL, by="64 68"), 27: _row(FAIL, by="68"), 82: _row(FAIL, by="68")}
        for phase in (Phase.JOINING, Phase.STALE)
    },
)

_OFFSET_FETCH: Final = Reactions(
    rows={
        0: _row(ACCEPT, by="79"),
        7: _row(REDISCOVER, RETRY, by="79"),
        14: _row(BACK_OFF, RETRY, by="79"),
        15: _row(REDISCOVER, RETRY, by="79 04"),
        16: _row(REDISCOVER, RETRY, by="79 04"),
        30: _row(FAIL, by="79"),
        88: _row(BACK_OFF, RETRY, by="79"),
        Lapse.DISCONNECTED: _row(REDISCOVER, RETRY, by="05 79"),
        Lapse.TIMED_OUT: _row(REDISCOVER, RETRY, by="05 79"),
    },
    other=_row(FAIL, by="79"),
)

_LEAVE_GROUP: Final = Reactions(
    rows={0: _row(ACCEPT, by="71"), Lapse.DISCONNECTED: _row(IGNORE, by="71"), Lapse.TIMED_OUT: _row(IGNORE, by="71")},
    other=_row(IGNORE, by="71 80"),
)

REACTIONS: Final[Mapping[Api, Reactions]] = {
    Api.FIND_COORDINATOR: _FIND_COORDINATOR,
    Api.JOIN_GROUP: _JOIN_GROUP,
    Api.SYNC_GROUP: _SYNC_GROUP,
    Api.HEARTBEAT: _HEARTBEAT,
    Api.OFFSET_COMMIT: _OFFSET_COMMIT,
    Api.OFFSET_FETCH: _OFFSET_FETCH,
    Api.LEAVE_GROUP: _LEAVE_GROUP,
}
MEMBER_APIS: Final = tuple(REACTIONS)
"""The APIs whose answers a member reacts to."""

_BY_ITSELF: Final = "a lookup, a JoinGroup and a SyncGroup are measured by themselves: the one waited for, or not"
_FORGOTTEN: Final = "who leaves forgets at once who it was: the answer is to somebody it no longer is"

UNREACHABLE: Final[Mapping[tuple[Api, Phase], str]] = {
    **{(api, phase): _BY_ITSELF for api in (Api.FIND_COORDINATOR, Api.JOIN_GROUP, Api.SYNC_GROUP) for phase in (Phase.JOINING, Phase.SYNCING)},
    **{(Api.LEAVE_GROUP, phase): _FORGOTTEN for phase in Phase if phase is not Phase.STALE},
}
"""Phases in which a member, with any policy, cannot be when such an answer comes. The machine asserts this."""

assert {code for reactions in REACTIONS.values() for code in reactions.rows if isinstance(code, int)} <= set(ErrorCode)


@lru_cache(maxsize=1_024)
def reaction(api: Api, answer: Answer, phase: Phase) -> Reaction:
    """Return the reference member's reaction to `answer`, for every code. Raises `KeyError` for an API without reactions."""
    return REACTIONS[api].of(answer, phase)

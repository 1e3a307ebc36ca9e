"""Answers to requests that Kafka never answers: legal where they say what is true of the member. Pure.

Kafka forgets a parked JoinGroup or SyncGroup when the member sends the request again (it overwrites `awaitingJoinCallback` or `awaitingSyncCallback`),
and the SyncGroup of a member that it removes. JOIN-35 and INV-08 require no answer there, and forbid none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from groupproof.harness.judging.oracle.answer_diff import as_answered, differences
from groupproof.harness.judging.oracle.exchanges import Exchange
from groupproof.harness.judging.oracle.open_answers import OpenAnswer
from groupproof.protocol.vocabulary import Api, ErrorCode, Level

__all__ = ["forgotten_answer"]

_NEVER: Final = "Apache Kafka never answers it"
_OF_THE_NEWER: Final = "as the member's newer request is answered"
_REBALANCES: Final = "after which the member joins again, as it does already"
_REMOVED: Final = "as is true of a member that has been removed"


def forgotten_answer(asked: Exchange, exchanges: Iterable[Exchange]) -> OpenAnswer | None:
    """Return why the answer to a JoinGroup or SyncGroup that the group does not hold any more is legal; None where it is not.

    A newer request of the member, by the same API, has replaced it; without one the member has been removed.
    """
    newer = _newer_one(asked, exchanges)
    if newer is None:
        is_legal, words = asked.code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.REBALANCE_IN_PROGRESS), _REMOVED
    elif asked.code == ErrorCode.REBALANCE_IN_PROGRESS:
        is_legal, words = True, _REBALANCES
    else:
        is_legal, words = _is_same_answer(asked, newer), _OF_THE_NEWER
    requirement = "JOIN-35" if newer is not None and asked.api is Api.JOIN_GROUP else "INV-08"
    return OpenAnswer(requirement=requirement, level=Level.INFO, words=words, expected=_NEVER) if is_legal else None


def _newer_one(asked: Exchange, exchanges: Iterable[Exchange]) -> Exchange | None:
    """Return the member's next request of the same API that it sent before this one was answered."""
    member_id = getattr(asked.message, "member_id", "")
    after = (
        exchange for exchange in exchanges
        if exchange.api is asked.api and asked.request.seq < exchange.request.seq < asked.seq and getattr(exchange.message, "member_id", "") == member_id
    )  # fmt: skip
    return next(after, None) if member_id else None


def _is_same_answer(asked: Exchange, newer: Exchange) -> bool:
    """Return whether both requests have the same answer, as a client of the older one's version reads it; or the newer one's was lost."""
    if newer.answer is None or asked.answer is None:
        return True
    return not differences(as_answered(asked.api, asked.version, newer.answer), asked.answer)

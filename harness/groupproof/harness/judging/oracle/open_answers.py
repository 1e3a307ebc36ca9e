"""Answers that are as correct as the rule's: another refusal that is due as well, or any refusal where Kafka fails with an internal error. Pure.

Both answers refuse the request, and a refused request changes nothing. The replay goes on, and the other answer is reported once.

Kafka forgets a parked JoinGroup or SyncGroup when the member sends the request again (it overwrites `awaitingJoinCallback` or `awaitingSyncCallback`),
and the SyncGroup of a member that it removes. JOIN-35 and INV-08 require no answer there, and forbid none that is true of the member.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from groupproof.harness.judging.oracle.answer_diff import as_answered, differences
from groupproof.protocol.rules.check_order import BROKEN_OFF, order_of
from groupproof.protocol.vocabulary import Api, ErrorCode, Level
from groupproof.protocol.wire.error_responses import error_of
from groupproof.protocol.wire.message_conversion import body_of

if TYPE_CHECKING:
    from groupproof.coordinator.machine.due_refusals import DueRefusal
    from groupproof.harness.judging.oracle.exchanges import Exchange
    from groupproof.harness.judging.oracle.replay_result import Step
    from groupproof.protocol.wire.messages import GroupResponse

__all__ = ["UNKNOWN_PARTITIONS", "OpenAnswer", "another_answer", "forgotten_answer"]

UNKNOWN_PARTITIONS: Final = "unknown-partitions"
"""The name of the rule that refuses unknown partitions before the group is asked."""

_NO_REFUSALS: Final = (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED, ErrorCode.UNKNOWN_SERVER_ERROR)
_BROKEN_OFF: Final = "Kafka breaks off here, and any refusal is as right"
_DUE: Final = "due as well, and no KIP says which of the two comes first"
_LATER: Final = "due as well, and to come later"
_OF_NO_GROUP: Final = "as a group that does not exist has no such member"
_NEVER: Final = "Apache Kafka never answers it"
_OF_THE_NEWER: Final = "as the member's newer request is answered"
_REBALANCES: Final = "after which the member joins again, as it does already"
_REMOVED: Final = "as is true of a member that has been removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAnswer:
    """Why an answer breaks no MUST: it is as severe as the `level` of its `requirement`. `words` follow the answer's code in the finding.

    `expected` says what Kafka does where the machine computed no answer.
    """

    requirement: str
    level: Level
    words: str
    expected: str = ""


def another_answer(step: Step, due: Sequence[DueRefusal], answer: object, complete: Callable[[GroupResponse], GroupResponse]) -> OpenAnswer | None:
    """Return why the recorded answer is as correct as the `answer` of the step's rule; None where it is not.

    `due` are the refusals that are possible for the request. `complete` adds the results of unknown partitions to an answer.
    """
    code = error_of(step.exchange.api, step.exchange.answer or {})
    if answer is ErrorCode.UNKNOWN_SERVER_ERROR and step.rule.rpartition("/")[2] in BROKEN_OFF and code not in _NO_REFUSALS:
        return OpenAnswer(requirement=step.requirement, level=Level.INFO, words=_BROKEN_OFF)
    if step.before is None and (answer, code) == (ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID):
        # A commit to no group (COMMIT-10). After 22 and after 25 a client joins again.
        return OpenAnswer(requirement=step.requirement, level=Level.SHOULD, words=_OF_NO_GROUP)
    is_refused = isinstance(answer, ErrorCode) and bool(due) and due[0].rule == step.rule
    # The broker refuses unknown partitions before it asks the group (`KafkaApis.handleOffsetCommitRequest`): no KIP says so (CGO-27).
    is_refused_beside = step.rule.endswith(f"/{UNKNOWN_PARTITIONS}")
    if not is_refused and not is_refused_beside:
        return None
    came = next((refusal for refusal in due if _is_answered(step.exchange, refusal.message, complete)), None)
    return None if came is None else _by_order(step, due[0], came)


def _is_answered(asked: Exchange, message: GroupResponse, complete: Callable[[GroupResponse], GroupResponse]) -> bool:
    """Return whether the recorded answer is the refusal, of all partitions or of the existing ones."""
    return any(_is_like(asked, body_of(whole)) for whole in (message, complete(message)))


def _is_like(asked: Exchange, body: dict[str, Any]) -> bool:
    return all(difference.is_idle for difference in differences(as_answered(asked.api, asked.version, body), asked.answer or {}))


def _by_order(step: Step, first: DueRefusal, came: DueRefusal) -> OpenAnswer | None:
    order = order_of(step.exchange.api, first.code, came.code)
    if order is None:
        return OpenAnswer(requirement=came.requirement, level=Level.INFO, words=_DUE)
    if order.severity is Level.MUST:
        return None
    return OpenAnswer(requirement=order.requirement, level=order.severity, words=_LATER if order.severity is Level.SHOULD else _DUE)


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

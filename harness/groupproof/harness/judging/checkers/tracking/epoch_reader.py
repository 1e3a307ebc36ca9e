"""Reads heartbeats with epochs as memberships (KIP-848). One request joins, keeps, acknowledges and leaves; its answer gives epoch and target.
Pure.

A dialect with such heartbeats builds its reader from these functions.
* An answer without an error makes a member, or moves it to the epoch in the answer. An epoch below 0 answers a leave.
* An assignment in an answer is the member's whole target; an answer without one changes nothing. The member may use added partitions at once: the
  coordinator hands out only what the earlier owner has released.
* What a request lists is what the member owns; it releases everything else (`TopicPartitions`; null means no change).
* UNKNOWN_MEMBER_ID and FENCED_MEMBER_EPOCH end the membership of the refused request. The client joins again with epoch 0 and the same id.
* A leave counts when it is sent: the client does not wait for its answer.
* A heartbeat without changes, answered with the same epoch and no assignment, changes nothing.
"""

from __future__ import annotations

from typing import Final

from groupproof.harness.judging.checkers.frame_facts import error_of
from groupproof.harness.judging.checkers.steady import Steady
from groupproof.harness.judging.checkers.tracking.member_ledger import MemberLedger, Membership
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import ErrorCode, MemberState

__all__ = ["EPOCH_NEWS", "is_steady_epoch", "read_epoch_answer", "read_epoch_request"]

EPOCH_NEWS: Final = frozenset({
    "topic_partitions", "subscribed_topic_names", "subscribed_topic_regex", "server_assignor", "rack_id", "assignment",
})  # fmt: skip
"""The fields by which a heartbeat and its answer report a change. Null means no change."""

_OUT: Final = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH})


def read_epoch_request(ledger: MemberLedger, obs: Observation, client: str) -> None:
    """Record a heartbeat: it may leave, and it may list what the member owns."""
    if obs.member_epoch is None:
        return
    mine = ledger.of(client)
    if obs.member_epoch < 0:
        ledger.end(client)
    elif obs.body.get("topic_partitions") is not None:
        mine.owned = frozenset(obs.partitions)


def read_epoch_answer(ledger: MemberLedger, obs: Observation, client: str) -> None:
    """Record an answer: it makes a member, gives it a target, or ends its membership."""
    mine = ledger.of(client)
    if error_of(obs) in _OUT and obs.member == mine.member:
        ledger.end(client)
    elif not error_of(obs) and obs.member_epoch is not None and obs.member_epoch >= 0:
        if not mine.is_member or mine.member != obs.member:
            ledger.enter(client, Membership(obs.member or "", epoch=ledger.epoch, owned=mine.owned))
        _move(ledger, obs, client)


def is_steady_epoch(ledger: MemberLedger, steady: Steady) -> bool:
    """Return whether a member is stable in the epoch of its steady exchanges. They only keep it there."""
    mine = ledger.members.get(steady.client)
    return mine is not None and (mine.member, mine.member_epoch, mine.state) == (steady.member, steady.generation, MemberState.STABLE)


def _move(ledger: MemberLedger, obs: Observation, client: str) -> None:
    mine = ledger.of(client)
    mine.member_epoch, mine.state, mine.beat_seq = obs.member_epoch or 0, MemberState.STABLE, obs.seq
    if obs.body.get("assignment") is not None:
        mine.assignment = ledger.assign(client, obs)
        mine.target = frozenset(obs.partitions)
        mine.owned |= mine.target

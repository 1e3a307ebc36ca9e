"""Reads frames of the classic dialect as memberships: JoinGroup, SyncGroup, Heartbeat and LeaveGroup of a client. Pure.

* An eager assignment replaces what a member owned; a cooperative one adds to it (CLIENT-62; KIP-429).
* JoinGroup's NONE makes a member (JOIN-13); MEMBER_ID_REQUIRED does not (KIP-394).
* Errors 25 and 82 end the membership that the refused request named, as an accepted LeaveGroup does. Error 22 ends its generation, but the id stays
  (CLIENT-47, CLIENT-48, CLIENT-57). An error to an older membership's request says nothing about the newer one (CLIENT-64).
* A client's own state is that of Kafka's `AbstractCoordinator`: its JoinGroup begins a rebalance; a failed one leaves it UNJOINED (CLIENT-64).
* By the wire a client owns what SyncGroup gave it, until it rejoins as an eager member (CLIENT-62), or the membership ends. A member whose session
  expired is not notified: it believes in its membership until its next answer.
"""

from __future__ import annotations

from typing import Final

from groupproof.harness.judging.checkers.frame_facts import GROUP_REQUESTS, error_of
from groupproof.harness.judging.checkers.steady import Steady
from groupproof.harness.judging.checkers.tracking.frame_reader import FrameReader
from groupproof.harness.judging.checkers.tracking.member_ledger import NEVER, MemberLedger, Membership
from groupproof.harness.judging.checkers.tracking.membership import MembershipGrant, joins_of
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import COOPERATIVE, MEMBERSHIP_ENDS, Api, ErrorCode, MemberState
from groupproof.protocol.wire.subscription import SubscriptionError, decode_assignment

__all__ = ["CLASSIC_READER"]

_SYNC, _JOIN, _LEAVE, _BEAT = Api.SYNC_GROUP.title, Api.JOIN_GROUP.title, Api.LEAVE_GROUP.title, Api.HEARTBEAT.title
_COMMIT: Final = Api.OFFSET_COMMIT.title
_OUT: Final = MEMBERSHIP_ENDS - {ErrorCode.ILLEGAL_GENERATION}
_WITH_GENERATION: Final = frozenset(api.title for api in (Api.SYNC_GROUP, Api.HEARTBEAT, Api.OFFSET_COMMIT))
_NAMES_A_MEMBER: Final = _WITH_GENERATION | {_JOIN}


def _asked(ledger: MemberLedger, obs: Observation, client: str) -> None:
    if (mine := ledger.members.get(client)) is None and obs.api != _JOIN:
        return
    mine = mine or ledger.of(client)
    if obs.api == _JOIN:
        ledger.lives.asks(obs, client)
        mine.state = MemberState.PREPARING_REBALANCE
        mine.owned = mine.owned if mine.is_cooperative else frozenset()
    elif obs.api == _SYNC and obs.generation == mine.generation:
        mine.synced_seq = obs.seq
    elif obs.api == _LEAVE:
        mine.state = MemberState.UNJOINED


def _answered(ledger: MemberLedger, obs: Observation, client: str) -> None:
    mine = ledger.of(client)
    error = error_of(obs)
    if error in _OUT and obs.api in _NAMES_A_MEMBER and obs.member == mine.member and not _is_of_the_past(obs, mine):
        ledger.end(client)
    elif error == ErrorCode.ILLEGAL_GENERATION and obs.api in _WITH_GENERATION and (obs.member, obs.generation) == (mine.member, mine.generation):
        mine.end_generation()
    elif obs.api == _BEAT and obs.generation == mine.generation:
        mine.beat_seq = NEVER if error or mine.assignment is None else obs.seq
    elif obs.api == _LEAVE and not error:
        ledger.end(client)
    elif (grant := joins_of(obs)) is not None:
        ledger.reach(grant.generation)
        ledger.lives.enters(client, grant.generation)
        ledger.enter(client, _joined(grant, ledger.epoch, mine))
    elif obs.api == _SYNC and not error:
        _assigned(ledger, obs, client, mine)
    elif error and obs.api in (_JOIN, _SYNC):
        mine.state = MemberState.UNJOINED


def _absorb(ledger: MemberLedger, steady: Steady) -> None:
    mine, beats = ledger.members.get(steady.client), steady.asked.get(_BEAT)
    if mine is not None and beats is not None and mine.generation == steady.generation:
        mine.beat_seq = NEVER if mine.assignment is None else beats.answer_seqs[-1]


def _joined(grant: MembershipGrant, epoch: int, before: Membership) -> Membership:
    is_whole, is_cooperative = grant.generation >= 0, grant.protocol in COOPERATIVE
    return Membership(
        grant.member, grant.generation, is_cooperative, epoch, is_leader=grant.is_leader,
        state=MemberState.COMPLETING_REBALANCE if is_whole else MemberState.UNJOINED, owned=before.owned,
    )  # fmt: skip


def _assigned(ledger: MemberLedger, obs: Observation, client: str, mine: Membership) -> None:
    mine.assignment, mine.owned = ledger.assign(client, obs), frozenset(obs.partitions)
    mine.state = MemberState.STABLE
    if not obs.partitions and _has_content(obs):
        ledger.unreadable.add(client)


def _is_of_the_past(refusal: Observation, mine: Membership) -> bool:
    """Return whether an error is about an older generation than the client's: to a commit from before its JoinGroup, for example."""
    return refusal.api in _WITH_GENERATION and refusal.generation is not None and 0 <= refusal.generation < mine.generation


def _has_content(answer: Observation) -> bool:
    """Return whether a SyncGroup response that was read as an empty assignment holds other bytes."""
    try:
        return bool(decode_assignment(answer.body.get("assignment") or b"").partitions)
    except SubscriptionError:
        return True


_NEWS: Final = frozenset({"group_instance_id", "members", "protocols"})
"""Fields by which a request says more than that its member is alive."""

CLASSIC_READER: Final = FrameReader(
    dialect=CLASSIC, apis=frozenset({_JOIN, _SYNC, _BEAT, _LEAVE}), membership=frozenset(api.title for api in GROUP_REQUESTS), naming=frozenset({_JOIN}),
    asked=_asked, answered=_answered, is_join=lambda obs: obs.api == _JOIN, is_leave=lambda obs: obs.api == _LEAVE,
    steady={_BEAT: _NEWS, _COMMIT: _NEWS}, absorb=_absorb,
)  # fmt: skip

"""A client's first join: the member id that it got while its subscription changed, and the JoinGroup with a late response."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from groupproof.harness.judging.case_checkers.findings import end
from groupproof.harness.judging.case_checkers.reactions import has_left
from groupproof.harness.judging.checkers.claim import Claim, elapsed_ms
from groupproof.harness.judging.checkers.frame_facts import error_of
from groupproof.harness.model.case import checker
from groupproof.harness.model.evidence import Evidence, NotOffered, NotReached
from groupproof.harness.model.verdicts import Finding, Proof
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["keeps_pending_id", "waits_for_its_join"]

_JOIN = Api.JOIN_GROUP


@checker
def keeps_pending_id(ev: Evidence, client: str, *, requirement: str = "CLIENT-18") -> Iterator[Finding]:
    """Judge that a client comes back with each id that it got with error 79, whatever has changed since (librdkafka#5569).

    The coordinator waits for a pending id until its session ends or it leaves, and assigns no partition before that. Older versions get no such id.
    """
    claim = Claim(requirement=requirement, expected="The client comes back with the member id that it was handed.")
    handed = [obs for obs in ev.responses(_JOIN, client, before=ev.closing) if error_of(obs) == ErrorCode.MEMBER_ID_REQUIRED]
    joins = ev.requests(_JOIN, client, before=ev.closing)
    if not joins:
        raise NotReached(f"{client} sent no JoinGroup")
    unused = [obs for obs in handed if not any(join.member == obs.body.get("member_id") for join in joins)]
    # PEND-07: a LeaveGroup removes a pending id from the group.
    left = [obs for obs in unused if not has_left(ev, client, obs.body.get("member_id") or "", end(ev))]
    if left:
        proof = Proof.SAFETY if _has_moved_on(left[0], joins) else Proof.LIVENESS
        yield claim.tolerated("It left an id behind that it was handed.", left[0], proof=proof)
    else:
        did = "It gave back the ids that it did not join with." if unused else "It did."
        yield claim.ok(did if handed else "It was handed none.", joins[-1])


def _has_moved_on(handed: Observation, joins: Iterable[Observation]) -> bool:
    """Return whether the client sent another join on the connection on which the id came. It had the response by then, so no delay is an excuse."""
    return any(join.connection == handed.connection and join.seq > handed.seq for join in joins)


@checker
def waits_for_its_join(ev: Evidence, client: str, *, after: str, requirement: str = "CLIENT-22") -> Iterator[Finding]:
    """Judge that the client waits for a parked JoinGroup until its own rebalance timeout, longer than for other requests.

    Kafka's AbstractCoordinator.sendJoinGroupRequest waits for the rebalance timeout and five seconds (JOIN_GROUP_TIMEOUT_LAPSE). Where the shim
    does not set `request_timeout_ms`, a client that waits may only have a longer one.
    """
    claim = Claim(requirement=requirement, expected="The client waits for its JoinGroup until the rebalance timeout.")
    parked = [join for join in ev.requests(_JOIN, client, before=ev.closing) if _is_open(ev, join, ev.at(after))]
    if not parked:
        raise NotReached(f"no JoinGroup of {client} was parked at {after}")
    first = parked[0]
    answer = next(iter(obs for obs in ev.responses(_JOIN, client, after, ev.closing) if not error_of(obs)), None)
    again = ev.requests(_JOIN, client, first.seq, ev.closing if answer is None else answer.seq)
    early = [join for join in again if elapsed_ms(first, join) < first.body.get("rebalance_timeout_ms", 0)]
    if early and early[0].member == first.member and first.member:
        # An early request counts strictly: time that the kit's computer loses makes no client's timeout shorter.
        yield claim.tolerated("It sent another JoinGroup before its rebalance timeout was over.", early[0])
    elif early:
        is_gone = bool(first.member) and has_left(ev, client, first.member or "", early[0])
        how = ", left the group and joined anew" if is_gone else " and joined anew, leaving a ghost behind"
        yield claim.tolerated(f"It gave its JoinGroup up before the rebalance timeout{how}.", early[0])
    elif any("request_timeout_ms" in (obs.body.get("ignored") or ()) for obs in ev.events("answer", client)):
        raise NotOffered(f"the shim of {client} does not set request_timeout_ms")
    else:
        yield claim.ok("It does.", first)


def _is_open(ev: Evidence, join: Observation, seq: int) -> bool:
    answer = ev.answer(join)
    return join.seq < seq and (answer is None or answer.seq > seq)

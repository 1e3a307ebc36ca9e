"""Leaving: one LeaveGroup where it is due, none elsewhere, and a close that ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from groupproof.harness.judging.case_checkers.findings import TimedJudge, end, overdue
from groupproof.harness.judging.case_checkers.trace_queries import accepted, moment, newest
from groupproof.harness.judging.checkers.claim import Claim, elapsed_ms, tolerated_ms, waited
from groupproof.harness.judging.crashes import has_crashed_closing, how_it_ended
from groupproof.harness.model.case import Judge, checker
from groupproof.harness.model.evidence import Evidence, NotReached
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["closes", "gives_its_place_up", "leaves", "leaves_once", "leaves_others_alone", "sends_none", "stays_in_time", "syncs_no_more"]

CLOSE_MS = 5_000
"""The time (ms) within which a close ends, with an answer to its LeaveGroup or without."""

_TICK_MS = 1  # either way: Java 1.1 compares its deadlines by >, 2.x by >= (CLIENT-56)


def leaves(
    client: str, *, after: str, requirement: str, within_ms: float = CLOSE_MS, absent: Verdict = Verdict.NON_STRICT, whole: bool = False
) -> Judge:
    """Judge that LeaveGroup comes. Without it the others wait for the member's session to end. A client without a member id cannot leave."""
    claim = Claim(requirement=requirement, expected="The client leaves the group.")

    def judge(ev: Evidence) -> Iterator[Finding]:
        left = next(iter(ev.requests(Api.LEAVE_GROUP, client, after, None if whole else ev.closing)), None)
        closed = next(iter(ev.events("shutdown_complete", client, after)), None)
        never, late = "No LeaveGroup came.", "LeaveGroup came late."
        since = moment(ev, after)
        if left is None and newest(ev, client, before=after) is None:
            yield claim.ok("It had no member id to leave with.")
        elif left is None and closed is not None and _is_already_removed(ev, client, after, closed):
            yield claim.ok("The coordinator no longer knew it: it had nothing to leave.", closed)
        elif left is None and closed is not None and whole:
            yield claim.found(absent, never, closed, proof=Proof.LIVENESS, wait=waited(since, closed, 0))
        else:
            missing = overdue(ev, claim, left, since=since, within_ms=within_ms, never=never, late=late, severity=absent, whole=whole)
            yield missing or claim.ok("It did.", left)

    return judge if whole else TimedJudge(judge, after, within_ms)


def _is_already_removed(ev: Evidence, client: str, after: str, closed: Observation) -> bool:
    """Return whether the coordinator itself, and no fault, answered before the close that the member is unknown. On a slow computer its session may
    end."""
    answers = ev.select("response", None, client, after, closed.seq)
    return any(obs.error == ErrorCode.UNKNOWN_MEMBER_ID and obs.fault is None for obs in answers)


@checker
def gives_its_place_up(ev: Evidence, client: str, *, after: str, within_ms: float, requirement: str = "CLIENT-52") -> Iterator[Finding]:
    """Judge that a member leaves when its application stops polling. Mere silence is NON_STRICT, because the others wait for its session. Further
    heartbeats are FAILED: nobody reads its partitions."""
    claim = Claim(requirement=requirement, expected="The client leaves the group when its application polls no more.")
    since, limit = moment(ev, after), tolerated_ms(within_ms)
    left = next(iter(ev.requests(Api.LEAVE_GROUP, client, after, ev.closing)), None)
    beats = [beat for beat in ev.requests(Api.HEARTBEAT, client, after, ev.closing) if elapsed_ms(since, beat) > limit]
    if left is not None and elapsed_ms(since, left) <= limit:
        yield claim.ok("It did.", left)
    elif left is not None:
        yield claim.tolerated("It left late.", left, proof=Proof.TIMING)
    elif elapsed_ms(since, end(ev)) <= limit:
        raise NotReached("the run ended before the client had to leave")
    elif beats:
        yield claim.failed("It went on heartbeating.", beats[0], proof=Proof.LIVENESS, wait=waited(since, end(ev), limit))
    else:
        yield claim.tolerated("It fell silent without a LeaveGroup.", since, proof=Proof.LIVENESS, wait=waited(since, end(ev), limit))


@checker
def leaves_once(ev: Evidence, client: str, *, after: str, requirement: str = "CLIENT-73", once: str = "CLIENT-71") -> Iterator[Finding]:
    """Judge that a close sends LeaveGroup, however it is answered. A second LeaveGroup is harmless and only reported."""
    claim = Claim(requirement=once, expected="The client leaves the group, once.")
    judge_leaves = leaves(client, after=after, requirement=requirement, whole=True)
    yield from judge_leaves(ev)
    sent = ev.requests(Api.LEAVE_GROUP, client, after)
    again = [request for request in sent[1:] if request.member == sent[0].member]
    if sent:
        yield claim.found(Verdict.INFORMATIONAL, "It sent it again.", again[0]) if again else claim.ok("It did not send it again.")


@checker
def sends_none(
    ev: Evidence, client: str, api: Api, *, after: str, requirement: str, severity: Verdict, grace_ms: float = 0, whole: bool = False
) -> Iterator[Finding]:
    """Judge that no `api` comes later than `grace_ms` after an instant.

    A JoinGroup after the coordinator itself removed the member is right. Only the silence before it was wrong, and a starved process is silent too.
    """
    claim = Claim(requirement=requirement, expected=f"The client sends no {api.title}.")
    since = moment(ev, after)
    sent = [obs for obs in ev.requests(api, client, after, None if whole else ev.closing) if elapsed_ms(since, obs) > grace_ms]
    if not sent:
        yield claim.ok("It sent none.")
    elif api is Api.JOIN_GROUP and _is_already_removed(ev, client, after, sent[0]):
        yield claim.found(severity, "It let its session end, and sent one.", sent[0], proof=Proof.TIMING)
    else:
        yield claim.found(severity, "It sent one.", sent[0])


@checker
def leaves_others_alone(ev: Evidence, other: str, *, after: str, requirement: str) -> Iterator[Finding]:
    """Judge that another member need not rejoin, so the client caused no rebalance. A rebalance costs the others: NON_STRICT."""
    claim = Claim(requirement=requirement, expected="No other member has to join again.")
    joined = next(iter(ev.requests(Api.JOIN_GROUP, other, after, ev.closing)), None)
    yield claim.ok("None had to.") if joined is None else claim.tolerated("Another member had to join again.", joined)


@checker
def stays_in_time(ev: Evidence, client: str, *, after: str, interval_ms: float, requirement: str) -> Iterator[Finding]:
    """Judge that a client whose application is busy from an instant on leaves or rejoins only after `interval_ms`.

    Where the application was in fact busy for longer, nothing is judged.
    """
    claim = Claim(requirement=requirement, expected="The client stays in the group while its application is busy in time.")
    since = moment(ev, after)
    moves = (obs for api in (Api.LEAVE_GROUP, Api.JOIN_GROUP) for obs in ev.requests(api, client, after, ev.closing))
    first = min(moves, key=lambda obs: obs.seq, default=None)
    if first is None:
        yield claim.ok("It did.")
    elif elapsed_ms(since, first) >= interval_ms - _TICK_MS:
        raise NotReached(f"the application of {client} was kept busy for longer than {interval_ms:.0f} ms")
    elif first.api == Api.LEAVE_GROUP.title:
        yield claim.failed("It left.", first)
    else:
        yield claim.tolerated("It joined again.", first)


@checker
def syncs_no_more(ev: Evidence, client: str, *, after: str, requirement: str = "CLIENT-20", unsubscribes: bool = False) -> Iterator[Finding]:
    """Judge that a client whose JoinGroup is answered after it has left takes no part in that generation.

    A SyncGroup that the coordinator refuses after the LeaveGroup harms nobody: NON_STRICT. A client that `unsubscribes` may send its LeaveGroup
    after the call has returned. If none comes before the run closes it, it has not left at all; its answer to `unsubscribe` is then the shim's
    word.
    """
    claim = Claim(requirement=requirement, expected="Once it has left, the client sends no SyncGroup for a JoinGroup that is answered late.")
    until = ev.closing if unsubscribes else None
    left = next(iter(ev.requests(Api.LEAVE_GROUP, client, after, until)), None)
    lines = ev.events("answer" if unsubscribes else "shutdown_complete", client, after, until)
    gone = left or next((obs for obs in lines if obs.body.get("ok", True)), None)
    if gone is None:
        raise NotReached(f"{client} neither left nor closed")
    late = [sync for sync in ev.requests(Api.SYNC_GROUP, client, gone.seq, until) if left is None or sync.member == left.member]
    accepted_syncs = [sync for sync in late if accepted(ev, sync)]
    believed = "unsubscribe" if unsubscribes and left is None else ""
    if accepted_syncs:
        yield replace(claim.failed("It sent one and was given partitions.", accepted_syncs[0]), command=believed)
    elif late:
        yield replace(claim.tolerated("It sent one, which was refused.", late[0]), command=believed)
    else:
        yield claim.ok("It sent none.", gone)


@checker
def closes(ev: Evidence, client: str, *, after: str, requirement: str = "CLIENT-71", within_ms: float = CLOSE_MS) -> Iterator[Finding]:
    """Report whether the application's call of `close` returns. One that hangs counts in the clean close."""
    claim = Claim(requirement=requirement, expected="Closing ends.")
    done = next(iter(ev.events("shutdown_complete", client, after)), None)
    crashed = next((obs for obs in ev.select("event", None, client, after) if obs.who == "kit" and obs.body.get("name") == "exit"), None)
    if done is None and crashed is not None and has_crashed_closing(crashed):
        yield claim.found(Verdict.INFORMATIONAL, "It crashed while closing.", crashed, detail=how_it_ended(crashed))
        return
    never, late = "It did not end.", "It ended late."
    since = moment(ev, after)
    slow = overdue(ev, claim, done, since=since, within_ms=within_ms, never=never, late=late, severity=Verdict.INFORMATIONAL, whole=True)
    yield slow or claim.ok("It did.", done)

"""How a KIP-848 member leaves: a last heartbeat with epoch -1, or -2 from a static member that comes back, and nothing after it (CGV-01 to CGV-23)."""

from __future__ import annotations

from collections.abc import Iterator

from groupproof.harness.judging.case_checkers.consumer.epoch_beats import Beat, beats, membership_at
from groupproof.harness.judging.case_checkers.findings import end, overdue, timed_checker
from groupproof.harness.judging.case_checkers.trace_queries import accepted, late_lines_ms, moment
from groupproof.harness.judging.checkers.claim import Claim, elapsed_ms, tolerated_ms
from groupproof.harness.judging.checkers.frame_facts import IN_FLIGHT_MS, has_no_callbacks, partitions_of
from groupproof.harness.model.case import checker
from groupproof.harness.model.evidence import Evidence, NotOffered, NotReached
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, TopicPartition

__all__ = [
    "BACK_SOON", "LEAVE", "closes_in_time", "comes_back_as", "commits_as_nobody", "commits_before_leaving", "falls_silent", "is_quiet_after_leaving", "leaves",
    "leaves_nothing_behind", "leaves_what_it_asked_for", "returns_partitions_first", "stays_out",
]  # fmt: skip

LEAVE, BACK_SOON = -1, -2


@timed_checker
def leaves(ev: Evidence, client: str, *, after: str, epoch: int = LEAVE, requirement: str = "CGV-01", within_ms: float = 6_000) -> Iterator[Finding]:
    """Judge that the client sends a leave, as the member that it is. Otherwise its partitions wait for the end of its session."""
    claim = Claim(requirement=requirement, expected=f"The client leaves by a heartbeat with epoch {epoch}.")
    identity = Claim(requirement="CGV-06", expected="The leave names the member.")
    mine = membership_at(ev, client, after)
    if mine is None:
        raise NotReached(f"{client} was no member at {after}")
    leave = next((beat for beat in beats(ev, client, after) if beat.is_leave), None)
    came = None if leave is None else leave.request
    missing = overdue(ev, claim, came, since=moment(ev, after), within_ms=within_ms, never="It never did.", late="It left late.", whole=True)
    if missing is not None:
        yield missing
    if leave is None:
        return
    if leave.epoch == LEAVE and epoch == BACK_SOON:
        yield claim.tolerated("It left for good, which costs the others a rebalance.", came)
    elif leave.epoch != epoch:
        yield claim.failed("It left by another epoch.", came, detail=str(leave.epoch))
    elif missing is None:
        yield claim.ok("It did.", came)
    yield identity.ok("It does.", came) if leave.member == mine.member else identity.failed("It names another.", came)


@timed_checker
def leaves_what_it_asked_for(ev: Evidence, client: str, *, after: str, requirement: str = "CGV-14", within_ms: float = 9_000) -> Iterator[Finding]:
    """Judge that a client that closes while its join waits for an answer sends a leave: the coordinator has made it a member, which nobody runs."""
    claim = Claim(requirement=requirement, expected="The client leaves the group that it was about to join.")
    asked = [beat for beat in beats(ev, client, before=after) if beat.is_join]
    if not asked or asked[-1].answer is None:
        raise NotReached(f"{client} was given no membership")
    leave = next((beat.request for beat in beats(ev, client, after) if beat.is_leave), None)
    if leave is None and not asked[-1].request.member:
        yield claim.found(Verdict.INFORMATIONAL, "It had no id to leave by, until its join was answered.", asked[-1].answer)
        return
    never, late = "It never did.", "It left late."
    missing = overdue(ev, claim, leave, since=moment(ev, after), within_ms=within_ms, never=never, late=late)
    yield missing or claim.ok("It did.", leave)


@checker
def is_quiet_after_leaving(ev: Evidence, client: str, *, after: str, before: str | None = None, requirement: str = "CGV-11") -> Iterator[Finding]:
    """Judge that the client sends no heartbeat after its leave, until its application subscribes again."""
    claim = Claim(requirement=requirement, expected="After its leave the client sends no heartbeat.")
    sent = beats(ev, client, after, None if before is None else before)
    at = next((place for place, beat in enumerate(sent) if beat.is_leave), None)
    if at is None:
        raise NotReached(f"{client} did not leave after {after}")
    more = sent[at + 1 :]
    if not more:
        yield claim.ok("It sent none.", sent[at].request)
    elif all(beat.is_leave for beat in more) and not sent[at].is_accepted:
        yield claim.ok("It tried its leave again.", more[0].request)
    elif all(beat.is_leave for beat in more):
        yield claim.tolerated("It left more than once.", more[0].request)
    else:
        yield claim.failed("It sent one.", next(beat.request for beat in more if not beat.is_leave))


@checker
def returns_partitions_first(ev: Evidence, client: str, *, after: str, requirement: str = "CGV-08") -> Iterator[Finding]:
    """Judge that the callback for the partitions has ended before the client leaves, because others may own them from then on.

    A client without a callback (no `on-revoked`) cannot notify its application.
    """
    claim = Claim(requirement=requirement, expected="The application is told to give its partitions up before the client leaves.")
    if "partitions_revoked" in ev.unreported(client):
        raise NotOffered(f"the program of {client} does not tell of its callbacks")
    leave = next((beat.request for beat in beats(ev, client, after) if beat.is_leave), None)
    if leave is None:
        raise NotReached(f"{client} did not leave after {after}")
    callback, done = max(_first_callbacks(ev, client, after, leave), key=lambda ended: ended[1].seq, default=(None, leave))
    early_ms, late_ms = elapsed_ms(leave, done), late_lines_ms(ev, client)
    if callback is not None and early_ms <= late_ms:
        yield claim.ok("It was.", callback)
    elif has_no_callbacks(ev.capabilities(client)):
        yield claim.found(Verdict.INFORMATIONAL, "It has no callback by which it could be told in time.", leave)
    elif callback is None:
        yield claim.failed("It was never told.", leave, proof=Proof.LIVENESS)
    elif elapsed_ms(leave, callback) > late_ms:
        yield claim.failed("It was told afterwards.", callback, proof=Proof.LIVENESS)
    else:
        yield claim.failed("The client left before the callback had ended.", leave, proof=Proof.LIVENESS, detail=f"{early_ms:.0f} ms before")


def _first_callbacks(ev: Evidence, client: str, after: str, leave: Observation) -> list[tuple[Observation, Observation]]:
    """Return for each partition the first callback that took it and ended after an instant, up to the client's next assignment, with its end.

    A later callback for a partition that is already given up changes nothing: Java's consumer loses it again when it closes after an unsubscribe.
    """
    anew = next((obs.seq for obs in ev.events("partitions_assigned", client, leave.seq) if partitions_of(obs)), len(ev.trace))
    losses = [obs for name in ("partitions_revoked", "partitions_lost") for obs in ev.events(name, client, before=anew) if partitions_of(obs)]
    ended = [(obs, next(iter(ev.events("callback_done", client, obs.seq, anew)), obs)) for obs in losses]
    found: dict[TopicPartition, tuple[Observation, Observation]] = {}
    for callback, done in sorted(ended, key=lambda pair: pair[0].seq):
        if done.seq > ev.at(after):
            for partition in partitions_of(callback):
                found.setdefault(partition, (callback, done))
    return list(found.values())


@checker
def commits_before_leaving(ev: Evidence, client: str, *, after: str, requirement: str = "CGV-07") -> Iterator[Finding]:
    """Judge that a client that auto-commits has committed what its application consumed before it leaves."""
    claim = Claim(requirement=requirement, expected="What was consumed is committed before the client leaves.")
    leave = next((beat.request for beat in beats(ev, client, after) if beat.is_leave), None)
    if leave is None:
        raise NotReached(f"{client} did not leave after {after}")
    consumed = _positions(ev, client, after)
    if not consumed:
        raise NotReached(f"{client} had read nothing")
    committed: dict[TopicPartition, int] = {}
    for request in ev.requests(Api.OFFSET_COMMIT, client, before=leave.seq):
        if accepted(ev, request) is not None:
            committed.update({(topic, number): offset for topic, number, offset in request.offsets})
    lost = sorted(place for place, position in consumed.items() if committed.get(place, -1) < position)
    yield claim.failed("It was not.", leave, detail=str(lost)) if lost else claim.ok("It was.", leave)


def _positions(ev: Evidence, client: str, before: str) -> dict[TopicPartition, int]:
    found: dict[TopicPartition, int] = {}
    for obs in ev.events("records_consumed", client, before=before):
        for part in obs.body.get("partitions", ()):
            found[part["topic"], part["partition"]] = int(part.get("maxOffset", -1)) + 1
    return found


@checker
def comes_back_as(ev: Evidence, client: str, *, after: str, requirement: str = "CGV-23", is_same_member: bool = False) -> Iterator[Finding]:
    """Judge the identity of a rejoin: a new process has a new member id and its instance id (CGV-23); the same process keeps its id."""
    which = "the id that it has" if is_same_member else "a new member id"
    claim = Claim(requirement=requirement, expected=f"The client joins with {which}.")
    before = [beat.member for beat in beats(ev, client, before=after)]
    join = next((beat for beat in beats(ev, client, after, ev.closing) if beat.is_join), None)
    if join is None or not before:
        raise NotReached(f"{client} did not join again after {after}")
    is_same = join.member in before
    yield claim.ok("It did.", join.request) if is_same is is_same_member else claim.tolerated("It joined with another.", join.request)


@checker
def falls_silent(ev: Evidence, client: str, *, after: str, within_ms: float, until: str, requirement: str = "CGV-16") -> Iterator[Finding]:
    """Judge that the heartbeats of a client whose application does not poll end in time. It must not keep partitions that nobody reads."""
    claim = Claim(requirement=requirement, expected="The client stops heartbeating.")
    since, last = moment(ev, after), moment(ev, until)
    if elapsed_ms(since, last) < tolerated_ms(within_ms):
        raise NotReached("the run ended before the client had to be silent")
    late = [beat for beat in beats(ev, client, after, until) if not beat.is_leave and elapsed_ms(since, beat.request) > tolerated_ms(within_ms)]
    yield claim.failed("It went on.", late[0].request, proof=Proof.TIMING) if late else claim.ok("It did.")


@checker
def leaves_nothing_behind(ev: Evidence, client: str, *, after: str, until: str, requirement: str = "CGV-17") -> Iterator[Finding]:
    """Judge that a client that stops because its application does not poll sends a leave, so that others need not wait for the end of its session."""
    claim = Claim(requirement=requirement, expected="The client leaves its group when its application has not polled for too long.")
    left: Beat | None = next((beat for beat in beats(ev, client, after, until) if beat.is_leave), None)
    at: Observation = moment(ev, until) if left is None else left.request
    yield claim.ok("It did.", at) if left is not None else claim.tolerated("It only fell silent.", at, proof=Proof.LIVENESS)


@checker
def closes_in_time(ev: Evidence, client: str, *, after: str, within_ms: float, requirement: str = "CGV-12") -> Iterator[Finding]:
    """Judge that an error or a silence as answer to the leave does not delay the close."""
    claim = Claim(requirement=requirement, expected="The client closes, whatever becomes of its leave.")
    since = moment(ev, after)
    done = next(iter(ev.events("shutdown_complete", client, after)), None)
    late = "It closed late."
    missing = overdue(ev, claim, done, since=since, within_ms=within_ms, never="It did not close.", late=late, whole=True)
    yield missing or claim.ok("It did.", done or end(ev))


@timed_checker
def has_partitions_again(ev: Evidence, client: str, *, after: str, requirement: str = "CGV-23", within_ms: float = 9_000) -> Iterator[Finding]:
    """Judge that a static member that comes back is accepted and gets its former partitions: its leave must have kept its place."""
    claim = Claim(requirement=requirement, expected="The client is let in again, and has its partitions.")
    before = [beat.target for beat in beats(ev, client, before=after) if beat.target is not None]
    if not before:
        raise NotReached(f"{client} had no partitions before {after}")
    again = next((beat for beat in beats(ev, client, after, ev.closing) if beat.target == before[-1]), None)
    came = None if again is None else again.request
    never = "It was not, as long as the run went on."
    missing = overdue(ev, claim, came, since=moment(ev, after), within_ms=within_ms, never=never, late="It was, late.")
    yield missing or claim.ok("It was.", came)


@checker
def commits_as_nobody(ev: Evidence, client: str, *, after: str, requirement: str = "CGP-15") -> Iterator[Finding]:
    """Judge that a client whose membership was refused no longer commits with it. A commit that was already on its way is no fault.

    A client that rejoins has a new membership, possibly with the same epoch.
    """
    claim = Claim(requirement=requirement, expected="Once it is fenced the client commits nothing with the epoch that it had.")
    if (leave := _met_by_its_leave(ev, client, after)) is not None:
        yield claim.found(Verdict.INFORMATIONAL, _LEAVE_ALONE, leave.request)
        return
    mine = membership_at(ev, client, after)
    if mine is None or mine.answer is None:
        raise NotReached(f"{client} was no member at {after}")
    former = (mine.member, mine.answer.member_epoch)
    rejoin = next((beat.request.seq for beat in beats(ev, client, after, ev.closing) if beat.is_join), ev.closing)
    later = [one for one in ev.requests(Api.OFFSET_COMMIT, client, after, rejoin) if elapsed_ms(moment(ev, after), one) > IN_FLIGHT_MS]
    stale = next((one for one in later if (one.member, _epoch(one)) == former), None)
    yield (
        claim.failed("It commits with the epoch that was refused.", stale, detail=f"epoch {former[1]}")
        if stale is not None
        else claim.ok("It does not.")
    )


_LEAVE_ALONE = "It sent no heartbeat but its leave, which met the error."
"""librdkafka sends no heartbeat while its application revokes partitions for an unsubscribe."""


def _met_by_its_leave(ev: Evidence, client: str, fault: str) -> Beat | None:
    """Return the leave that a fault answered, where it answered no earlier heartbeat."""
    last = next(reversed(beats(ev, client, before=ev.at(fault) + 1)), None)
    return last if last is not None and last.is_leave else None


def _epoch(commit: Observation) -> int | None:
    return commit.generation if commit.member_epoch is None else commit.member_epoch


@checker
def stays_out(ev: Evidence, client: str, *, after: str, requirement: str = "CGV-22") -> Iterator[Finding]:
    """Judge that a client that is fenced during its leave does not rejoin: nobody would read its partitions. A leave after that has no effect."""
    claim = Claim(requirement=requirement, expected="The client is out of its group, and stays out.")
    later = beats(ev, client, after, ev.closing)
    join = next((beat for beat in later if beat.is_join), None)
    if (alone := _met_by_its_leave(ev, client, after)) is not None and join is None:
        yield claim.found(Verdict.INFORMATIONAL, _LEAVE_ALONE, alone.request)
        return
    leave = next((beat for beat in later if beat.is_leave), None)
    if join is not None and leave is not None and leave.request.seq > join.request.seq:
        yield claim.tolerated("It joined again before it left, which costs the others a rebalance.", join.request)
    elif join is not None:
        yield claim.failed("It joined again.", join.request)
    elif leave is not None:
        yield claim.found(Verdict.INFORMATIONAL, "It left all the same.", leave.request)
    else:
        yield claim.ok("It did.")

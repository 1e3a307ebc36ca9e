"""The content of KIP-848 heartbeats: the first of a membership, those of a static member, and those that acknowledge an assignment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from groupproof.harness.judging.case_checkers.consumer.epoch_beats import Beat, beats
from groupproof.harness.judging.case_checkers.findings import end, overdue, timed_checker
from groupproof.harness.judging.case_checkers.trace_queries import moment, reported_end
from groupproof.harness.judging.checkers.claim import Claim, elapsed_ms, tolerated_ms
from groupproof.harness.judging.checkers.frame_facts import error_of
from groupproof.harness.model.case import checker
from groupproof.harness.model.evidence import Evidence, NotReached
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.vocabulary import COORDINATOR_UNAVAILABLE

__all__ = [
    "acknowledges", "carries_instance", "have_ids_of_their_own", "is_one_member", "joins_again", "joins_in_full", "learns_assignment", "names_assignor",
    "names_rebalance_timeout", "says_again", "says_little_when_idle", "subscribes_by_regex", "subscribes_to",
]  # fmt: skip


def _joins(ev: Evidence, client: str) -> list[Beat]:
    found = [beat for beat in beats(ev, client, before=ev.closing) if beat.is_join]
    if not found:
        raise NotReached(f"{client} sent no heartbeat with epoch 0")
    return found


@checker
def is_one_member(ev: Evidence, client: str, *, requirement: str = "CGC-06") -> Iterator[Finding]:
    """Judge that a client keeps the id that it made. Another id leaves a member behind that nobody runs."""
    claim = Claim(requirement=requirement, expected="The client keeps its member id.")
    first, *more = _joins(ev, client)
    later = (*more, *beats(ev, client, first.request.seq, ev.closing))
    # A heartbeat without an id never got one: a join of version 0 whose answer was lost.
    other = next((beat for beat in later if first.member and beat.member not in ("", first.member)), None)
    yield claim.ok("It did.", first.request) if other is None else claim.tolerated("It has another.", other.request)


@timed_checker
def joins_again(ev: Evidence, client: str, *, after: str, requirement: str = "CGT-24", within_ms: float = 9_000) -> Iterator[Finding]:
    """Judge that a join that was never answered is sent again. A client that reports its end instead costs its application a new client.

    kafkit-client 0.1.9 keeps the connection that broke, and no heartbeat of it arrives any more.
    """
    claim = Claim(requirement=requirement, expected="The client joins again.")
    join = next((beat.request for beat in beats(ev, client, after, ev.closing) if beat.is_join), None)
    ended = None if join is not None else reported_end(ev, client, after)
    if ended is not None:
        yield claim.tolerated("It told the application that it ends.", ended)
        return
    never = overdue(ev, claim, join, since=moment(ev, after), within_ms=within_ms, never="It never did.", late="It did so late.")
    yield never or claim.ok("It did.", join)


@checker
def joins_in_full(ev: Evidence, client: str) -> Iterator[Finding]:
    """Judge that each join has all that a coordinator must know: the member, its group, its timeout, its subscription, and that it owns nothing."""
    for beat in _joins(ev, client):
        yield from _whole(beat)


def _whole(beat: Beat) -> Iterator[Finding]:
    body = beat.request.body
    claim = Claim(requirement="CGC-04", expected="The client makes its member id itself, and joins with it.")
    yield claim.ok("It did.", beat.request) if beat.is_named else claim.failed("It joined without a member id.", beat.request)
    timeout = Claim(requirement="CGC-07", expected="A join says how long the member may take to give partitions up.")
    has_timeout = body.get("rebalance_timeout_ms", -1) > 0
    yield timeout.ok("It did.", beat.request) if has_timeout else timeout.failed("It joined without a rebalance timeout.", beat.request)
    owns = Claim(requirement="CGC-07", expected="A join says that the member owns nothing, by an empty list.")
    if beat.owned is None:
        yield owns.failed("Its join says nothing of what it owns.", beat.request)
    else:
        yield owns.failed("It joined with partitions that it says it owns.", beat.request) if beat.owned else owns.ok("It did.", beat.request)
    wants = Claim(requirement="CGC-07", expected="A join says to what the member subscribes.")
    has_subscription = beat.names or body.get("subscribed_topic_regex")
    yield wants.ok("It did.", beat.request) if has_subscription else wants.failed("It joined without a subscription.", beat.request)
    if beat.names and body.get("subscribed_topic_regex"):
        as_given = Claim(requirement="CGC-13", expected="A join has the subscription as the application gave it: names, or a regular expression.")
        yield as_given.failed("It has a regular expression beside the names.", beat.request)


@checker
def names_rebalance_timeout(ev: Evidence, client: str, ms: int) -> Iterator[Finding]:
    """Judge that the rebalance timeout of the join is the client's max.poll.interval.ms."""
    claim = Claim(requirement="CGC-08", expected="The rebalance timeout of the join is max.poll.interval.ms.")
    join = _joins(ev, client)[0].request
    found = join.body.get("rebalance_timeout_ms")
    yield claim.ok("It is.", join) if found == ms else claim.tolerated("It is another.", join, detail=f"{found} ms, and not {ms}")


@checker
def names_assignor(ev: Evidence, client: str, assignor: str | None) -> Iterator[Finding]:
    """Judge that a join names the server assignor that the application wants, and none where it wants none."""
    claim = Claim(requirement="CGC-10", expected="The join names the assignor that the application chose, and none where it chose none.")
    join = _joins(ev, client)[0].request
    found = join.body.get("server_assignor")
    if found == assignor:
        yield claim.ok("It does.", join)
    elif assignor is None:
        yield claim.found(Verdict.INFORMATIONAL, "It names one that nobody chose.", join, detail=str(found))
    else:
        yield claim.failed("It names another, or none.", join, detail=str(found))


@checker
def carries_instance(ev: Evidence, client: str, instance: str, *, leaving: bool = True) -> Iterator[Finding]:
    """Judge that a static member sends its instance id with every join and, with `leaving`, every leave. Other heartbeats may omit it (CGC-03)."""
    claim = Claim(requirement="CGC-02", expected="A static member sends its instance id with every join and every leave.")
    every = beats(ev, client)
    sent = [beat for beat in every if beat.is_join or (beat.is_leave and leaving)]
    if not sent:
        raise NotReached(f"{client} neither joined nor left")
    wrong = next((beat for beat in sent if beat.request.instance != instance), None)
    strange = next((beat for beat in every if beat.request.instance not in (None, instance)), None)
    if strange is not None:
        yield claim.failed("One of its heartbeats has another.", strange.request)
    elif wrong is not None:
        yield claim.failed(f"Its {'join' if wrong.is_join else 'leave'} is without it.", wrong.request)
    else:
        yield claim.ok("It did.", sent[0].request)


@checker
def subscribes_by_regex(ev: Evidence, client: str) -> Iterator[Finding]:
    """Judge that a subscription by a regular expression is sent as such, in a version that has it, and with every join."""
    version = Claim(requirement="CGC-32", expected="A client that subscribes by regex heartbeats with version 1 or above.")
    regex_sent = Claim(requirement="CGC-13", expected="The regular expression goes as such, and no topic by name.")
    for beat in _joins(ev, client):
        if (beat.request.version or 0) < 1:
            yield version.failed("It uses version 0.", beat.request)
        elif not beat.request.body.get("subscribed_topic_regex"):
            yield regex_sent.failed("It joined without it.", beat.request)
        elif beat.names:
            yield regex_sent.failed("It names topics beside it.", beat.request)
        else:
            yield from (version.ok("It does.", beat.request), regex_sent.ok("It does.", beat.request))


@timed_checker
def subscribes_to(
    ev: Evidence, client: str, wanted: tuple[str, ...], *, after: str, requirement: str = "CGC-30", within_ms: float
) -> Iterator[Finding]:
    """Judge that a subscription that changed at `after` is sent in full."""
    claim = Claim(requirement=requirement, expected="The client sends its new subscription, with the next heartbeat that is due at the latest.")
    sent = next((beat for beat in beats(ev, client, after, ev.closing) if beat.names is not None and sorted(beat.names) == sorted(wanted)), None)
    came = None if sent is None else sent.request
    never = overdue(ev, _must(claim), came, since=moment(ev, after), within_ms=within_ms, never="It never came.", late="It came late.")
    yield from (never,) if never else (_must(claim).ok("It did.", came), claim.ok("It did.", came))


def _must(claim: Claim) -> Claim:
    # A subscription that is never sent is not just late: a changed field must be sent (CGC-11).
    return Claim(requirement="CGC-11", expected=claim.expected)


@checker
def acknowledges(
    ev: Evidence, client: str, *, after: str | None = None, requirement: str = "CGC-16", at_once_ms: float = 1_000, within_ms: float = 6_000
) -> Iterator[Finding]:
    """Judge that each assignment that changes the client's partitions is acknowledged: a heartbeat lists exactly that assignment.

    A client that waits for the next interval costs the others that time (CGC-29). An empty first assignment needs no acknowledgement (CGC-21). If
    another assignment follows before the acknowledgement, that one must be acknowledged.
    """
    claim = Claim(requirement=requirement, expected="The client says what it owns after every assignment that changed it.")
    prompt = Claim(requirement="CGC-29", expected="The client acknowledges an assignment at once, and not at the next interval.")
    pending = list(_unsaid(ev, client, after))
    if not pending and (given_up := _given_up(ev, client, after)) is not None:
        yield claim.ok("It said with its subscription what it has given up, and was asked for nothing.", given_up.request)
        return
    if not pending:
        raise NotReached(f"{client} was given no assignment{f' after {after}' if after else ''}")
    for assigned, target, reported in pending:
        answer = assigned.answer
        assert answer is not None
        came = None if reported is None else reported.request
        late = overdue(ev, claim, came, since=answer, within_ms=within_ms, never="It never said so.", late="It said so late.")
        if late is not None:
            yield late
        elif came is not None and elapsed_ms(answer, came) > tolerated_ms(at_once_ms * ev.stretch):
            waited_ms = f"after {elapsed_ms(answer, came):.0f} ms, of {len(target)} partitions"
            yield prompt.tolerated("It waited with that.", came, detail=waited_ms, proof=Proof.TIMING)
        else:
            yield from (claim.ok("It did.", came), prompt.ok("It did.", came))


def _given_up(ev: Evidence, client: str, after: str | None) -> Beat | None:
    """Return the heartbeat after an instant by which the client reported fewer owned partitions along with its new subscription (CGR-13)."""
    reported: frozenset[Any] = frozenset()
    for beat in beats(ev, client, before=ev.closing):
        if beat.request.seq > ev.at(after) and beat.is_accepted and not beat.is_join and beat.gives_up_of(reported):
            return beat
        reported = frozenset() if beat.is_join else reported if beat.owned is None else beat.owned
    return None


def _unsaid(ev: Evidence, client: str, after: str | None) -> Iterator[tuple[Beat, frozenset[Any], Beat | None]]:
    """Yield each heartbeat whose answer changed the client's assignment, with the heartbeat that acknowledges it, or None."""
    since = -1 if after is None else ev.at(after)
    sent = beats(ev, client, before=ev.closing)
    reported: frozenset[Any] = frozenset()
    assigned: frozenset[Any] | None = None
    for at, beat in enumerate(sent):
        reported = frozenset() if beat.is_join else reported if beat.owned is None else beat.owned
        target, answer, before = beat.target, beat.answer, None if beat.is_join else assigned
        # A coordinator that refused a heartbeat has learned nothing from it. What it repeats to a member that had not acknowledged before is new.
        assigned = None if answer is not None and not beat.is_accepted else before if target is None else target
        if target is None or target in (reported, before) or answer is None or answer.seq < since:
            continue  # a repeated assignment was already due
        later = [other for other in sent[at + 1 :] if other.request.seq > answer.seq]
        until = next((place for place, other in enumerate(later) if _ends(other, target)), len(later))
        reply = next((other for other in later[: until + 1] if other.owned == target and not other.is_refused), None)
        if reply is None and until < len(later):
            continue  # it was overtaken
        yield beat, target, reply


def _ends(beat: Beat, target: frozenset[Any]) -> bool:
    """Return whether the acknowledgement is no longer due: another target came, or the membership ended.

    After an error from a wrong or loading coordinator it is still due (CGC-18).
    """
    is_refused = beat.answer is not None and error_of(beat.answer) not in (0, *COORDINATOR_UNAVAILABLE)
    return beat.is_join or beat.is_leave or (beat.target is not None and beat.target != target) or is_refused


@checker
def says_little_when_idle(ev: Evidence, client: str, *, after: str, at_least: int = 3) -> Iterator[Finding]:
    """Judge that a member without changes does not send all fields again and again. The coordinator repeats the assignment then, and takes what an
    outdated list lacks as given up."""
    claim = Claim(requirement="CGC-12", expected="A heartbeat of a member to which nothing happened says no more than who it is.")
    sent = [beat for beat in beats(ev, client, after, ev.closing) if beat.is_accepted]
    if len(sent) < at_least:
        raise NotReached(f"{client} sent only {len(sent)} heartbeats after {after}, until {end(ev).seq}")
    full = [beat for beat in sent if beat.is_full]
    if len(full) > 1:
        how_often = "each time" if len(full) == len(sent) else "again and again"
        yield claim.tolerated(f"It sends everything {how_often}.", full[0].request)
    else:
        yield claim.ok("It did.", sent[0].request)


@timed_checker
def says_again(ev: Evidence, client: str, *, after: str, requirement: str = "CGC-18", within_ms: float = 6_000) -> Iterator[Finding]:
    """Judge that what a refused heartbeat reported is sent again, until a heartbeat with it succeeds."""
    claim = Claim(requirement=requirement, expected="What the refused heartbeat said of its partitions is said again.")
    refused = next(reversed(beats(ev, client, before=ev.at(after) + 1)), None)
    if refused is None:
        raise NotReached(f"no heartbeat of {client} was refused")
    if refused.owned is None:
        yield claim.ok("It had said nothing of them yet.", refused.request)
        return
    again = next((beat for beat in beats(ev, client, refused.request.seq, ev.closing) if beat.is_accepted and beat.owned is not None), None)
    came = None if again is None else again.request
    yield overdue(ev, claim, came, since=moment(ev, after), within_ms=within_ms, never="It was not.", late="It was, late.") or claim.ok(
        "It was.", came
    )


@checker
def have_ids_of_their_own(ev: Evidence, *clients: str, requirement: str = "CGC-05") -> Iterator[Finding]:
    """Judge that no two clients have the same member id."""
    claim = Claim(requirement=requirement, expected="Each client has a member id that no other has.")
    owner: dict[str, str] = {}
    for client in clients:
        for beat in _joins(ev, client):
            if beat.member and owner.setdefault(beat.member, client) != client:
                yield claim.failed("Two have the same.", beat.request)
                return
    yield claim.ok("It has.")


@timed_checker
def learns_assignment(
    ev: Evidence, client: str, *, after: str, partitions: int, requirement: str = "CGC-19", within_ms: float = 9_000
) -> Iterator[Finding]:
    """Judge that a client learns an assignment whose answer was lost: it reports in the end that it owns so many partitions.

    The coordinator repeats an assignment after a heartbeat with all fields (CGM-25). A client that sends only its epoch never gets it again, and
    nobody reads its partitions.
    """
    claim = Claim(requirement="CGC-16", expected="The client learns its assignment though the answer was lost, and says that it owns it.")
    since = moment(ev, after)
    beat_with_all = next((beat for beat in beats(ev, client, after, ev.closing) if beat.owned is not None and len(beat.owned) == partitions), None)
    came = None if beat_with_all is None else beat_with_all.request
    never = "It never learned it."
    missing = overdue(ev, claim, came, since=since, within_ms=within_ms, never=never, late="It learned it late.")
    yield missing or Claim(requirement=requirement, expected=claim.expected).ok("It did.", came)

"""Reactions of a member with an epoch (KIP-848) to errors: it rejoins with epoch 0, goes on with its epoch, or ends.

`after` is the name of a fault's delivery or of a mark, as for the reactions of the classic protocol (`reactions.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import dropwhile

from groupproof.harness.judging.case_checkers.consumer.epoch_beats import BEAT, Beat, beats, membership_at
from groupproof.harness.judging.case_checkers.findings import end, overdue, timed_checker
from groupproof.harness.judging.case_checkers.reactions import REACT_MS
from groupproof.harness.judging.case_checkers.trace_queries import late_lines_ms, moment, report_due, surfaced
from groupproof.harness.judging.checkers.claim import Claim, elapsed_ms, tolerated_ms
from groupproof.harness.judging.checkers.frame_facts import IN_FLIGHT_MS, error_of, has_no_callbacks, partitions_of
from groupproof.harness.model.case import checker
from groupproof.harness.model.evidence import Evidence, NotOffered, NotReached
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, ErrorCode, TopicPartition

__all__ = [
    "gives_up_partitions", "goes_on_in_full", "joins_anew", "keeps_epoch", "keeps_partitions", "shows_or_tries", "spaces_its_tries", "stays_a_member",
    "stops_beating",
]  # fmt: skip

_OUT = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH})
_LOSES = ("partitions_lost", "partitions_revoked")
STORM_MAX = 12
"""More heartbeats than this within a second are no retries with a pause."""


@timed_checker
def joins_anew(
    ev: Evidence,
    client: str,
    *,
    after: str,
    requirement: str,
    within_ms: float = REACT_MS,
    at_once_ms: float | None = None,
    renamed: Verdict = Verdict.NON_STRICT,
) -> Iterator[Finding]:
    """Judge that a member whose epoch was refused rejoins with epoch 0 and its member id.

    Another id leaves the old member in the group until its session ends, if the coordinator still has it. That costs others; its verdict is
    `renamed`. So does another heartbeat with the refused membership. `at_once_ms` is how long the join may wait (CGT-21).
    """
    claim = Claim(requirement=requirement, expected="The client joins again with epoch 0.")
    same = Claim(requirement="CGC-06", expected="The client keeps its member id.")
    prompt = Claim(requirement="CGT-21", expected="The join does not wait for the interval or a back-off.")
    mine, since = membership_at(ev, client, after), moment(ev, after)
    later = _after_receipt(ev, client, after)
    join = next((beat for beat in later if beat.is_join), None)
    came = None if join is None else join.request
    never = "It goes on with the membership that was refused." if later else "No heartbeat with epoch 0 came."
    missing = overdue(ev, claim, came, since=since, within_ms=within_ms, never=never, late="It joined late.")
    yield missing or claim.ok("It did.", came)
    if join is None:
        return
    if mine is not None:
        yield same.ok("It did.", came) if join.member == mine.member else same.found(renamed, "It joined with another id.", came)
    repeated = next((beat for beat in later if not beat.is_join and beat.request.seq < join.request.seq), None)
    if repeated is not None:
        yield claim.tolerated("It first sent a heartbeat more with the membership that was refused.", repeated.request)
    if at_once_ms is not None and elapsed_ms(since, join.request) > tolerated_ms(at_once_ms * ev.stretch):
        yield prompt.tolerated("It waited.", came, detail=f"{elapsed_ms(since, join.request):.0f} ms", proof=Proof.TIMING)


def _after_receipt(ev: Evidence, client: str, after: str) -> list[Beat]:
    """Return the heartbeats that were sent after the answer of fault `after`; after a mark, those after the first heartbeat that was refused.

    Errors of other requests do not count: a Fetch that a broker refuses says nothing of the membership.
    """
    triggers = {obs.exchange_id for obs in ev.receipts(after, "triggered")}
    answers = ev.select("response", None if triggers else BEAT, client, ev.at(after) - 1, ev.closing)
    answer = next((obs for obs in answers if obs.error and (not triggers or obs.exchange_id in triggers)), None)
    return beats(ev, client, after if answer is None else answer.seq, ev.closing)


def _heartbeats_since(ev: Evidence, client: str, after: str) -> list[Beat]:
    """Return the heartbeats after the answer of fault `after`, or all of them after a mark: then any of them shows that the membership goes on."""
    return _after_receipt(ev, client, after) if ev.receipts(after, "triggered") else beats(ev, client, after, ev.closing)


def _sign_of_life(later: list[Beat]) -> Observation | None:
    """Return the first of these heartbeats that was not refused, or that came after a refused one."""
    pairs = zip([None, *later], later, strict=False)
    return next((beat.request for last, beat in pairs if not beat.is_refused or (last is not None and last.is_refused)), None)


@timed_checker
def keeps_epoch(
    ev: Evidence, client: str, *, after: str, requirement: str, within_ms: float = REACT_MS, or_reports: bool = False
) -> Iterator[Finding]:
    """Judge that heartbeats go on with the client's membership. A new join is a needless rebalance: NON_STRICT. With `or_reports` a report to the
    application is as good, even before a leave."""
    claim = Claim(requirement=requirement, expected="The client heartbeats on with the id and the epoch that it has.")
    mine = membership_at(ev, client, after)
    if mine is None or mine.answer is None:
        raise NotReached(f"{client} was no member at {after}")
    later = _heartbeats_since(ev, client, after)
    first = _sign_of_life(later)
    if first is None and or_reports and (report := report_due(ev, client, after)) is not None:
        yield claim.ok("It told the application.", report)
        return
    missing = overdue(ev, claim, first, since=moment(ev, after), within_ms=within_ms, never="No heartbeat came.", late="It went on late.")
    if missing is not None:
        yield missing
        return
    yield _kept(ev, claim, later, mine, surfaced(ev, client, after) if or_reports else None, late_lines_ms(ev, client))


def _kept(ev: Evidence, claim: Claim, later: list[Beat], mine: Beat, report: Observation | None, late_ms: float) -> Finding:
    """Judge the heartbeats of `keeps_epoch`. `report` is the event by which the client may have informed its application before it left."""
    assert mine.answer is not None
    given_up = next((beat for beat in later if beat.is_join or beat.is_leave), None)
    if given_up is None:
        other_member = next((beat for beat in later if beat.member != mine.member), None)
        return claim.ok("It did.", later[0].request) if other_member is None else claim.failed("It goes on with another id.", other_member.request)
    if given_up.is_leave and report is not None and elapsed_ms(given_up.request, report) <= late_ms:
        return claim.ok("It told the application, and left.", report)
    if given_up.is_leave:
        return claim.tolerated("It left the group though its membership stood.", given_up.request)
    if _is_thrown_out(ev, mine, [beat for beat in later if beat.request.seq < given_up.request.seq], given_up.request):
        # Its heartbeats came too late, and a process that gets no time to run cannot send them: time decides, not a frame.
        return claim.tolerated("It was thrown out, and joined again.", given_up.request, proof=Proof.TIMING)
    if given_up.member == mine.member:
        return claim.tolerated("It joined again though its membership stood.", given_up.request)
    return claim.tolerated("It gave its membership up and joined with another id, which leaves a ghost behind.", given_up.request)


def _is_thrown_out(ev: Evidence, mine: Beat, earlier: list[Beat], before: Observation) -> bool:
    """Return whether the coordinator itself, and no fault, had ended the membership: it answered so to an earlier heartbeat, or the session ended."""
    answers = [beat.answer for beat in earlier if beat.answer is not None and beat.answer.fault is None]
    timers = ev.select("timer", after=mine.request.seq, before=before.seq)
    ends = (obs for obs in timers if obs.member == mine.member and (obs.rule or "").startswith("SessionEnd/"))
    return any(error_of(answer) in _OUT for answer in answers) or any(ends)


@checker
def goes_on_in_full(ev: Evidence, client: str, *, after: str, requirement: str = "CGC-19") -> Iterator[Finding]:
    """Judge that the first successful heartbeat afterwards has all fields, because the client cannot know what the coordinator has recorded."""
    claim = Claim(requirement=requirement, expected="The next heartbeat that succeeds says everything: timeout, subscription, partitions.")
    good = next((beat for beat in _after_receipt(ev, client, after) if beat.is_accepted), None)
    if good is None:
        raise NotReached(f"no heartbeat of {client} succeeded after {after}")
    yield claim.ok("It did.", good.request) if good.is_full else claim.tolerated("It said that nothing had changed.", good.request)


@checker
def keeps_partitions(ev: Evidence, client: str, *, after: str, requirement: str) -> Iterator[Finding]:
    """Judge that the application is not asked to revoke its partitions."""
    claim = Claim(requirement=requirement, expected="The application keeps its partitions: no callback.")
    revoked = _revoked(ev, client, after)
    yield claim.ok("It did.") if revoked is None else claim.tolerated("It was told to give some up.", revoked, proof=Proof.LIVENESS)


def _revoked(ev: Evidence, client: str, after: str | int) -> Observation | None:
    events = (obs for name in _LOSES for obs in ev.events(name, client, after, ev.closing))
    return min((obs for obs in events if obs.body.get("partitions")), key=lambda obs: obs.seq, default=None)


@timed_checker
def gives_up_partitions(ev: Evidence, client: str, *, after: str, requirement: str, within_ms: float = REACT_MS) -> Iterator[Finding]:
    """Judge that the application learns that its partitions are lost, before any are assigned again.

    A client without a callback (no `on-revoked`) may report it right before that. It is judged by what it reads in between.
    """
    claim = Claim(requirement=requirement, expected="The application is told that its partitions are lost.")
    if {*_LOSES} & ev.unreported(client):
        raise NotOffered(f"the program of {client} does not tell of what its application loses")
    revoked = _revoked(ev, client, after)
    again = next((obs for obs in ev.events("partitions_assigned", client, after, ev.closing) if obs.body.get("partitions")), None)
    if again is not None and (revoked is None or again.seq < revoked.seq):
        yield claim.failed("Partitions were assigned to it first.", again, proof=Proof.LIVENESS)
        return
    if has_no_callbacks(ev.capabilities(client)) and again is None and revoked is None:
        reads = _reads_on(ev, client, after)
        yield claim.ok("Nothing was given to it, nor asked for.") if reads is None else claim.failed("It reads on.", reads, proof=Proof.LIVENESS)
        return
    missing = overdue(ev, claim, revoked, since=moment(ev, after), within_ms=within_ms, never="It was never told.", late="It was told late.")
    if missing is None and revoked is not None and revoked.body.get("name") != "partitions_lost":
        # A client that does not distinguish the two reports this for both (contract). Its application may then commit what will be refused.
        yield claim.found(Verdict.INFORMATIONAL, "It was told to give them up, as in a rebalance.", revoked)
    else:
        yield missing or claim.ok("It was.", revoked)


def _reads_on(ev: Evidence, client: str, after: str) -> Observation | None:
    """Return what a client fetched or delivered after an instant from its partitions at that time, except what was on its way.

    What a new join has been given since is the client's own again: one without a callback may join, and read on, within one poll (kacrab 0.4.0).
    """
    owned: set[TopicPartition] = set()
    for obs in ev.select("event", client=client, before=after):
        if obs.who == "shim" and obs.body.get("name") == "partitions_assigned":
            owned |= partitions_of(obs)
        elif obs.who == "shim" and obs.body.get("name") in _LOSES:
            owned -= partitions_of(obs)
    assignments = _given_anew(ev, client, after)

    def lost(obs: Observation) -> set[TopicPartition]:
        return owned.difference(*(partitions for seq, partitions in assignments if seq < obs.seq))

    fetches = (
        obs for obs in ev.requests(Api.FETCH, client, after, ev.closing) if {(topic, number) for topic, number, _ in obs.offsets or ()} & lost(obs)
    )
    records = (obs for obs in ev.events("records_consumed", client, after, ev.closing) if partitions_of(obs) & lost(obs))
    late = (obs for obs in (*fetches, *records) if elapsed_ms(moment(ev, after), obs) > IN_FLIGHT_MS)
    return min(late, key=lambda obs: obs.seq, default=None)


def _given_anew(ev: Evidence, client: str, after: str) -> list[tuple[int, frozenset[TopicPartition]]]:
    """Return what the answers to a client's first new join and to its later heartbeats give it, with the `seq` of each answer."""
    later = dropwhile(lambda beat: not beat.is_join, beats(ev, client, after, ev.closing))
    return [(beat.answer.seq, frozenset(beat.answer.partitions)) for beat in later if beat.is_accepted and beat.answer is not None]


@timed_checker
def stays_a_member(ev: Evidence, client: str, *, after: str, requirement: str, within_ms: float = REACT_MS) -> Iterator[Finding]:
    """Judge that a retriable error ends no membership: otherwise the application must make a new client."""
    claim = Claim(requirement=requirement, expected="The client stays a member, and heartbeats on.")
    later = _after_receipt(ev, client, after)
    if not later and elapsed_ms(moment(ev, after), end(ev)) < tolerated_ms(within_ms * ev.stretch):
        raise NotReached("the run ended before its time was over")
    yield (claim.ok("It did.", later[0].request) if later else claim.tolerated("It sent no heartbeat more.", moment(ev, after), proof=Proof.LIVENESS))


@checker
def stops_beating(ev: Evidence, client: str, *, after: str, requirement: str) -> Iterator[Finding]:
    """Judge that a member whose instance id is now another's stops its heartbeats, gives up its partitions, and reports to its application.

    A rejoin is NON_STRICT: the coordinator refuses it as long as the other member is there (111), and nobody loses anything.
    """
    quiet = Claim(requirement=requirement, expected="The client sends no heartbeat more.")
    informs = Claim(requirement=requirement, expected="The application is told of the error, or that its partitions are lost.")
    since = moment(ev, after)
    if elapsed_ms(since, end(ev)) < tolerated_ms(REACT_MS / 3):
        raise NotReached("the run ended before the client had to be silent")
    later = [beat for beat in _after_receipt(ev, client, after) if not beat.is_leave]
    how = "It joined again." if later and later[0].is_join else "It went on."
    yield quiet.tolerated(how, later[0].request) if later else quiet.ok("It sent none.")
    lost, report = _revoked(ev, client, after), surfaced(ev, client, after)
    if lost is not None or (report is not None and report.body.get("fatal")):
        yield informs.ok("It was.", lost or report)
    elif report is not None:
        yield informs.failed("It was told of the error, and keeps its partitions.", report, proof=Proof.LIVENESS)
    else:
        yield informs.failed("It was never told, and keeps its partitions.", since, proof=Proof.LIVENESS)


@timed_checker
def shows_or_tries(
    ev: Evidence,
    client: str,
    *,
    after: str,
    requirement: str,
    within_ms: float = REACT_MS,
    if_unreported: Verdict = Verdict.NON_STRICT,
    rejoin_requirement: str | None = None,
) -> Iterator[Finding]:
    """Judge that a possibly permanent error reaches the application. Retrying without a report gets the verdict `if_unreported`. Doing neither is FAILED:
    nobody learns of it.

    With requirement `rejoin_requirement` a new join is as good as a report.
    """
    claim = Claim(requirement=requirement, expected="The application is told of the error.")
    since, report = moment(ev, after), report_due(ev, client, after)
    later = _after_receipt(ev, client, after)
    again, join = next((beat.request for beat in later if not beat.is_leave), None), next((beat.request for beat in later if beat.is_join), None)
    if report is not None:
        yield claim.ok("It was.", report)
    elif rejoin_requirement is not None and join is not None:
        yield Claim(requirement=rejoin_requirement, expected="The application is told of the error, or the client joins anew.").ok(
            "It joined anew.", join
        )
    elif again is not None:
        if elapsed_ms(since, end(ev)) < tolerated_ms(within_ms * ev.stretch):
            raise NotReached("the run ended before its time was over: the application may still be told")
        yield claim.found(if_unreported, "It tries again without a word.", again, proof=Proof.LIVENESS)
    else:
        never = "It fell silent, on the wire and to the application."
        yield overdue(ev, claim, None, since=since, within_ms=within_ms, never=never, late=never) or claim.ok("It did.")


@checker
def spaces_its_tries(ev: Evidence, client: str, *, after: str, requirement: str) -> Iterator[Finding]:
    """Judge that a permanent error does not cause a storm of heartbeats."""
    claim = Claim(requirement=requirement, expected="The client does not send its heartbeat again and again without a pause.")
    sent = [beat.request for beat in beats(ev, client, after, ev.closing)]
    storm = next((one for one, last in zip(sent, sent[STORM_MAX:], strict=False) if elapsed_ms(one, last) < 1_000), None)
    yield claim.tolerated("It does.", storm) if storm is not None else claim.ok("It did not.", surfaced(ev, client, after))

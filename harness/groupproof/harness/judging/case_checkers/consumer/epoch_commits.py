"""Commits and positions of a KIP-848 member: their epoch, the report of an error, and where reading goes on (CGP-01 to CGP-15)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from groupproof.harness.judging.case_checkers.consumer.epoch_beats import beats, membership_at
from groupproof.harness.judging.case_checkers.findings import TimedJudge, less_severe, overdue, timed_checker
from groupproof.harness.judging.case_checkers.offset_fetch import goes_on_reading
from groupproof.harness.judging.case_checkers.trace_queries import accepted, moment, reported_end
from groupproof.harness.judging.checkers.claim import Claim, elapsed_ms
from groupproof.harness.judging.checkers.frame_facts import IN_FLIGHT_MS, error_of
from groupproof.harness.model.case import checker
from groupproof.harness.model.evidence import Evidence, NotReached
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, TopicPartition

__all__ = [
    "asks_again_or_reports",
    "commit_is_answered",
    "commits_on",
    "commits_with_epoch",
    "if_asked_as_member",
    "reads_on_from",
    "refused_commit_is_reported",
    "retries_commit",
]

_EPOCHS_SINCE = 9
"""The version from which OffsetCommit and OffsetFetch carry member epochs (KIP-848)."""


@checker
def commits_with_epoch(ev: Evidence, client: str, *, after: str | None = None) -> Iterator[Finding]:
    """Judge that each commit of a member has a version with epochs, its member id and its newest epoch."""
    version = Claim(requirement="CGP-01", expected="A commit has a version that knows member epochs.")
    identity = Claim(requirement="CGP-01", expected="A commit carries the member's id and its epoch.")
    newest = Claim(requirement="CGP-04", expected="A commit carries the newest epoch that the client was given.")
    sent = ev.requests(Api.OFFSET_COMMIT, client, after)
    if not sent:
        raise NotReached(f"{client} committed nothing")
    for request in sent:
        if (request.version or 0) < _EPOCHS_SINCE:
            yield version.failed("It has an older one.", request)
            return
        finding = _epoch_of(ev, client, request, identity, newest)
        if finding is not None:
            yield finding
            return
    yield version.ok("It has.", sent[0])


def _epoch_of(ev: Evidence, client: str, request: Observation, identity: Claim, newest: Claim) -> Finding | None:
    mine = membership_at(ev, client, request.seq)
    if mine is None or mine.answer is None:
        return None  # this judge ignores commits of a client that is no member
    if request.member != mine.member:
        return identity.failed("It carries another id, or none.", request)
    epoch, answer = request.generation if request.member_epoch is None else request.member_epoch, _first_answer_with_epoch(ev, client, mine.answer)
    if epoch == answer.member_epoch or elapsed_ms(answer, request) <= IN_FLIGHT_MS:
        return None
    return newest.failed("It carries another.", request, detail=f"epoch {epoch}, given was {answer.member_epoch}")


def _first_answer_with_epoch(ev: Evidence, client: str, newest: Observation) -> Observation:
    """Return the answer that first gave the client its newest epoch."""
    answers = (beat.answer for beat in beats(ev, client, before=newest.seq) if beat.is_accepted and beat.answer is not None)
    return next((one for one in answers if (one.member, one.member_epoch) == (newest.member, newest.member_epoch)), newest)


@timed_checker
def refused_commit_is_reported(ev: Evidence, client: str, *, after: str, requirement: str, within_ms: float = 6_000) -> Iterator[Finding]:
    """Judge that the waiting application learns that its commit was refused."""
    claim = Claim(requirement=requirement, expected="The application is told that its commit failed.")
    reported = [obs for obs in ev.events("offsets_committed", client, after, ev.closing) if "success" in obs.body]
    first = reported[0] if reported else None
    missing = overdue(ev, claim, first, since=moment(ev, after), within_ms=within_ms, never="It was told nothing.", late="It was told late.")
    if missing is not None:
        yield missing
    elif first is not None and first.body.get("success"):
        again = next((one for one in ev.requests(Api.OFFSET_COMMIT, client, after, first.seq) if accepted(ev, one) is not None), None)
        yield claim.ok("It tried again, and succeeded.", again) if again is not None else claim.failed("It was told of a success.", first)
    else:
        yield claim.ok("It was.", first)


@timed_checker
def retries_commit(ev: Evidence, client: str, *, after: str, requirement: str, within_ms: float = 6_000) -> Iterator[Finding]:
    """Judge that a commit that got a retriable error is sent again, or its failure reported."""
    claim = Claim(requirement=requirement, expected="The commit is sent again.")
    refused = next((obs for obs in ev.responses(Api.OFFSET_COMMIT, client, ev.at(after) - 1) if error_of(obs)), moment(ev, after))
    again = next((one for one in ev.requests(Api.OFFSET_COMMIT, client, refused.seq, ev.closing)), None)
    reported = next((obs for obs in ev.events("offsets_committed", client, after, ev.closing) if obs.body.get("success") is False), None)
    if again is None and reported is not None:
        yield claim.tolerated("The application was told of a failure.", reported)
        return
    missing = overdue(ev, claim, again, since=moment(ev, after), within_ms=within_ms, never="It was not.", late="It was sent late.")
    yield missing or claim.ok("It was.", again)


@timed_checker
def commits_on(ev: Evidence, client: str, *, after: str, requirement: str = "CGP-19", within_ms: float = 7_000) -> Iterator[Finding]:
    """Judge that a client that auto-commits goes on committing after a commit was refused. Otherwise everything that it reads is read twice later."""
    claim = Claim(requirement=requirement, expected="The client commits again, with success.")
    good = next((one for one in ev.requests(Api.OFFSET_COMMIT, client, after, ev.closing) if accepted(ev, one) is not None), None)
    never, late = "It never did.", "It did late."
    yield overdue(ev, claim, good, since=moment(ev, after), within_ms=within_ms, never=never, late=late) or claim.ok("It did.", good)


@checker
def commit_is_answered(
    ev: Evidence, client: str, *, after: str, requirement: str, or_ends: bool = False, joined_anew: Verdict = Verdict.NON_STRICT
) -> Iterator[Finding]:
    """Judge that the membership outlives a refused commit: heartbeats go on, with the same id.

    With `or_ends` the client may also end, if it reports that to its application; such an error to a heartbeat may end it too (CGT-25, CGT-29). A
    new join gets the verdict `joined_anew`.
    """
    claim = Claim(requirement=requirement, expected="The member goes on heartbeating.")
    mine = membership_at(ev, client, after)
    if mine is None:
        raise NotReached(f"{client} was no member at {after}")
    later = beats(ev, client, after, ev.closing)
    joined, left = next((beat for beat in later if beat.is_join), None), next((beat for beat in later if beat.is_leave), None)
    ended = reported_end(ev, client, after) if or_ends else None
    if joined is not None:
        yield claim.found(joined_anew, "It joined again.", joined.request)
    elif ended is not None:
        yield claim.ok("It told the application that it ends.", ended)
    elif left is not None:
        yield claim.failed("It left its group for good.", left.request)
    elif later:
        yield claim.ok("It did.", later[0].request)
    else:
        yield claim.failed("It sent none.", moment(ev, after), proof=Proof.LIVENESS)


@timed_checker
def reads_on_from(
    ev: Evidence,
    client: str,
    *,
    after: str,
    positions: dict[TopicPartition, int],
    requirement: str = "CGP-10",
    reads: str | None = "CGP-11",
    ends_after: str | None = None,
    if_ended: Verdict = Verdict.OK,
    within_ms: float = 8_000,
) -> Iterator[Finding]:
    """Judge that after an instant nothing before the group's committed offsets is fetched or reaches the application.

    A client that stops reading a partition has lost no position, but makes no progress. `reads` is the requirement that this breaks, or None. It
    may stop if it reports its end to the application after `ends_after`: that gets the verdict `if_ended`. Silent heartbeats keep partitions that
    nobody reads (librdkafka#5586).
    """
    claim = Claim(requirement=requirement, expected="Reading goes on from what the group has committed, and never from auto.offset.reset.")
    back = next((obs for obs in ev.requests(Api.FETCH, client, after, ev.closing) if _is_before(obs, positions)), None)
    if back is not None:
        yield claim.failed("It fetched from before that.", back)
        return
    read = _read(ev, client, after)
    wrong = sorted(place for place, first in read.items() if first < positions.get(place, 0))
    if wrong:
        yield claim.failed("Records from before that reached the application.", moment(ev, after), detail=str(wrong), proof=Proof.LIVENESS)
        return
    yield claim.ok("It did.")
    missing = sorted(positions.keys() - read.keys())
    if reads is None or not missing:
        return
    ended = None if ends_after is None else reported_end(ev, client, ends_after)
    due = Claim(requirement=reads, expected="The client asks again, and reads on.")
    if ended is not None:
        yield due.found(if_ended, "It told the application that it ends.", ended)
    else:
        never = "Nothing more of some partitions reached the application."
        unread = overdue(ev, due, None, since=moment(ev, after), within_ms=within_ms, never=never, late=never)
        assert unread is not None
        yield replace(unread, detail=str(missing))


def asks_again_or_reports(client: str, *, after: str, requirement: str) -> TimedJudge:
    """Judge that a member whose OffsetFetch was refused as a member's asks again, reads, or reports to its application."""
    return if_asked_as_member(goes_on_reading(client, after=after, requirement=requirement), client, error=after)


def if_asked_as_member(asked: TimedJudge, client: str, *, error: str) -> TimedJudge:
    """Run `asked`. A client that asks without its member id, as librdkafka and kacrab do (CGP-03), never gets the `error` of a member from a
    coordinator: its reaction is INFORMATIONAL."""

    def judge(ev: Evidence) -> Iterator[Finding]:
        refused = next(reversed(ev.requests(Api.OFFSET_FETCH, client, before=ev.at(error) + 1)), None)
        found = list(asked(ev))
        if refused is not None and not refused.member:
            found = [replace(finding, verdict=less_severe(finding.verdict, Verdict.INFORMATIONAL)) for finding in found]
        yield from found

    return replace(asked, judge=judge)


def _is_before(fetch: Observation, positions: dict[TopicPartition, int]) -> bool:
    return any(offset < positions.get((topic, number), 0) for topic, number, offset in fetch.offsets or ())


def _read(ev: Evidence, client: str, after: str) -> dict[TopicPartition, int]:
    first: dict[TopicPartition, int] = {}
    for obs in ev.events("records_consumed", client, after, ev.closing):
        for part in obs.body.get("partitions", ()):
            first.setdefault((part["topic"], part["partition"]), int(part.get("minOffset", 0)))
    return first

"""Commits: that they carry their membership, that the application hears the truth, and that nobody commits what is not his.

Universal: `commits_are_told_truly`, `commits_are_own`, `commits_were_delivered`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from groupproof.harness.case import Judge
from groupproof.harness.evidence import Evidence, NotReached
from groupproof.harness.folds.commits import CommitsAreOwn, CommitsAreTold, CommitsWereDelivered
from groupproof.harness.judges.claim import Claim, elapsed_ms, end, overdue
from groupproof.harness.judges.folded import folded
from groupproof.harness.judges.reading import accepted, knew, moment
from groupproof.harness.verdicts import Finding, Proof, Verdict
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api

__all__ = [
    "commit_fails", "commit_is_told", "commit_reaches_coordinator", "commit_succeeds", "commits_are_own", "commits_are_told_truly",
    "commits_before_joining", "commits_by_itself", "commits_were_delivered",
]  # fmt: skip

ANSWER_MS = 10_000
"""Within which a commit has told the application how it went, retries included."""


commits_are_told_truly: Final[Judge] = folded(CommitsAreTold)
commits_are_own: Final[Judge] = folded(CommitsAreOwn)
commits_were_delivered: Final[Judge] = folded(CommitsWereDelivered)


def _result(ev: Evidence, client: str, after: str) -> Observation | None:
    """Return the first word to the application on the commit made after an instant: its event, or an answer that is an error."""
    events = ev.events("offsets_committed", client, after, ev.closing)
    errors = [seen for seen in ev.events("answer", client, after, ev.closing) if seen.body.get("error")]
    return min(events + errors, key=lambda seen: seen.seq, default=None)


def _succeeded(result: Observation) -> bool:
    return bool(result.body.get("success"))


def commit_is_told(client: str, *, after: str, requirement: str, within_ms: float = ANSWER_MS) -> Judge:
    """Judge that the application is told how its commit went, well or badly; whether truly is judged of every case."""
    claim = Claim(requirement=requirement, expected="The application is told how its commit went.")

    def judge(ev: Evidence) -> Iterator[Finding]:
        result = _result(ev, client, after)
        never, late = "The application was never told.", "The application was told late."
        yield overdue(ev, claim, result, since=moment(ev, after), within_ms=within_ms, never=never, late=late) or claim.ok("It was.", result)

    return judge


def commit_fails(client: str, *, after: str, requirement: str, within_ms: float = ANSWER_MS) -> Judge:
    """Judge that a refused commit fails for the application. One that is repeated and accepted under a new generation is NON_STRICT."""
    claim = Claim(requirement=requirement, expected="The commit fails, and the application is told so.")

    def judge(ev: Evidence) -> Iterator[Finding]:
        result = _result(ev, client, after)
        never, late = "The application was never told.", "The application was told late."
        absent = overdue(ev, claim, result, since=moment(ev, after), within_ms=within_ms, never=never, late=late)
        if absent is not None or result is None:
            yield absent or claim.failed(never)
        elif not _succeeded(result):
            yield claim.ok("It did.", result)
        elif _accepted_after(ev, client, after, result):
            yield claim.tolerated("It was sent again and accepted.", result)
        else:
            yield claim.failed("The application was told that it succeeded.", result)

    return judge


def _accepted_before(ev: Evidence, request: Observation, before: Observation) -> bool:
    answer = accepted(ev, request)
    return answer is not None and knew(answer, before)


def _accepted_after(ev: Evidence, client: str, after: str, before: Observation) -> bool:
    return any(_accepted_before(ev, request, before) for request in ev.requests(Api.OFFSET_COMMIT, client, after, before.seq))


def commit_succeeds(client: str, *, after: str, requirement: str, failing: Verdict = Verdict.NON_STRICT, within_ms: float = ANSWER_MS) -> Judge:
    """Judge that a commit that can be repeated succeeds in the end. An application that is told of its failure can repeat it: `failing`."""
    claim = Claim(requirement=requirement, expected="The commit succeeds in the end.")

    def judge(ev: Evidence) -> Iterator[Finding]:
        result = _result(ev, client, after)
        never, late = "The application was never told.", "The application was told late."
        absent = overdue(ev, claim, result, since=moment(ev, after), within_ms=within_ms, never=never, late=late)
        if absent is not None or result is None:
            yield absent or claim.failed(never)
        elif _succeeded(result):
            yield claim.ok("It did.", result)
        else:
            yield claim.found(failing, "It failed, and the application was told so.", result)

    return judge


def commit_reaches_coordinator(client: str, *, after: str, requirement: str) -> Judge:
    """Judge that an OffsetCommit with the newest generation and member id is accepted after an instant."""
    claim = Claim(requirement=requirement, expected="The client's OffsetCommit is accepted.")

    def judge(ev: Evidence) -> Iterator[Finding]:
        sent = ev.requests(Api.OFFSET_COMMIT, client, after, ev.closing)
        if not sent:
            raise NotReached(f"{client} sent no OffsetCommit after {after}")
        taken = [request for request in sent if accepted(ev, request)]
        yield claim.ok("It was.", taken[0]) if taken else claim.failed("None was.", sent[-1])

    return judge


def commits_by_itself(client: str, *, after: str, requirement: str, within_ms: float, absent: Verdict = Verdict.FAILED) -> Judge:
    """Judge that auto-commit commits what was consumed, without being told."""
    claim = Claim(requirement=requirement, expected="The client commits by itself what the application consumed.")

    def judge(ev: Evidence) -> Iterator[Finding]:
        if not ev.events("records_consumed", client, before=ev.closing):
            raise NotReached(f"{client} consumed nothing")
        sent = next(iter(ev.requests(Api.OFFSET_COMMIT, client, after)), None)
        if sent is None and elapsed_ms(moment(ev, after), end(ev)) < within_ms:
            raise NotReached("the run ended before a commit was due")
        never = claim.found(absent, "No OffsetCommit came.", moment(ev, after), proof=Proof.LIVENESS)
        yield never if sent is None else claim.ok("It did.", sent)

    return judge


def commits_before_joining(client: str, *, after: str, requirement: str) -> Judge:
    """Judge that auto-commit commits before a rejoin what was consumed (CLIENT-62); else the next owner reads it twice: NON_STRICT."""
    claim = Claim(requirement=requirement, expected="The client commits what it consumed before it joins again.")

    def judge(ev: Evidence) -> Iterator[Finding]:
        joins = ev.requests(Api.JOIN_GROUP, client, after, ev.closing)
        if not joins or not ev.events("records_consumed", client, before=joins[0].seq):
            raise NotReached(f"{client} did not consume and then join again")
        sent = [request for request in ev.requests(Api.OFFSET_COMMIT, client, before=joins[0].seq) if accepted(ev, request)]
        yield claim.ok("It did.", sent[-1]) if sent else claim.tolerated("It joined again without a commit.", joins[0])

    return judge

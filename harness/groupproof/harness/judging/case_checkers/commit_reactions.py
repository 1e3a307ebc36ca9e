"""Judges of commits for single cases, beside the checks of `checkers.commits` on every trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from groupproof.harness.judging.case_checkers.findings import end, overdue
from groupproof.harness.judging.case_checkers.trace_queries import accepted, moment, synced
from groupproof.harness.judging.checkers.claim import Claim, elapsed_ms, waited
from groupproof.harness.judging.checkers.frame_facts import knew
from groupproof.harness.judging.unreported_commits import UNREPORTED_MS
from groupproof.harness.model.case import Judge, checker
from groupproof.harness.model.evidence import Evidence, NotReached
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import MEMBERSHIP_ENDS, Api, ErrorCode

__all__ = ["commit_fails", "commit_is_reported", "commit_reaches_coordinator", "commit_succeeds", "commits_before_joining", "commits_by_itself"]

Ruling = Callable[[Evidence, Observation], Finding]

ANSWER_MS = 10_000
"""The time (ms) within which the application learns the result of a commit, retries included."""


def _result(ev: Evidence, client: str, after: str) -> Observation | None:
    """Return the first report to the application about the commit after an instant: its event, or an answer with an error."""
    events = ev.events("offsets_committed", client, after, ev.closing)
    errors = [obs for obs in ev.events("answer", client, after, ev.closing) if obs.body.get("error")]
    return min(events + errors, key=lambda obs: obs.seq, default=None)


def _succeeded(ev: Evidence, client: str, after: str, result: Observation) -> bool | None:
    """Return whether the commit succeeded for its application. For an `unknown` outcome (sarama's Commit() returns nothing) return it by the
    frames.

    None: it was not accepted, and the application got no error.
    """
    if result.body.get("outcome") != "unknown":
        return bool(result.body.get("success"))
    if _accepted_after(ev, client, after, end(ev)) is not None:
        return True
    return False if ev.events("error", client, after, ev.closing) else None


def _unreported(ev: Evidence, claim: Claim, client: str, after: str, result: Observation) -> Finding:
    sent = ev.requests(Api.OFFSET_COMMIT, client, after, ev.closing)
    if not sent:
        raise NotReached(f"{client} sent no OffsetCommit after {after}")
    if elapsed_ms(result, end(ev)) < UNREPORTED_MS * ev.stretch:
        raise NotReached("the run ended before the commit could be sent again")
    wait = waited(result, end(ev), UNREPORTED_MS * ev.stretch)
    sentence = "It was refused and not sent again, and the application was told nothing."
    return claim.failed(sentence, sent[-1], proof=Proof.LIVENESS, wait=wait)


def _ok(claim: Claim, sentence: str) -> Ruling:
    return lambda ev, result: claim.ok(sentence, result)


@checker
def _once_reported(ev: Evidence, claim: Claim, client: str, after: str, within_ms: float, *, success: Ruling, failure: Ruling) -> Iterator[Finding]:
    """Judge that the application learns the result of its commit in time. Then judge by `success` or `failure`."""
    result = _result(ev, client, after)
    never, late = "The application was never told.", "The application was told late."
    absent = overdue(ev, claim, result, since=moment(ev, after), within_ms=within_ms, never=never, late=late)
    if absent is not None or result is None:
        yield absent or claim.failed(never)
    elif (succeeded := _succeeded(ev, client, after, result)) is None:
        yield _unreported(ev, claim, client, after, result)
    else:
        yield (success if succeeded else failure)(ev, result)


def commit_is_reported(client: str, *, after: str, requirement: str, within_ms: float = ANSWER_MS) -> Judge:
    """Judge that the application learns the result of its commit, success or failure. Whether the report is true is judged in every case."""
    claim = Claim(requirement=requirement, expected="The application is told how its commit went.")

    return _once_reported(claim, client, after, within_ms, success=_ok(claim, "It was."), failure=_ok(claim, "It was."))


def commit_fails(client: str, *, after: str, requirement: str, within_ms: float = ANSWER_MS) -> Judge:
    """Judge that a refused commit fails for the application.

    A retry that is accepted in the same generation is fine too: the partitions still belong to the member. Under a new generation they may belong
    to another member, whose progress it sets back (CLIENT-67).
    """
    claim = Claim(requirement=requirement, expected="The commit fails, and the application is told so.")

    def success(ev: Evidence, result: Observation) -> Finding:
        accepted_commit = _accepted_after(ev, client, after, result if result.body.get("success") else end(ev))
        if accepted_commit is None:
            return claim.failed("The refused commit was reported as a success.", result)
        return _sent_again(ev, claim, ev.requests(Api.OFFSET_COMMIT, client, after)[0], accepted_commit)

    return _once_reported(claim, client, after, within_ms, success=success, failure=_ok(claim, "It did."))


def _accepted_before(ev: Evidence, request: Observation, before: Observation) -> bool:
    answer = accepted(ev, request)
    return answer is not None and knew(answer, before)


def _accepted_after(ev: Evidence, client: str, after: str, before: Observation) -> Observation | None:
    return next((request for request in ev.requests(Api.OFFSET_COMMIT, client, after, before.seq) if _accepted_before(ev, request, before)), None)


def _sent_again(ev: Evidence, claim: Claim, first: Observation, accepted_commit: Observation) -> Finding:
    """Return the finding on a refused commit that was sent again and accepted.

    In its generation it costs nobody: the partitions belong to the member, and the stored offsets are what the application wanted. Under a new
    generation it is stale once the client knew that its membership had ended, or gave it up: FAILED. That holds even if the client happens to get
    its partitions back and nobody committed in between: it would send the same offsets anyway, and cannot know (the contract, "Levels"). Where the
    membership went on, the frames decide. A partition that the new generation gave to another, or offsets behind what the group committed in
    between, are FAILED.
    """
    if (first.member, first.generation) == (accepted_commit.member, accepted_commit.generation):
        is_told = any(answer.error in (*MEMBERSHIP_ENDS, ErrorCode.REBALANCE_IN_PROGRESS) for answer in _answers_between(ev, first, accepted_commit))
        return claim.found(Verdict.INFORMATIONAL if is_told else Verdict.OK, "It was sent again in its generation, and accepted.", accepted_commit)
    if _has_passed(ev, first, accepted_commit):
        return claim.failed("It was sent again under another generation, and accepted.", accepted_commit)
    if foreign := _not_assigned(ev, accepted_commit):
        return claim.failed(
            "It was sent again for partitions that its new generation did not assign to it, and accepted.", accepted_commit, detail=str(foreign)
        )
    if behind := _behind(ev, first, accepted_commit):
        return claim.failed("It was sent again, and set back what the group had committed meanwhile.", accepted_commit, detail=str(behind))
    return claim.tolerated("It was sent again under the generation that followed, and accepted.", accepted_commit)


def _answers_between(ev: Evidence, first: Observation, before: Observation) -> list[Observation]:
    """Return the answers that the client of a commit got after it."""
    return list(ev.select("response", client=first.client, after=first.seq, before=before.seq))


def _has_passed(ev: Evidence, first: Observation, accepted_commit: Observation) -> bool:
    """Return whether the membership of a commit had ended, as far as its client could know.

    While the client is joining, an error to an older membership's request says nothing (CLIENT-64), but an error to the commit itself does.
    """
    if first.member != accepted_commit.member:
        return True
    joins = ev.requests(Api.JOIN_GROUP, first.client, first.seq, accepted_commit.seq)
    before = joins[0].seq if joins else accepted_commit.seq
    return any(
        answer.error in MEMBERSHIP_ENDS
        for answer in _answers_between(ev, first, accepted_commit)
        if answer.seq < before or answer.api == Api.OFFSET_COMMIT.title
    )


def _not_assigned(ev: Evidence, commit: Observation) -> list[tuple[str, int]]:
    """Return the partitions of a commit that are not in the newest SyncGroup response known to its client."""
    received = [obs for obs in synced(ev, commit.client or "") if knew(obs, commit)]
    mine = set(received[-1].partitions) if received else set()
    return sorted({(topic, partition) for topic, partition, _ in commit.offsets} - mine)


def _behind(ev: Evidence, first: Observation, commit: Observation) -> list[tuple[str, int, int]]:
    """Return the offsets of a repeated commit that are lower than what the group accepted after it was first sent."""
    reached: dict[tuple[str, int], int] = {}
    for request in ev.requests(Api.OFFSET_COMMIT, after=first.seq, before=commit.seq):
        if _accepted_before(ev, request, commit):
            reached.update({(topic, partition): offset for topic, partition, offset in request.offsets})
    return sorted(offset for offset in commit.offsets if offset[2] < reached.get(offset[:2], offset[2]))


def commit_succeeds(client: str, *, after: str, requirement: str, failing: Verdict = Verdict.NON_STRICT, within_ms: float = ANSWER_MS) -> Judge:
    """Judge that a retriable commit succeeds in the end. If the application is informed of the failure it can retry itself: the verdict is then
    `failing`."""
    claim = Claim(requirement=requirement, expected="The commit succeeds in the end.")

    def failure(ev: Evidence, result: Observation) -> Finding:
        return claim.found(failing, "It failed, and the application was told so.", result)

    return _once_reported(claim, client, after, within_ms, success=_ok(claim, "It did."), failure=failure)


@checker
def commit_reaches_coordinator(ev: Evidence, client: str, *, after: str, requirement: str) -> Iterator[Finding]:
    """Judge that after an instant an OffsetCommit with the newest generation and member id is accepted, or that one before it covers all that was
    consumed.

    Where the client auto-commits with a short interval, the commit may come before the shim's event about the consumed records.
    """
    claim = Claim(requirement=requirement, expected="The client's OffsetCommit is accepted.")
    sent = ev.requests(Api.OFFSET_COMMIT, client, after, ev.closing)
    if not sent:
        last = _all_committed(ev, client, after)
        if last is None:
            raise NotReached(f"{client} sent no OffsetCommit after {after}")
        yield claim.ok("It was.", last)
        return
    accepted_commits = [request for request in sent if accepted(ev, request)]
    yield claim.ok("It was.", accepted_commits[0]) if accepted_commits else claim.failed("None was.", sent[-1], proof=Proof.LIVENESS)


@checker
def commits_by_itself(
    ev: Evidence, client: str, *, after: str, requirement: str, within_ms: float, absent: Verdict = Verdict.FAILED
) -> Iterator[Finding]:
    """Judge that auto-commit commits what was consumed, without a command."""
    claim = Claim(requirement=requirement, expected="The client commits by itself what the application consumed.")
    if not ev.events("records_consumed", client, before=ev.closing):
        raise NotReached(f"{client} consumed nothing")
    sent = next(iter(ev.requests(Api.OFFSET_COMMIT, client, after)), None)
    if sent is None and (last := _all_committed(ev, client, after)) is not None:
        yield claim.ok("It had committed all of it before.", last)
        return
    if sent is None and elapsed_ms(moment(ev, after), end(ev)) < within_ms:
        raise NotReached("the run ended before a commit was due")
    since = moment(ev, after)
    never = claim.found(absent, "No OffsetCommit came.", since, proof=Proof.LIVENESS, wait=waited(since, end(ev), within_ms))
    yield replace(never, setting="auto_commit") if sent is None else claim.ok("It did.", sent)


def _all_committed(ev: Evidence, client: str, before: str) -> Observation | None:
    """Return the last commit accepted before an instant, if the client's commits cover all that its application consumed by the end of the run.

    kafkajs commits after each batch, whatever the interval, so nothing is left to commit at its clean close.
    """
    committed: dict[tuple[str, int], int] = {}
    sent = [request for request in ev.requests(Api.OFFSET_COMMIT, client, before=before) if accepted(ev, request)]
    for request in sent:
        committed.update({(topic, partition): offset for topic, partition, offset in request.offsets})
    for event in ev.events("records_consumed", client):
        if any(
            committed.get((partition["topic"], partition["partition"]), -1) <= partition.get("maxOffset", -1)
            for partition in event.body.get("partitions") or ()
        ):
            return None
    return sent[-1] if sent else None


@checker
def commits_before_joining(ev: Evidence, client: str, *, after: str, requirement: str) -> Iterator[Finding]:
    """Judge that auto-commit commits what was consumed before a rejoin (CLIENT-62). Otherwise the next owner reads it twice: NON_STRICT."""
    claim = Claim(requirement=requirement, expected="The client commits what it consumed before it joins again.")
    joins = ev.requests(Api.JOIN_GROUP, client, after, ev.closing)
    if not joins or not ev.events("records_consumed", client, before=joins[0].seq):
        raise NotReached(f"{client} did not consume and then join again")
    sent = [request for request in ev.requests(Api.OFFSET_COMMIT, client, before=joins[0].seq) if accepted(ev, request)]
    never = replace(claim.tolerated("It joined again without a commit.", joins[0]), setting="auto_commit")
    yield claim.ok("It did.", sent[-1]) if sent else never

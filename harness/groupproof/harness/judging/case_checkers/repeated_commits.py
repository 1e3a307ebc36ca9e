"""Commits too many: refused ones repeated under a new generation, forever or without a pause, older offsets, and handed-over partitions.

The same commit twice, in parallel or in sequence, is not judged: it stores the same offsets and costs only a request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from groupproof.harness.judging.case_checkers.findings import end
from groupproof.harness.judging.case_checkers.trace_queries import accepted, explicit_offsets, moment, synced
from groupproof.harness.judging.checkers.claim import Claim, elapsed_ms, tolerated_ms, waited
from groupproof.harness.judging.checkers.frame_facts import error_of, partitions_of
from groupproof.harness.judging.checkers.tracking.ownership_tracker import REPORTING_MS
from groupproof.harness.model.case import checker
from groupproof.harness.model.evidence import Evidence, NotReached
from groupproof.harness.model.verdicts import Finding, Proof
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, ErrorCode, TopicPartition

__all__ = ["commits_never_go_back", "commits_nothing_handed_over", "gives_refused_commits_up", "pauses_between_commits", "repeats_no_refused_commit"]

_COMMIT = Api.OFFSET_COMMIT
_FENCED = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.FENCED_INSTANCE_ID)

GIVE_UP_MS = 10_000
"""The time (ms) within which a client reports a commit to its application that no retry can cure."""

PAUSE_MS = 50.0
"""A retry that comes sooner (ms) after the error, on a network without delay, did not wait."""

HASTE_MAX = 4
"""So many hasty retries, one after the other, are no accident."""


@checker
def repeats_no_refused_commit(ev: Evidence, client: str, *, after: str, requirement: str = "CLIENT-67") -> Iterator[Finding]:
    """Judge that a commit that was refused because of its sender's membership is not sent again under the next one.

    Others have used the partitions since. If it is accepted, it sets the group's progress back. If it is refused again, it does no harm.
    """
    claim = Claim(requirement=requirement, expected="A commit that was refused is not sent again under a new generation.")
    sent = ev.requests(_COMMIT, client, after, ev.closing)
    refused = [obs for obs in sent if (answer := ev.answer(obs)) is not None and answer.error in _FENCED]
    if not refused:
        raise NotReached(f"no commit of {client} was refused after {after}")
    again = [obs for obs in sent if obs.seq > refused[0].seq and _is_repeated(refused[0], obs)]
    accepted_commits = [obs for obs in again if accepted(ev, obs)]
    if accepted_commits:
        yield claim.failed(
            "It sent the refused commit again under a new generation, and it was accepted.",
            accepted_commits[0],
            detail=str(accepted_commits[0].offsets),
        )
    elif again:
        yield claim.tolerated("It sent the refused commit again under a new generation, and it was refused again.", again[0])
    else:
        yield claim.ok("It was not.", refused[0])


def _is_repeated(refused: Observation, later: Observation) -> bool:
    """Return whether a later commit of another membership has some offset of a refused one."""
    return (later.member, later.generation) != (refused.member, refused.generation) and bool(set(refused.offsets) & set(later.offsets))


@checker
def gives_refused_commits_up(ev: Evidence, client: str, *, after: str, requirement: str = "CLIENT-69") -> Iterator[Finding]:
    """Judge that a commit that is always refused is given up and reported. Otherwise the application cannot know that nothing is stored.

    A client may retry for some seconds. Retries after the report are useless.
    """
    claim = Claim(requirement=requirement, expected="A commit that is refused each time is given up, and the application is told.")
    refused = [obs for obs in ev.requests(_COMMIT, client, after, ev.closing) if (answer := ev.answer(obs)) is not None and answer.error]
    if not refused:
        raise NotReached(f"no commit of {client} was refused after {after}")
    report = _commit_report(ev, client, after)
    late = [obs for obs in refused if report is not None and elapsed_ms(report, obs) > REPORTING_MS]
    due_ms = GIVE_UP_MS * ev.stretch
    if report is None and elapsed_ms(refused[0], end(ev)) < tolerated_ms(due_ms):
        raise NotReached("the run ended before the application had to be told")
    if report is None:
        again = "It sent the refused commit again and again, and never told its application."
        observed = again if len(refused) > 1 else "It never told its application."
        yield claim.failed(observed, refused[-1], proof=Proof.LIVENESS, wait=waited(refused[0], end(ev), due_ms))
    elif late:
        yield claim.tolerated("It went on sending a commit whose failure it had told.", late[0], proof=Proof.LIVENESS)
    else:
        yield claim.ok("It was.", report)


def _commit_report(ev: Evidence, client: str, after: str) -> Observation | None:
    """Return the first report of a failure to the application: a commit's event, an answer, or an error."""
    for obs in ev.select("event", None, client, after, ev.closing):
        name = obs.body.get("name")
        is_failure = name == "error" or (name == "offsets_committed" and not obs.body.get("success")) or (name == "answer" and obs.body.get("error"))
        if obs.who == "shim" and is_failure:
            return obs
    return None


@checker
def pauses_between_commits(ev: Evidence, client: str, *, after: str, requirement: str = "CLIENT-75") -> Iterator[Finding]:
    """Judge that a commit refused with error 27 is not sent again and again at once. The coordinator waits for a JoinGroup and repeats the error
    until it comes (KAFKA-14024)."""
    claim = Claim(requirement=requirement, expected="A commit that the rebalance refuses is sent again after a pause, if at all.")
    sent = ev.requests(_COMMIT, client, after, ev.closing)
    haste = worst = 0
    at: Observation | None = None
    for refusals, again in _retries(ev, sent):
        is_hasty = any(commit.offsets == again.offsets and elapsed_ms(answer, again) < PAUSE_MS for commit, answer in refusals)
        haste = haste + 1 if is_hasty else 0
        if haste > worst:
            worst, at = haste, again
    yield claim.tolerated("It sent the refused commit again and again without a pause.", at) if worst >= HASTE_MAX else claim.ok("It does.")


_Refusal = tuple[Observation, Observation]


def _retries(ev: Evidence, sent: Sequence[Observation]) -> Iterator[tuple[Sequence[_Refusal], Observation]]:
    """Yield each commit sent after an error 27, with the commits that got that error since the commit before it, and their answers.

    A commit sent before the answer is no retry: when a poll ends, kafka-python sends one commit two to five times in parallel.
    """
    answers = [(obs, answer) for obs in sent if (answer := ev.answer(obs)) is not None]
    refused = {answer.seq: (obs, answer) for obs, answer in answers if answer.error == ErrorCode.REBALANCE_IN_PROGRESS}
    commits = {obs.seq: obs for obs in sent}
    refusals: list[_Refusal] = []
    for seq in sorted(refused.keys() | commits.keys()):
        if seq in refused:
            refusals.append(refused[seq])
        elif refusals:
            yield refusals, commits[seq]
            refusals = []


@checker
def commits_never_go_back(ev: Evidence, client: str, *, after: str, requirement: str = "CLIENT-62") -> Iterator[Finding]:
    """Judge that a client's own commits for a partition never go back. After a crash the next owner would read the records in between again, and an
    older commit sets the group's progress back.

    No seek was commanded. Only a new assignment may start lower, if the group has committed less.
    """
    claim = Claim(requirement=requirement, expected="What the client commits by itself only grows.")
    sent = [obs for obs in ev.requests(_COMMIT, client, after) if accepted(ev, obs)]
    if not sent:
        raise NotReached(f"no commit of {client} was accepted after {after}")
    pairs = explicit_offsets(ev, client)
    reached: dict[tuple[str, int], tuple[int, int]] = {}
    for commit in sent:
        assignments = len(synced(ev, client, before=commit.seq))
        for topic, partition, offset in set(commit.offsets) - pairs:
            since, most = reached.get((topic, partition), (assignments, offset))
            if since == assignments and offset < most:
                yield claim.failed("It committed less than it had committed before.", commit, detail=f"{topic}-{partition}: {offset} after {most}")
                return
            reached[topic, partition] = (assignments, max(most, offset) if since == assignments else offset)
    yield claim.ok("It does.", sent[-1])


@checker
def commits_nothing_handed_over(ev: Evidence, client: str, *, after: str, requirement: str = "COMMIT-27") -> Iterator[Finding]:
    """Judge that a client commits nothing for a partition that its application has handed over, because the next owner may have committed since.

    It counts if the callback's end was reported before the commit by more than the tolerated delay, and the coordinator accepted the commit. As
    long as the partition has no new owner, which is until the old owner has rejoined, the commit stores its progress and takes nothing back.
    """
    claim = Claim(requirement=requirement, expected="The client commits for a partition only until it has handed it over.")
    sentence, needless = "It committed for a partition that it had handed over.", None
    since = moment(ev, after)
    handed_over: dict[tuple[str, int], Observation] = {}
    pending: set[tuple[str, int]] = set()
    for obs in ev.trace[since.seq : ev.closing]:
        if obs.client != client:
            continue
        name = obs.body.get("name") if obs.who == "shim" else None
        if name in ("partitions_revoked", "partitions_lost"):
            pending |= partitions_of(obs)
        elif name == "callback_done":
            handed_over |= dict.fromkeys(pending, obs)
            pending = set()
        elif name == "partitions_assigned":
            handed_over = {partition: at for partition, at in handed_over.items() if partition not in partitions_of(obs)}
        elif obs.kind == "request" and obs.api == _COMMIT.title and accepted(ev, obs):
            late = [(t, p) for t, p, _ in obs.offsets if (t, p) in handed_over and elapsed_ms(handed_over[t, p], obs) > REPORTING_MS]
            foreign = [partition for partition in late if _belongs_to_another(ev, partition, obs)]
            if foreign:
                yield claim.failed(sentence, obs, detail=str(sorted(foreign)))
                return
            if late and needless is None:
                needless = claim.tolerated(sentence, obs, detail=str(sorted(late)), proof=Proof.LIVENESS)
    if not handed_over and needless is None:
        raise NotReached(f"{client} handed nothing over after {after}")
    yield needless or claim.ok("It does.")


def _belongs_to_another(ev: Evidence, partition: TopicPartition, commit: Observation) -> bool:
    """Return whether another member got a partition in the generation that a commit names, or in a newer one by then."""
    named = commit.generation or 0
    answers = (
        obs for obs in ev.responses(Api.SYNC_GROUP) if obs.client != commit.client and error_of(obs) == 0 and partition in (obs.partitions or ())
    )
    return any(obs.generation == named or ((obs.generation or 0) > named and obs.seq < commit.seq) for obs in answers)

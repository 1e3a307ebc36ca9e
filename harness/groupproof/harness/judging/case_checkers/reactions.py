"""What a client does after an error: it rejoins, keeps its membership, reports to the application, or falls silent.

`after` is always the name of a fault's delivery or of a mark. Deadlines suit a client with short backoffs; for a client with a slower measured
rhythm they are multiplied (`Evidence.stretch`). The length of a backoff is the client's choice (CLIENT-06, CLIENT-14).
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from dataclasses import replace
from enum import Enum
from typing import Final

from groupproof.harness.judging.case_checkers.findings import TimedJudge, end, overdue, timed_checker
from groupproof.harness.judging.case_checkers.partition_owner import owned_at
from groupproof.harness.judging.case_checkers.trace_queries import moment, newest, report_due, surfaced, synced
from groupproof.harness.judging.checkers.claim import Claim, elapsed_ms, tolerated_ms, waited
from groupproof.harness.judging.checkers.frame_facts import GROUP_REQUESTS, error_of, has_no_callbacks
from groupproof.harness.model.case import Judge, checker
from groupproof.harness.model.client_timeouts import REACT_MS
from groupproof.harness.model.evidence import Evidence, NotReached
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import COOPERATIVE, Api, ErrorCode, TopicPartition

__all__ = [
    "REACT_MS", "Identity", "comes_back", "has_left", "ignores_stale_refusal", "keeps_membership", "recovers",
    "rejoins", "request_came", "retries", "stays_out", "surfaces", "survives", "takes_up_its_work",
]  # fmt: skip


class Identity(Enum):
    """The member id that the next JoinGroup should carry."""

    KEPT = "kept"  # its own; without it a ghost stays until its session ends
    EMPTY = "empty"  # none: the coordinator has just answered that the old one is unknown
    EITHER = "either"


def request_came(fault: str, client: str, api: Api, *, requirement: str, within_ms: float = REACT_MS) -> Judge:
    """Judge that the request that the fault waits for came; it is due. Raise `NotReached` if it came and the fault left no receipt."""
    claim = Claim(requirement=requirement, expected=f"The client sends {api.title}.")

    def judge(ev: Evidence) -> Iterator[Finding]:
        armed, triggered = ev.receipts(fault, "armed"), ev.receipts(fault, "triggered")
        if triggered and not ev.receipts(fault, "delivered"):
            raise NotReached(f"{fault} was triggered but never delivered")
        if not armed:
            raise NotReached(f"{fault} was never armed: {ev.timeout or 'the run ended before'}")
        came = triggered[0] if triggered else None
        never = overdue(ev, claim, came, since=armed[0], within_ms=within_ms, never=f"No {api.title} came.", late=f"{api.title} came late.")
        yield never or claim.ok("It did.", came)

    return TimedJudge(judge, fault, within_ms, from_arming=True)


@timed_checker
def rejoins(
    ev: Evidence,
    client: str,
    *,
    after: str,
    requirement: str,
    identity: Identity = Identity.KEPT,
    within_ms: float = REACT_MS,
    absent: Verdict = Verdict.FAILED,
    or_reports: bool = False,
    or_syncs: bool = False,
    beyond_session_of: str = "",
) -> Iterator[Finding]:
    """Judge that `client` rejoins, and with which identity.

    A dropped id is NON_STRICT. So is one JoinGroup with an id that another request was refused for: it costs a round trip, and the answer to that
    JoinGroup decides. A rejoin with an id that JoinGroup itself refused is FAILED, because it can never succeed. `absent` is the verdict if no
    JoinGroup comes. With `or_reports` a report to the application is as good. With `or_syncs` the same SyncGroup once more is as good, which the
    coordinator accepts (SYNC-53). With `beyond_session_of` the wait is longer by the session of that former member.
    """
    claim = Claim(requirement=requirement, expected=f"The client joins again{_AS[identity]}.")
    since, mine = moment(ev, after), newest(ev, client, before=after)
    join = next(iter(ev.requests(Api.JOIN_GROUP, client, after, ev.closing)), None)
    resent = next(iter(ev.requests(Api.SYNC_GROUP, client, after, ev.closing)), None) if or_syncs else None
    if resent is not None and (join is None or resent.seq < join.seq):
        yield claim.ok("It sent its SyncGroup once more.", resent)
        return
    if join is None and or_reports and (report := report_due(ev, client, after)) is not None:
        yield claim.ok("It told the application.", report)
        return
    due_ms = within_ms + (ev.terms(beyond_session_of).session_ms if beyond_session_of else 0)
    never = overdue(ev, claim, join, since=since, within_ms=due_ms, never="No JoinGroup came.", late="It joined again late.", severity=absent)
    if never is not None:
        yield never
    if join is not None and mine is None and not join.member:
        # Before KIP-394 the first JoinGroup response is the first to give an id. If it is lost, no client can keep the id.
        yield claim.ok("It had been told no member id, and joined without one.", join)
    elif join is not None:
        yield _identified(ev, claim, join, identity, since if mine is None else mine.answer, after)


_AS = {Identity.KEPT: " with the member id it has", Identity.EMPTY: " with the empty member id", Identity.EITHER: ""}


def _identified(ev: Evidence, claim: Claim, join: Observation, identity: Identity, answer: Observation, after: str) -> Finding:
    """Return the finding on the member id of `join`. `answer` is the JoinGroup response that gave the client its earlier id."""
    member, mine, client = join.member or "", answer.member or "", join.client or ""
    if identity is Identity.EITHER or (member == mine and identity is Identity.KEPT) or (member == "" and identity is Identity.EMPTY):
        return claim.ok("It did.", join)
    if identity is Identity.KEPT:
        wrong_id = "the empty member id" if member == "" else "another member id"
        if has_left(ev, client, mine, join):
            return claim.tolerated("It left the group and joined anew, which costs the group another rebalance.", join)
        if _is_unknown(ev, client, mine, join):
            return claim.tolerated("It let its session end before it joined again, and joined anew.", join, proof=Proof.TIMING)
        return claim.tolerated(f"It joined again with {wrong_id}, leaving a ghost behind.", join)
    if member != mine:
        return claim.tolerated("It joined again with an older member id.", join)
    if ev.is_answer_to(after, Api.JOIN_GROUP):
        return claim.failed("It joined again with the member id that JoinGroup had refused.", join)
    if (again := _joins_refused(ev, client, mine, join)) is not None:
        return claim.failed("It joined again and again with a member id that JoinGroup refuses.", again)
    return claim.tolerated("It joined once more with the member id that was refused.", join)


def has_left(ev: Evidence, client: str, member: str, before: Observation) -> bool:
    """Return whether a LeaveGroup of that member was answered without an error before an observation. Then it left no ghost."""
    left = (request for request in ev.requests(Api.LEAVE_GROUP, client, before=before.seq) if member in _members_of(request))
    return any((answer := ev.answer(request)) is not None and error_of(answer) == 0 for request in left)


def _is_unknown(ev: Evidence, client: str, member: str, before: Observation) -> bool:
    """Return whether the coordinator itself, and no fault, had answered that the member is unknown."""
    refused = (obs for obs in ev.select("response", None, client, before=before.seq) if obs.error == ErrorCode.UNKNOWN_MEMBER_ID)
    return any(obs.fault is None and _names(ev, obs, member) for obs in refused)


def _names(ev: Evidence, answer: Observation, member: str) -> bool:
    asked = (obs for obs in ev.select("request", None, answer.client, before=answer.seq) if obs.connection == answer.connection)
    return any(obs.correlation == answer.correlation and obs.member == member for obs in asked)


def _members_of(leave: Observation) -> set[str]:
    return {leave.member or "", *(member.get("member_id") or "" for member in leave.body.get("members") or ())}


def _joins_refused(ev: Evidence, client: str, member: str, first: Observation) -> Observation | None:
    """Return the JoinGroup, from `first` on, with an id that JoinGroup itself had refused before, or None."""
    joins = [obs for obs in ev.requests(Api.JOIN_GROUP, client, first.seq - 1, ev.closing) if obs.member == member]
    for early, late in itertools.pairwise(joins):
        answer = ev.answer(early)
        if answer is not None and answer.error == ErrorCode.UNKNOWN_MEMBER_ID and answer.seq < late.seq:
            return late
    return None


@timed_checker
def retries(
    ev: Evidence, client: str, api: Api, *, after: str, requirement: str, within_ms: float = REACT_MS, or_reports: bool = False
) -> Iterator[Finding]:
    """Judge that `client` sends `api` again. With `or_reports` a report to the application is as good."""
    claim = Claim(requirement=requirement, expected=f"The client sends {api.title} again.")
    again = next(iter(ev.requests(api, client, after, ev.closing)), None)
    if again is None and or_reports and (report := report_due(ev, client, after)) is not None:
        yield claim.ok("It told the application.", report)
        return
    never, late = f"No further {api.title} came.", f"{api.title} came again late."
    yield overdue(ev, claim, again, since=moment(ev, after), within_ms=within_ms, never=never, late=late) or claim.ok("It did.", again)


@timed_checker
def recovers(ev: Evidence, client: str, *, after: str, requirement: str, within_ms: float = 10_000) -> Iterator[Finding]:
    """Judge that `client` is again a member with an assignment: a SyncGroup is answered without an error.

    A Heartbeat that is answered without an error in its last synced generation proves that too.
    """
    was_one = bool(synced(ev, client, before=after))
    claim = Claim(requirement=requirement, expected=f"The client ends up a member of the group{' again' if was_one else ', with an assignment'}.")
    back = next(iter(synced(ev, client, after, ev.closing)), None)
    beat = _stood(ev, client, after)
    if beat is not None and (back is None or beat.seq < back.seq):
        yield claim.ok("It was one all the while.", beat)
        return
    never, late = "It never got an assignment.", "It got its assignment late."
    if was_one:
        never, late = "It never became a member again.", "It became a member again late."
    yield overdue(ev, claim, back, since=moment(ev, after), within_ms=within_ms, never=never, late=late) or claim.ok("It did.", back)


def _stood(ev: Evidence, client: str, after: str) -> Observation | None:
    """Return the first Heartbeat after an instant that was answered without an error in the client's last synced membership."""
    before = synced(ev, client, before=after)
    if not before:
        return None
    mine = (before[-1].member, before[-1].generation)
    beats = (beat for beat in ev.requests(Api.HEARTBEAT, client, after, ev.closing) if (beat.member, beat.generation) == mine)
    return next((beat for beat in beats if (answer := ev.answer(beat)) is not None and error_of(answer) == 0), None)


@checker
def takes_up_its_work(ev: Evidence, client: str, *, after: str, requirement: str = "CLIENT-30", within_ms: float = 3_000) -> Iterator[Finding]:
    """Judge that the client begins each assignment from `after` on, unless it rejoins before that is due: its application learns of it.

    A member that sends heartbeats and never reports keeps partitions that nobody reads. A heartbeat is enough for an assignment without partitions,
    and for one with only what a cooperative application already owns (KIP-429).
    """
    claim = Claim(requirement=requirement, expected="The client takes its new assignment up: it tells the application and heartbeats.")
    answers = synced(ev, client, after, ev.closing)
    if not answers:
        raise NotReached(f"{client} was assigned nothing after {after}")
    for answer in answers:
        begun, beat = _signs_of_assignment(ev, client, answer)
        rejoin = next(iter(ev.requests(Api.JOIN_GROUP, client, answer.seq, ev.closing)), None)
        if begun is None and rejoin is not None and elapsed_ms(answer, rejoin) <= tolerated_ms(within_ms):
            continue
        never = "Neither heartbeat nor callback came." if beat is None else "It heartbeats, and its application was never told."
        late = "It took it up late."
        yield overdue(ev, claim, begun, since=answer, within_ms=within_ms, never=never, late=late) or claim.ok("It did.", begun)


def _signs_of_assignment(ev: Evidence, client: str, answer: Observation) -> tuple[Observation | None, Observation | None]:
    """Return the first sign that the client began the assignment in `answer`, and the first heartbeat of its generation."""
    # In one process the callback may be recorded before the response that caused it, so it counts from the request on.
    asked = next((obs for obs in reversed(ev.requests(Api.SYNC_GROUP, client)) if obs.seq < answer.seq), answer)
    report = next(iter(ev.events("partitions_assigned", client, asked.seq, ev.closing)), None)
    beats = ev.requests(Api.HEARTBEAT, client, answer.seq, ev.closing)
    beat = next((obs for obs in beats if obs.generation == answer.generation), None)
    return report if set(answer.partitions) - _owned_throughout(ev, client, asked) else report or beat, beat


def _owned_throughout(ev: Evidence, client: str, sync: Observation) -> set[TopicPartition]:
    """Return what a member keeps through a rebalance, by its callbacks. An eager one keeps nothing.

    Without a callback (no `on-revoked`) its application learns of changes only: it asks what it owns (kacrab)."""
    mine = newest(ev, client, before=sync.seq)
    is_kept = (mine is not None and mine.protocol in COOPERATIVE) or has_no_callbacks(ev.capabilities(client))
    return owned_at(ev, client, sync) if is_kept else set()


@timed_checker
def comes_back(ev: Evidence, client: str, *, after: str, requirement: str, within_ms: float = 9_000) -> Iterator[Finding]:
    """Judge that the group hears from `client` again: a Heartbeat or SyncGroup is answered without an error."""
    claim = Claim(requirement=requirement, expected="The client gives the silent connection up and is back in its group.")
    answers = synced(ev, client, after, ev.closing) + ev.responses(Api.HEARTBEAT, client, after, ev.closing)
    good = sorted((obs for obs in answers if error_of(obs) == 0), key=lambda obs: obs.seq)
    back, never, late = next(iter(good), None), "It never came back.", "It came back late."
    yield overdue(ev, claim, back, since=moment(ev, after), within_ms=within_ms, never=never, late=late) or claim.ok("It did.", back)


@timed_checker
def keeps_membership(
    ev: Evidence, client: str, *, after: str, requirement: str, within_ms: float = REACT_MS, or_reports: bool = False
) -> Iterator[Finding]:
    """Judge that heartbeats go on with the same member id and generation. A new JoinGroup is a needless rebalance: NON_STRICT."""
    claim = Claim(requirement=requirement, expected="The client goes on heartbeating with the membership it has.")
    mine = newest(ev, client, before=after)
    if mine is None:
        raise NotReached(f"{client} was no member before {after}")
    beat = next(iter(ev.requests(Api.HEARTBEAT, client, after, ev.closing)), None)
    join = next(iter(ev.requests(Api.JOIN_GROUP, client, after, ev.closing)), None)
    first = min((obs for obs in (beat, join) if obs is not None), key=lambda obs: obs.seq, default=None)
    if first is None and or_reports and (report := report_due(ev, client, after)) is not None:
        yield claim.ok("It told the application.", report)
        return
    due_ms = max(within_ms, 2 * ev.terms(client).heartbeat_ms)
    never, late = "Neither a Heartbeat nor a JoinGroup came.", "It went on late."
    yield overdue(ev, _as_silence(claim), first, since=moment(ev, after), within_ms=due_ms, never=never, late=late) or _kept(
        ev, claim, join, beat, mine.member
    )


def _kept(ev: Evidence, claim: Claim, join: Observation | None, beat: Observation | None, mine: str) -> Finding:
    if join is None:
        return claim.ok("It did.", beat)
    is_unknown = _is_unknown(ev, join.client or "", mine, join)
    if join.member == mine and is_unknown:
        return claim.tolerated("It let its session end before it tried again, and joined as the member that it was.", join, proof=Proof.TIMING)
    if join.member == mine:
        return claim.tolerated("It joined again though its membership stood.", join)
    if has_left(ev, join.client or "", mine, join):
        return claim.tolerated("It left the group and joined anew, though its membership stood.", join)
    if is_unknown:
        return claim.tolerated("It let its session end before it tried again, and joined anew.", join, proof=Proof.TIMING)
    return claim.tolerated("It gave its membership up and joined anew, leaving a ghost behind.", join)


@timed_checker
def surfaces(
    ev: Evidence,
    client: str,
    *,
    after: str,
    requirement: str,
    if_unreported: Verdict = Verdict.NON_STRICT,
    within_ms: float = REACT_MS,
    tried_again: Api | None = None,
    before_joining: bool = False,
    refusals: Collection[int] = (),
) -> Iterator[Finding]:
    """Judge that the client reports the error to the application. Going on without a report gets the verdict `if_unreported`, or is as good if it sends
    `tried_again`.

    Silence on the wire and to the application is FAILED. With `before_joining` a report after a new JoinGroup is too late. With `refusals` the
    reaction counts only after the first answer with one of these errors.
    """
    claim = Claim(requirement=requirement, expected="The client tells the application of the error.")
    since = _refused(ev, client, after, refusals) if refusals else moment(ev, after)
    report, next_request = surfaced(ev, client, after), _goes_on(ev, client, since.seq if refusals else after)
    anew = next(iter(ev.requests(Api.JOIN_GROUP, client, after, ev.closing)), None) if before_joining else None
    if report is not None and anew is not None and anew.seq < report.seq:
        report = None
    again = next(iter(ev.requests(tried_again, client, after, ev.closing)), None) if tried_again is not None else None
    if report is not None:
        yield claim.ok("It did.", report)
    elif again is not None:
        yield claim.ok("It tried again.", again)
    elif next_request is not None and (report_due(ev, client, after) is None or before_joining):
        yield claim.found(
            if_unreported,
            "It went on without telling the application.",
            next_request,
            proof=Proof.LIVENESS,
            wait=waited(next_request, end(ev), tolerated_ms(0)),
        )
    else:
        yield _silent(ev, claim, client, since, within_ms)


def _refused(ev: Evidence, client: str, after: str, errors: Collection[int]) -> Observation:
    answers = (obs for obs in ev.select("response", None, client, after, ev.closing) if obs.error in errors)
    if (first := next(answers, None)) is None:
        raise NotReached(f"{client} was never answered with {' or '.join(str(int(error)) for error in errors)}")
    return first


@timed_checker
def survives(ev: Evidence, client: str, *, after: str, requirement: str, within_ms: float = REACT_MS) -> Iterator[Finding]:
    """Judge that after an unexpected answer the client neither stops nor hides it: it goes on, or reports to the application."""
    claim = Claim(requirement=requirement, expected="The client goes on, or tells the application.")
    report, next_request = surfaced(ev, client, after), _goes_on(ev, client, after)
    if report is not None:
        yield claim.ok("It told the application.", report)
    elif next_request is not None:
        yield claim.ok("It went on.", next_request)
    else:
        yield _silent(ev, claim, client, moment(ev, after), within_ms)


def _goes_on(ev: Evidence, client: str, after: str | int) -> Observation | None:
    """Return the first request by which the client still wants to be a member."""
    wanting = {api.title for api in (Api.FIND_COORDINATOR, *GROUP_REQUESTS, Api.OFFSET_FETCH) if api is not Api.LEAVE_GROUP}
    return next((obs for obs in ev.select("request", None, client, after, ev.closing) if obs.api in wanting), None)


_SILENCE: Final = {"CLIENT-17": "CLIENT-21", "CLIENT-50": "CLIENT-40"}
"""The requirement that a silence breaks where the expected reaction is only a SHOULD: progress or the membership is lost."""


def _as_silence(claim: Claim) -> Claim:
    return replace(claim, requirement=_SILENCE.get(claim.requirement, claim.requirement))


def _silent(ev: Evidence, claim: Claim, client: str, since: Observation, within_ms: float) -> Finding:
    report_due(ev, client, since.seq)  # raises where the program cannot report an error
    if elapsed_ms(ev.clock(since), end(ev)) < within_ms * ev.stretch:
        raise NotReached("the run ended before its time was over")
    wait = waited(ev.clock(since), end(ev), within_ms * ev.stretch)
    return _as_silence(claim).failed("It fell silent, on the wire and to the application.", since, proof=Proof.LIVENESS, wait=wait)


@checker
def ignores_stale_refusal(
    ev: Evidence, client: str, *, fault: str, join: str, before: str | None = None, requirement: str = "CLIENT-64"
) -> Iterator[Finding]:
    """Judge that a commit of the old generation, refused by `fault` after fault `join` released the JoinGroup response, causes no further
    rebalance.

    Some clients have nothing stale to ignore: one that sends no commit while it joins, one that delays it and sends it in the new generation
    (franz-go), and one that is refused before it has joined.
    """
    claim = Claim(requirement=requirement, expected="A refusal that belongs to the old generation does not make the client join once more.")
    answered = [obs for obs in ev.responses(Api.JOIN_GROUP, client, join, ev.closing) if not obs.error]
    if not answered:
        raise NotReached(f"{client} was never let in again")
    newer = {obs.generation for obs in answered}
    commits = (obs for obs in ev.requests(Api.OFFSET_COMMIT, client, before=ev.closing) if obs.generation not in newer)
    refused = [answer for obs in commits if (answer := ev.answer(obs)) is not None and answer.error and answer.seq > answered[0].seq]
    if not ev.reached(fault) or not refused:
        yield claim.ok("It had none.")
        return
    again = ev.requests(Api.JOIN_GROUP, client, refused[0].seq, ev.closing if before is None else before)
    yield claim.tolerated("It joined once more.", again[0]) if again else claim.ok("It did not.", refused[0])


@checker
def stays_out(ev: Evidence, client: str, *, after: str, requirement: str) -> Iterator[Finding]:
    """Judge that a fenced static member does not take its place back: a join with its instance id and no member id removes the other."""
    claim = Claim(requirement=requirement, expected="A client that was fenced or replaced does not join anew under its instance id.")
    anew = [join for join in ev.requests(Api.JOIN_GROUP, client, after, ev.closing) if not join.member and join.instance]
    yield claim.failed("It joined anew and threw its successor out.", anew[0]) if anew else claim.ok("It did not.")

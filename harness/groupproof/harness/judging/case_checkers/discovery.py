"""How a client finds its coordinator, and finds it again."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

from groupproof.harness.judging.case_checkers.findings import TimedJudge, end, overdue, timed_checker, unless
from groupproof.harness.judging.case_checkers.trace_queries import hit_by, moment, report_due
from groupproof.harness.judging.checkers.claim import Claim, elapsed_ms, waited
from groupproof.harness.judging.checkers.frame_facts import GROUP_REQUESTS, SLACK_MS, error_of
from groupproof.harness.judging.lag import lost_ms
from groupproof.harness.model.case import checker
from groupproof.harness.model.client_timeouts import REACT_MS
from groupproof.harness.model.evidence import Evidence, NotReached
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api

__all__ = [
    "finds_by_its_group",
    "goes_to_another",
    "looks_up_once",
    "looks_up_one_at_a_time",
    "rediscovers",
    "spaces_lookups",
    "unless_asked_elsewhere",
]


AT_ONCE_MS = 3.0
"""A retry that comes sooner than this (ms) after the error, on a network without delay, did not wait."""


@checker
def rediscovers(ev: Evidence, client: str, *, after: str, requirement: str, api: Api) -> Iterator[Finding]:
    """Judge that after error 15 or 16 or a lost connection a FindCoordinator comes before the next `api` or JoinGroup (CLIENT-04, CLIENT-05).

    Asking the same broker again is NON_STRICT here. A second OffsetFetch that was on its way, followed by a lookup, is allowed. Whether the client
    finds a coordinator that really moved is judged by the move cases.
    """
    claim = Claim(requirement=requirement, expected="The client asks for its coordinator before it sends the next group request.")
    since = moment(ev, after)
    finds = ev.requests(Api.FIND_COORDINATOR, client, after)
    find = next((obs for obs in finds if obs.seq < ev.closing), None)
    requests = _next_requests(ev, client, api, after)
    asked = next((obs for obs in requests if find is None or not _was_on_its_way(obs, since)), None)
    beside = next((obs for obs in finds if asked is not None and _was_sent_with_request(obs, asked)), None)  # the plan may end in between
    if find is not None and (asked is None or find.seq < asked.seq):
        yield claim.ok("It did.", find)
    elif beside is not None:
        yield claim.ok("It did.", beside)
    elif asked is not None and lost_ms(ev.trace, since.at_ms, asked.at_ms):
        raise NotReached(f"the machine lagged between the answer and {asked.api}, which may have been on its way")
    elif asked is not None:
        yield claim.tolerated(f"{asked.api} came without a lookup before it.", asked)
    elif (report := report_due(ev, client, after)) is not None:
        yield claim.ok("It told the application, and asked nothing more of its coordinator.", report)
    elif (other := _other_request(ev, client, since)) is not None:
        yield claim.tolerated(f"It sent no {api.title} again, and {other.api} came without a lookup before it.", other)
    elif elapsed_ms(ev.clock(since), end(ev)) < REACT_MS * ev.stretch:
        raise NotReached("the run ended before a lookup was due")
    else:
        yield claim.failed(
            "Neither a lookup nor a group request came.",
            since,
            proof=Proof.LIVENESS,
            wait=waited(ev.clock(since), end(ev), REACT_MS * ev.stretch),
        )


def _next_requests(ev: Evidence, client: str, api: Api, after: str) -> list[Observation]:
    found = ev.requests(api, client, after, ev.closing) + ev.requests(Api.JOIN_GROUP, client, after, ev.closing)
    return sorted(found, key=lambda obs: obs.seq)


def _other_request(ev: Evidence, client: str, since: Observation) -> Observation | None:
    """Return the first request of another kind to the same coordinator, sent so long after the error that it was not on its way before."""
    later = (obs for obs in ev.select("request", None, client, since.seq, ev.closing) if obs.api in _AT_THE_COORDINATOR)
    return next((obs for obs in later if obs.at_ms - since.at_ms > SLACK_MS), None)


def _was_on_its_way(request: Observation, refusal: Observation) -> bool:
    """Return whether an OffsetFetch may have been sent before the client read the error of another: kafkajs sends one for each broker that it reads
    from."""
    return request.api == Api.OFFSET_FETCH.title and request.at_ms - refusal.at_ms <= SLACK_MS


def _was_sent_with_request(find: Observation, request: Observation) -> bool:
    """Return whether the lookup came with the request on its own connection. Their order is then unknown (librdkafka sends both from one timer)."""
    return find.connection != request.connection and find.at_ms - request.at_ms <= SLACK_MS


@timed_checker
def goes_to_another(ev: Evidence, client: str, api: Api, *, after: str, requirement: str, within_ms: float = REACT_MS) -> Iterator[Finding]:
    """Judge that `client` sends `api` (or joins) to another broker than before: the one that the coordinator moved to (CLIENT-07)."""
    claim = Claim(requirement=requirement, expected="The client goes on at the broker that the coordinator moved to.")
    before = [obs.node for obs in ev.select("request", None, client, before=after) if obs.api in _AT_THE_COORDINATOR]
    if not before:
        raise NotReached(f"{client} had no coordinator before {after}")
    there = next((obs for obs in _next_requests(ev, client, api, after) if obs.node != before[-1]), None)
    since, never, late = moment(ev, after), "It never came there.", "It came there late."
    yield overdue(ev, claim, there, since=since, within_ms=within_ms, never=never, late=late) or claim.ok("It did.", there)


_AT_THE_COORDINATOR = {api.title for api in GROUP_REQUESTS}


@checker
def looks_up_one_at_a_time(ev: Evidence, client: str, *, requirement: str = "CLIENT-02") -> Iterator[Finding]:
    """Report whether a FindCoordinator for the group is sent while another of the same client is unanswered. It costs little."""
    claim = Claim(requirement=requirement, expected="The client has at most one FindCoordinator in flight.")
    finds = _group_lookups(ev, client)
    if not finds:
        raise NotReached(f"{client} never asked for its coordinator")
    for early, late in itertools.pairwise(finds):
        answer = ev.answer(early)
        if (answer is None or answer.seq > late.seq) and not _cut_between(ev, early, late):
            yield claim.found(Verdict.INFORMATIONAL, "A second one came before the first was answered.", late)
            return
    yield claim.ok("It had.", finds[-1])


def _cut_between(ev: Evidence, early: Observation, late: Observation) -> bool:
    """Return whether the connection of `early` was closed before `late`. Then nothing was in flight any more."""
    closed = ev.select("event", after=early.seq, before=late.seq)
    return any(obs.who == "link" and obs.connection == early.connection and obs.body.get("name") == "closed" for obs in closed)


@checker
def spaces_lookups(ev: Evidence, client: str, *, after: str, requirement: str = "CLIENT-06") -> Iterator[Finding]:
    """Judge that failed lookups are repeated with a pause: at least half of the gaps are longer than a retry without a pause would take.

    The length and growth of the backoff are the client's choice. `RequestsDoNotStorm` judges too many in a second.
    """
    claim = Claim(requirement=requirement, expected="The client waits before it repeats a failed lookup.")
    finds = ev.requests(Api.FIND_COORDINATOR, client, after, ev.closing)
    answers = [(answer, find) for find in finds if (answer := _answer_before(ev, client, find)) is not None]
    gaps = sorted(elapsed_ms(answer, find) for answer, find in answers)
    if not gaps:
        raise NotReached(f"{client} did not repeat a lookup")
    if gaps[len(gaps) // 2] < AT_ONCE_MS:
        yield claim.tolerated("It repeated it at once.", finds[-1], detail=f"gaps {[round(gap) for gap in gaps]} ms")
    else:
        yield claim.ok("It did.", finds[-1])


def _answer_before(ev: Evidence, client: str, find: Observation) -> Observation | None:
    answers = ev.responses(Api.FIND_COORDINATOR, client, before=find.seq)
    return answers[-1] if answers and answers[-1].error else None


def unless_asked_elsewhere(asked: TimedJudge, client: str, *, requirement: str = "CLIENT-06") -> TimedJudge:
    """Run `asked`, unless another lookup, in flight together with the one that a fault hit, gave the client its coordinator.

    no-kafka asks all of its bootstrap brokers at once, and takes the first answer (`Promise.any` in `_findGroupCoordinator`).
    """
    claim = Claim(requirement=requirement, expected="The client gets its coordinator.")
    return unless(asked, partial(_answered_elsewhere, client=client), claim, "It had asked more than one broker at once, and another answered.")


def _answered_elsewhere(ev: Evidence, fault: str, *, client: str) -> Observation | None:
    """Return the successful answer to a lookup on another connection that was sent before the fault acted, and answered after the lookup that it hit."""
    hit = hit_by(ev, fault, Api.FIND_COORDINATOR, client)
    if hit is None:
        return None
    finds = ev.requests(Api.FIND_COORDINATOR, client, before=moment(ev, fault).seq)
    answers = (answer for find in finds if find.connection != hit.connection and (answer := ev.answer(find)) is not None)
    return next((answer for answer in answers if answer.seq > hit.seq and error_of(answer) == 0), None)


@checker
def looks_up_once(ev: Evidence, client: str, *, after: str, requirement: str = "CLIENT-03") -> Iterator[Finding]:
    """Report whether a rebalance made the client look up a coordinator that it knew. That is allowed, as long as it is no storm."""
    claim = Claim(requirement=requirement, expected="A rebalance alone makes the client ask for no coordinator.")
    finds = ev.requests(Api.FIND_COORDINATOR, client, after, ev.closing)
    yield claim.found(Verdict.INFORMATIONAL, "It asked again.", finds[0]) if finds else claim.ok("It asked for none.")


@checker
def finds_by_its_group(ev: Evidence, client: str, group: str, *, requirement: str = "FIND-01") -> Iterator[Finding]:
    """Judge that FindCoordinator names the client's own group."""
    claim = Claim(requirement=requirement, expected="FindCoordinator carries the client's group id.")
    finds = _group_lookups(ev, client)
    if not finds:
        raise NotReached(f"{client} never asked for its coordinator")
    wrong = [find for find in finds if group not in (find.body.get("coordinator_keys") or (find.group,))]
    yield claim.failed("It carried another key.", wrong[0]) if wrong else claim.ok("It does.", finds[0])


def _group_lookups(ev: Evidence, client: str) -> list[Observation]:
    """Return the client's lookups of a group coordinator. A client may also look up a transaction coordinator (key type 1)."""
    return [find for find in ev.requests(Api.FIND_COORDINATOR, client, before=ev.closing) if find.body.get("key_type", 0) == 0]

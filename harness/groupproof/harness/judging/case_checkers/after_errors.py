"""Judges for any plan: identities are given up only for a reason, and once everything is healed every member settles.

Generated plans, which belong to no written case, are judged by these beside the universal judges.
"""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterator, Sequence
from typing import Final

from groupproof.harness.judging.case_checkers.findings import end
from groupproof.harness.judging.case_checkers.trace_queries import clients, memberships_given, moment, surfaced
from groupproof.harness.judging.checkers.claim import Claim, elapsed_ms, waited
from groupproof.harness.judging.checkers.frame_facts import GROUP_REQUESTS, SLACK_MS, instance_of, knew
from groupproof.harness.model.case import checker
from groupproof.harness.model.evidence import Evidence, NotOffered, NotReached
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.rules.classic.member_reactions import MEMBER_APIS, Effect, Phase, Reaction, reaction
from groupproof.protocol.trace import ExchangeId, Observation
from groupproof.protocol.vocabulary import Api, ErrorCode, api_named, error_named

__all__ = ["HEEDS_MS", "SETTLES_MS", "ends_up_a_member", "ids_are_given_up_for_a_reason", "refusals_are_respected", "refused_ids_are_dropped"]

SETTLES_MS: Final = 30_000
"""The time (ms) within which a group settles after healing: a ghost's session, a whole join phase of plans with timeouts of at most ten seconds,
and the longest backoff before a reconnect.
"""

HEEDS_MS: Final = 2_000
"""How long (ms) a client may go on with heartbeats of a refused membership, once its application polls again."""

_SILENT_MS: Final = 8_000
_REFUSALS: Final = (ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID)
_ALIVE = frozenset({ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS})
# The answers by which every client counts its session. Some clients count others too.
_HEARD_BY = frozenset(api.title for api in (Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT))
_TITLES = frozenset(api.title for api in MEMBER_APIS)


def ids_are_given_up_for_a_reason(ev: Evidence) -> Iterator[Finding]:
    """Judge that a member rejoins with the empty id only where it must: its id was refused as unknown, or it left on its own.

    Otherwise its old id stays as a ghost, which owns its partitions until the session ends. A static member takes its own place and leaves no
    ghost.
    """
    for client in clients(ev):
        for join in ev.requests(Api.JOIN_GROUP, client, before=ev.closing):
            held = [assignment for assignment in memberships_given(ev, client, before=join.seq) if assignment.generation >= 0]
            if join.member or instance_of(join) or not held or held[-1].answer is not _last_given(ev, client, join):
                continue
            if any(not obs.member for obs in ev.requests(Api.JOIN_GROUP, client, after=held[-1].answer.seq, before=join.seq)):
                continue  # it repeats a join without the id that it gave up before
            after = _fault_that_took_id(ev, client, held[-1].answer, join)
            if after is not None:
                requirement, reason = after
                claim = Claim(requirement=requirement, expected="The client joins again with the member id that it has.")
                yield claim.tolerated(f"After {reason} it joined again with the empty member id.", join)


def _last_given(ev: Evidence, client: str, join: Observation) -> Observation:
    return memberships_given(ev, client, before=join.seq)[-1].answer


def _fault_that_took_id(ev: Evidence, client: str, since: Observation, join: Observation) -> tuple[str, str] | None:
    """Return the requirement and the fault after which `client` gave up its id. Return None where it may."""
    heard, disturbances, held, without = since, list[Observation](), since, _requests_without_id(ev, client)
    for obs in (obs for obs in ev.trace[since.seq + 1 : join.seq] if obs.client == client):
        if (obs.kind == "request" and obs.api == Api.LEAVE_GROUP.title) or (obs.who == "kit" and obs.body.get("name") == "kill"):
            return None
        if obs.kind == "request" and obs.member and obs.member == since.member:
            held = obs
        elif obs.kind == "response" and obs.api in _TITLES:
            # A client that omits the id has given it up already, or risks it. UNKNOWN_MEMBER_ID is then no excuse.
            if _gives_up(obs) and obs.exchange_id not in without:
                return None
            heard = obs if obs.error in _ALIVE and obs.api in _HEARD_BY else heard
            disturbances += [obs] if obs.error else []
        elif obs.who == "link" and obs.body.get("name") == "closed":
            disturbances.append(obs)
    if not disturbances or elapsed_ms(heard, join) >= join.body.get("session_timeout_ms", 0) or _was_away(ev, client, since, join):
        return None
    late = [observation for observation in disturbances if elapsed_ms(observation, held) <= SLACK_MS] or disturbances
    bare = next(
        (
            observation
            for observation in ev.trace[held.seq + 1 : join.seq]
            if observation.kind == "request" and observation.exchange_id in without and observation.client == client
        ),
        None,
    )
    # The id was given up before a request first omitted it. Errors that followed from that are no reason for it.
    before = [observation for observation in late if bare is not None and observation.exchange_id not in without and knew(observation, bare)]
    return _likeliest(before or late, without)


def _requests_without_id(ev: Evidence, client: str) -> set[ExchangeId]:
    """Return the requests that had to name the client's id and named none, by connection and correlation."""
    sent = (obs for api in GROUP_REQUESTS if api is not Api.LEAVE_GROUP for obs in ev.requests(api, client))
    return {obs.exchange_id for obs in sent if not obs.member}


def _was_away(ev: Evidence, client: str, since: Observation, join: Observation) -> bool:
    """Return whether the application did not poll, or the process stood still, for so long that the client may have left the group by itself,
    reported or not.
    """
    limit, begun, is_paused = join.body.get("rebalance_timeout_ms", -1), None, False
    for obs in (obs for obs in ev.trace[: join.seq] if obs.client == client):
        done = (obs.body.get("command") or obs.body.get("name")) if obs.who == "kit" else None
        if done in ("pause", "freeze", "commit"):
            begun, is_paused = begun or obs, is_paused or done != "commit"
        elif begun is not None and (done in ("resume", "thaw") or (obs.who == "shim" and obs.body.get("name") == "answer" and not is_paused)):
            if obs.seq > since.seq and elapsed_ms(begun, obs) >= limit:
                return True
            begun, is_paused = None, False
    return begun is not None and elapsed_ms(begun, join) >= limit


def _gives_up(answer: Observation) -> bool:
    row = _row(answer)
    return Effect.DROP_ID in row or Effect.RAISE in row


def refused_ids_are_dropped(ev: Evidence) -> Iterator[Finding]:
    """Judge that an id that was refused as unknown is given up (CLIENT-33, CLIENT-48).

    One JoinGroup with it after another request was refused costs a round trip: NON_STRICT. After JoinGroup itself refused it, no join with it can
    succeed.
    """
    for client, api in itertools.product(clients(ev), (Api.HEARTBEAT, Api.SYNC_GROUP, Api.JOIN_GROUP)):
        for refused in ev.responses(api, client, before=ev.closing):
            if refused.error != ErrorCode.UNKNOWN_MEMBER_ID or not (member := _named(ev, refused)) or _is_joining(ev, client, refused):
                continue
            if _may_be_unread(ev, refused):
                continue
            join = next(ev.select("request", Api.JOIN_GROUP, client, after=refused.seq, before=ev.closing), None)
            if join is not None and join.member == member and elapsed_ms(refused, join) > SLACK_MS:
                claim = Claim(requirement=_row(refused).requirements[0], expected="An id that the coordinator does not know is given up.")
                verdict = Verdict.FAILED if api is Api.JOIN_GROUP else Verdict.NON_STRICT
                yield claim.found(verdict, f"It joined again with the member id that {api.title} was refused for.", join)


def _named(ev: Evidence, answer: Observation) -> str:
    """Return the member id that the request of an answer named. An answer that refuses an id may name none."""
    asked = (obs for obs in ev.select("request", client=answer.client, before=answer.seq) if obs.exchange_id == answer.exchange_id)
    return next((obs.member or "" for obs in asked), "")


def _is_joining(ev: Evidence, client: str, at: Observation) -> bool:
    """Return whether a JoinGroup or SyncGroup was on its way when an answer came. Then that request decides, not the answer."""
    sent = [*ev.requests(Api.JOIN_GROUP, client, before=at.seq), *ev.requests(Api.SYNC_GROUP, client, before=at.seq)]
    return any((answer := ev.answer(request)) is None or answer.seq > at.seq for request in sent)


def _may_be_unread(ev: Evidence, answer: Observation) -> bool:
    """Return whether the client closed the connection just as an answer came. It may have given up its coordinator and never read the answer."""
    after = next((obs for obs in ev.trace[answer.seq + 1 :] if obs.connection == answer.connection), None)
    is_close = after is not None and after.who == "link" and after.body.get("name") == "closed" and after.body.get("by") == "client"
    return is_close and after is not None and elapsed_ms(answer, after) <= SLACK_MS


def _row(answer: Observation) -> Reaction:
    return reaction(api_named(answer.api or ""), answer.error or 0, Phase.CURRENT)


def _likeliest(disturbances: Sequence[Observation], without: Container[ExchangeId]) -> tuple[str, str]:
    """Return the probable reason for giving up the id: an answer that costs the generation, or else the last fault."""
    answers = [obs for obs in disturbances if obs.kind == "response"]
    likeliest = next((obs for obs in answers if Effect.DROP_GENERATION in _row(obs)), disturbances[-1])
    if likeliest.kind != "response":
        return "CLIENT-05", "its connection was closed"
    how = ", sent without the id," if likeliest.exchange_id in without else ""
    return _row(likeliest).requirements[0], f"{likeliest.api}{how} was answered {error_named(likeliest.error or 0)}"


@checker
def refusals_are_respected(ev: Evidence, after: str) -> Iterator[Finding]:
    """Judge that from an instant on no client uses a membership after a Heartbeat was refused: it rejoins, or falls out.

    Such an error may be the client's first sign of what others know already. A client that goes on works on partitions of others.
    """
    since = moment(ev, after)
    for client in clients(ev):
        for refused in ev.responses(Api.HEARTBEAT, client, before=ev.closing):
            if refused.error in _REFUSALS and (obs := _went_on(ev, client, refused, since)) is not None:
                requirement = reaction(Api.HEARTBEAT, refused.error, Phase.CURRENT).requirements[0]
                claim = Claim(requirement=requirement, expected="A membership that was refused is given up, and the client joins again.")
                yield claim.failed(f"It heartbeats on after {error_named(refused.error)}, and does not join again.", obs, proof=Proof.LIVENESS)
                break


def _went_on(ev: Evidence, client: str, refused: Observation, since: Observation) -> Observation | None:
    """Return a Heartbeat of the refused membership that comes long after the refusal, with no JoinGroup between."""
    if next(ev.select("request", Api.JOIN_GROUP, client, after=refused.seq, before=ev.closing), None) is not None:
        return None
    begun = max(refused, since, key=lambda obs: obs.seq)
    beats = ev.select("request", Api.HEARTBEAT, client, after=begun.seq, before=ev.closing)
    same = (obs for obs in beats if (obs.member, obs.generation) == (refused.member, refused.generation))
    return next((obs for obs in same if elapsed_ms(begun, obs) > HEEDS_MS * ev.stretch), None)


@checker
def ends_up_a_member(ev: Evidence, client: str, *, after: str, requirement: str = "CLIENT-30", within_ms: float = SETTLES_MS) -> Iterator[Finding]:
    """Judge that after an instant `client` ends up assigned in the group's newest generation, and sends heartbeats there.

    A member with an error that no retry cures may end instead, if it reported the error to its application.
    """
    claim = Claim(
        requirement=requirement,
        expected="Once everything is healed the client is a settled member: assigned in the newest generation, and heartbeating.",
    )
    since = moment(ev, after)
    beat = _settled(ev, client, since)
    if beat is not None:
        yield claim.ok("It is.", beat)
    elif (report := _ended_rightly(ev, client)) is not None:
        yield claim.ok("It had told the application of what ended it.", report)
    elif elapsed_ms(since, end(ev)) < within_ms * ev.stretch:
        raise NotReached(f"the run ended before {client} had to be settled")
    elif lack := _too_slow_to_hear(ev):
        raise NotOffered(lack)
    else:
        observed, last = _how_it_stands(ev, client)
        wait = waited(since, end(ev), within_ms * ev.stretch)
        yield claim.failed(observed, last, proof=Proof.LIVENESS, detail=_last_answer(ev, client), wait=wait)


def _too_slow_to_hear(ev: Evidence) -> str:
    """Return which client has its own heartbeat interval that is longer than a rebalance under the plan's poll interval; "" where none has.

    It learns of each rebalance only after it fell out of it, and another such client falls out of the one that its return begins. Such a group may
    never rest.
    """
    for client in clients(ev):
        terms = ev.terms(client)
        if "heartbeat_interval_ms" in terms.ignored and terms.heartbeat_ms >= terms.rebalance_ms:
            return f"{client} heartbeats every {terms.heartbeat_ms:.0f} ms, and a rebalance waits for it {terms.rebalance_ms:.0f} ms"
    return ""


def _settled(ev: Evidence, client: str, since: Observation) -> Observation | None:
    """Return the heartbeat that proves it: accepted after the healing, and after the client was assigned in the newest generation."""
    joins = [obs for obs in ev.responses(Api.JOIN_GROUP, before=ev.closing) if not obs.error]
    generation = joins[-1].generation if joins else None
    syncs = [obs for obs in ev.responses(Api.SYNC_GROUP, client, before=ev.closing) if not obs.error and obs.generation == generation]
    if not syncs:
        return None
    beats = ev.responses(Api.HEARTBEAT, client, after=max(since.seq, syncs[-1].seq), before=ev.closing)
    return next((obs for obs in reversed(beats) if not obs.error), None)


def _ended_rightly(ev: Evidence, client: str) -> Observation | None:
    """Return the report to the application after an answer at which a client may end."""
    for obs in ev.select("response", None, client, before=ev.closing):
        if _may_end(obs) and (report := surfaced(ev, client, obs.seq)) is not None:
            return report
    return None


def _may_end(answer: Observation) -> bool:
    """Return whether a client may end at an answer: the catalogue allows it, or the group is not authorised."""
    return answer.error == ErrorCode.GROUP_AUTHORIZATION_FAILED or (answer.api in _TITLES and Effect.RAISE in _row(answer))


def _how_it_stands(ev: Evidence, client: str) -> tuple[str, Observation]:
    asked = [obs for obs in ev.select("request", None, client, before=ev.closing) if obs.api in _TITLES]
    last, silent_ms = end(ev), _SILENT_MS * ev.stretch
    if not asked:
        return "It never spoke to the group.", last
    if elapsed_ms(asked[-1], last) > silent_ms:
        return f"It fell silent: its last word was {asked[-1].api}.", asked[-1]
    recent = {obs.api for obs in asked if elapsed_ms(obs, last) <= silent_ms}
    for api in (*GROUP_REQUESTS, Api.OFFSET_FETCH, Api.FIND_COORDINATOR):
        if api.title in recent:
            return f"It still sends {api.title}, and is not settled.", asked[-1]
    return "It is not.", asked[-1]


def _last_answer(ev: Evidence, client: str) -> str:
    answers = [obs for obs in ev.select("response", None, client, before=ev.closing) if obs.api in _TITLES]
    if not answers:
        return "it was never answered"
    return (
        f"its last answer was {error_named(answers[-1].error) if answers[-1].error else 'success'} to {answers[-1].api} at {answers[-1].at_ms:.0f} ms"
    )

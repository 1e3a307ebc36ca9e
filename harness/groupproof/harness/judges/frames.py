"""Which frames are legal whatever the case: member ids, generations and instance ids that this client was really given.

Universal: run on every case. They return findings only for what breaks a rule.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupproof.harness.evidence import Evidence
from groupproof.harness.judges.claim import Claim, elapsed_ms
from groupproof.harness.judges.reading import GROUP_REQUESTS, Given, accepted, clients, given, group_requests, instance_of, knew, synced
from groupproof.harness.verdicts import Finding, Verdict
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, api_named

__all__ = [
    "commits_name_their_membership", "generations_are_those_given", "instance_ids_stay", "member_ids_are_those_given", "nothing_after_leaving",
    "requests_do_not_storm",
]  # fmt: skip

# How long a client may take to act on an answer that has left: what it sent before may still be on its way.
IN_FLIGHT_MS = 1_000
# More requests of one kind in a second than any backoff allows.
STORM_PER_SECOND = 20

_ID_RULE = {
    Api.JOIN_GROUP: "CLIENT-10",
    Api.SYNC_GROUP: "CLIENT-11",
    Api.HEARTBEAT: "CLIENT-11",
    Api.OFFSET_COMMIT: "CLIENT-66",
    Api.LEAVE_GROUP: "CLIENT-72",
}


def member_ids_are_those_given(ev: Evidence) -> Iterator[Finding]:
    """Judge that a request names the empty member id, where that means something, or one that the coordinator gave this client before.

    A Heartbeat or OffsetCommit with a generation and no id can only be refused (UNKNOWN_MEMBER_ID): needless, and nothing is lost by it.
    """
    for client in clients(ev):
        known = given(ev, client)
        for request in group_requests(ev, client):
            api = api_named(request.api or "")
            claim = Claim(requirement=_ID_RULE[api], expected="Every request names a member id that the coordinator gave this client.")
            for member in _named_members(request):
                if member == "" and _may_be_empty(api, request):
                    continue
                if member == "":
                    verdict = Verdict.NON_STRICT if api in _REFUSED_WITHOUT_ID else Verdict.FAILED
                    yield claim.found(verdict, f"{api.title} named no member id.", request)
                elif not any(each.member == member and knew(each.seen, request) for each in known):
                    yield claim.failed(f"{api.title} named a member id that the client was never given.", request)


_REFUSED_WITHOUT_ID = {Api.HEARTBEAT, Api.OFFSET_COMMIT}


def _named_members(request: Observation) -> list[str]:
    if request.api == Api.LEAVE_GROUP.title:
        return [each.get("member_id") or "" for each in request.body.get("members") or ()]
    return [request.member or ""]


def _may_be_empty(api: Api, request: Observation) -> bool:
    """Tell whether no id is an id: a newcomer joins without an id (CLIENT-10); an unmanaged commit has none (COMMIT-02); an instance may leave by name (LEAVE-53)."""
    if api is Api.LEAVE_GROUP:
        return instance_of(request) is not None
    return api is Api.JOIN_GROUP or (api is Api.OFFSET_COMMIT and (request.generation is None or request.generation < 0))


def generations_are_those_given(ev: Evidence) -> Iterator[Finding]:
    """Judge that SyncGroup, Heartbeat and OffsetCommit carry a generation that was given; an old one long after a new one is a relapse."""
    for client in clients(ev):
        known = given(ev, client)
        adopted = synced(ev, client)
        for request in group_requests(ev, client):
            if request.api in _WITH_GENERATION and request.member:
                yield from _generation(ev, request, known, adopted)


_WITH_GENERATION = {Api.SYNC_GROUP.title, Api.HEARTBEAT.title, Api.OFFSET_COMMIT.title}


def _generation(ev: Evidence, request: Observation, known: list[Given], adopted: list[Observation]) -> Iterator[Finding]:
    claim = Claim(
        requirement="CLIENT-66" if request.api == Api.OFFSET_COMMIT.title else "CLIENT-11",
        expected="Every request carries the generation that the coordinator gave this member.",
    )
    mine = {each.generation for each in known if each.member == request.member and knew(each.seen, request)}
    if mine and request.generation not in mine - {-1}:
        yield claim.failed(f"{request.api} carried a generation that the member was never given.", request, detail=f"generation {request.generation}")
        return
    newer = [each for each in adopted if each.member == request.member and (each.generation or 0) > (request.generation or 0)]
    if any(each.seq < request.seq and elapsed_ms(each, request) > IN_FLIGHT_MS for each in newer):
        yield claim.tolerated(f"{request.api} carried an older generation than the one the member had adopted.", request)


def commits_name_their_membership(ev: Evidence) -> Iterator[Finding]:
    """Judge that no member commits without generation: in an empty group that passes, a stale commit that nothing stops (CLIENT-66)."""
    claim = Claim(requirement="CLIENT-66", expected="Every OffsetCommit of a member carries its generation and member id.")
    for client in clients(ev):
        for request in ev.requests(Api.OFFSET_COMMIT, client):
            unmanaged = not request.member and (request.generation is None or request.generation < 0)
            if unmanaged and given(ev, client, before=request.seq) and not _has_left(ev, client, request):
                verdict = Verdict.FAILED if accepted(ev, request) else Verdict.NON_STRICT
                yield claim.found(verdict, "OffsetCommit of a member carried neither generation nor member id.", request)


def _has_left(ev: Evidence, client: str, request: Observation) -> bool:
    left = ev.requests(Api.LEAVE_GROUP, client, before=request.seq)
    return bool(left) and not ev.requests(Api.JOIN_GROUP, client, after=left[-1].seq, before=request.seq)


def nothing_after_leaving(ev: Evidence) -> Iterator[Finding]:
    """Judge that no heartbeat, sync or commit names a membership whose LeaveGroup was answered (LEAVE-55)."""
    claim = Claim(requirement="LEAVE-55", expected="After its LeaveGroup a client sends nothing more as that member.")
    for client in clients(ev):
        for left in ev.requests(Api.LEAVE_GROUP, client):
            answer, gone = accepted(ev, left), set(_named_members(left)) - {""}
            if answer is None:
                continue
            for request in group_requests(ev, client, after=answer.seq):
                if request.api in _WITH_GENERATION and request.member in gone and elapsed_ms(answer, request) > IN_FLIGHT_MS:
                    yield claim.tolerated(f"{request.api} named the membership that had ended.", request)


def instance_ids_stay(ev: Evidence) -> Iterator[Finding]:
    """Judge that a static member says its instance id in every request that names it, so that a replaced one is fenced (STATIC-10)."""
    claim = Claim(requirement="STATIC-10", expected="A static member names its instance id in every request.")
    for client in clients(ev):
        instances = {instance_of(each) for each in ev.requests(Api.JOIN_GROUP, client)} - {None}
        for request in group_requests(ev, client) if instances else ():
            carries = request.version is None or request.version >= _INSTANCE_SINCE[api_named(request.api or "")]
            if carries and request.member and instance_of(request) not in instances:
                yield claim.tolerated(f"{request.api} of a static member carried no instance id, or another.", request)


# KIP-345: the version of each request that brought the instance id.
_INSTANCE_SINCE = {Api.JOIN_GROUP: 5, Api.SYNC_GROUP: 3, Api.HEARTBEAT: 3, Api.OFFSET_COMMIT: 7, Api.LEAVE_GROUP: 3}


def requests_do_not_storm(ev: Evidence) -> Iterator[Finding]:
    """Judge that retries are spaced: one kind of request never comes more than twenty times in a second (CLIENT-06, CLIENT-75)."""
    for client in clients(ev):
        for api in (Api.FIND_COORDINATOR, *GROUP_REQUESTS, Api.OFFSET_FETCH):
            claim = Claim(
                requirement="CLIENT-06" if api is Api.FIND_COORDINATOR else "CLIENT-75",
                expected=f"A client spaces its requests: at most {STORM_PER_SECOND} of a kind in a second.",
            )
            seen = ev.requests(api, client)
            burst = next((late for early, late in zip(seen, seen[STORM_PER_SECOND:], strict=False) if elapsed_ms(early, late) < 1_000), None)
            if burst is not None:
                yield claim.tolerated(f"{api.title} came in a storm.", burst)

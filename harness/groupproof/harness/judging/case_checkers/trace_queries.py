"""Queries of judges on a whole trace: memberships of a client, accepted requests, instants, how late events are. Nothing here judges."""

from __future__ import annotations

from groupproof.harness.judging.checkers.frame_facts import GROUP_REQUESTS, MembershipGrant, error_of, fields_of, gives, knew, membership_grant
from groupproof.harness.judging.checkers.tracking.group_tracker import GroupTracker
from groupproof.harness.model.evidence import Evidence, NotOffered
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api

__all__ = [
    "accepted",
    "clients",
    "explicit_offsets",
    "hit_by",
    "late_lines_ms",
    "memberships_given",
    "moment",
    "newest",
    "origin",
    "report_due",
    "reported_end",
    "surfaced",
    "synced",
]


def moment(ev: Evidence, name: str | None) -> Observation:
    """Return the observation of mark or delivery `name` (None: the first of all). Raise `NotReached` where there is none."""
    return ev.trace[max(ev.at(name), 0)]


def hit_by(ev: Evidence, fault: str, api: Api, client: str) -> Observation | None:
    """Return the client's request on which, or on whose answer, a fault acted first."""
    triggers = {obs.exchange_id for obs in ev.receipts(fault, "triggered")[:1]}
    return next((request for request in ev.requests(api, client) if request.exchange_id in triggers), None)


def late_lines_ms(ev: Evidence, client: str) -> float:
    """Return how far (ms) the events of a client's application may lag behind the frames that follow them (`GroupTracker.late_ms`)."""
    group = GroupTracker()
    for obs in ev.sent:
        group.follow(obs)
    return group.late_ms(client)


def reported_end(ev: Evidence, client: str, after: str | int) -> Observation | None:
    """Return the first event after an instant by which the application learns that its client has ended and must be replaced."""
    words = (obs for obs in ev.select("event", None, client, after, ev.closing) if obs.who == "shim" and obs.body.get("name") in ("error", "answer"))
    return next((obs for obs in words if obs.body.get("error") and obs.body.get("fatal")), None)


def clients(ev: Evidence) -> list[str]:
    """Return the client ids that sent group requests, in order of appearance."""
    lines = (obs.client for obs in ev.select("request") if obs.api in _TITLES and obs.client is not None)
    return list(dict.fromkeys(lines))


_TITLES = {api.title for api in (*GROUP_REQUESTS, Api.FIND_COORDINATOR, Api.OFFSET_FETCH)}


def accepted(ev: Evidence, request: Observation) -> Observation | None:
    """Return the answer to `request` if it left without an error, else None."""
    answer = ev.answer(request)
    return answer if answer is not None and error_of(answer) == 0 else None


def memberships_given(ev: Evidence, client: str, before: str | int | None = None) -> list[MembershipGrant]:
    """Return every membership and pending id that JoinGroup responses gave `client`, in order."""
    return [membership_grant(obs) for obs in ev.responses(Api.JOIN_GROUP, client, before=before) if gives(obs)]


def newest(ev: Evidence, client: str, before: str | int | None = None) -> MembershipGrant | None:
    """Return what the newest JoinGroup response before an instant gave `client`, or None."""
    memberships = memberships_given(ev, client, before)
    return memberships[-1] if memberships else None


def origin(ev: Evidence, client: str, sync: Observation) -> MembershipGrant | None:
    """Return the JoinGroup response that a SyncGroup request follows: same member and generation, before it.

    A group that was lost and created again counts its generations again. A response recorded before the request is preferred to one just after it.
    """
    fits = [
        assignment
        for assignment in memberships_given(ev, client)
        if (assignment.member, assignment.generation) == (sync.member, sync.generation) and knew(assignment.answer, sync)
    ]
    before = [fit for fit in fits if fit.answer.seq < sync.seq]
    return before[-1] if before else next(iter(fits), None)


def synced(ev: Evidence, client: str, after: str | int | None = None, before: str | int | None = None) -> list[Observation]:
    """Return the SyncGroup responses that gave `client` an assignment."""
    return [obs for obs in ev.responses(Api.SYNC_GROUP, client, after, before) if error_of(obs) == 0]


def explicit_offsets(ev: Evidence, client: str) -> set[tuple[str, int, int]]:
    """Return the offsets that the driver commanded `client` to commit."""
    asked: set[tuple[str, int, int]] = set()
    for obs in ev.trace:
        if obs.who == "kit" and obs.body.get("name") == "command" and obs.client == client:
            asked |= {(topic, partition, offset) for topic, partition, offset in fields_of(obs.body).get("offsets") or ()}
    return asked


def surfaced(ev: Evidence, client: str, after: str | int | None) -> Observation | None:
    """Return the first report of a failure to the application after an instant: an `error` event or a command's error."""
    for obs in ev.select("event", None, client, after, ev.closing):
        if obs.who == "shim" and (obs.body.get("name") == "error" or (obs.body.get("name") == "answer" and obs.body.get("error"))):
            return obs
    return None


def report_due(ev: Evidence, client: str, after: str | int | None) -> Observation | None:
    """Return the same where its absence counts against the client. Raise `NotOffered` where its program cannot report an error."""
    report = surfaced(ev, client, after)
    if report is None and "error" in ev.unreported(client):
        raise NotOffered(f"the program of {client} has no event for an error after which it goes on")
    return report

"""What judges ask of a whole trace: who was given which membership, which answer accepted a request, when something happened. Nothing here judges."""

from __future__ import annotations

from groupproof.harness.judging.checkers.frame_facts import (
    GROUP_REQUESTS,
    Given,
    error_of,
    fields_of,
    given_by,
    gives,
    knew,
)
from groupproof.harness.model.evidence import Evidence
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api

__all__ = ["accepted", "clients", "explicit_offsets", "given", "moment", "newest", "origin", "surfaced", "synced"]


def moment(ev: Evidence, name: str | None) -> Observation:
    """Return the observation of mark or delivery `name` (None: the first of all); raise `NotReached`."""
    return ev.trace[max(ev.at(name), 0)]


def clients(ev: Evidence) -> list[str]:
    """Return the client ids that sent group requests, in order of appearance."""
    seen = (each.client for each in ev.select("request") if each.api in _TITLES and each.client is not None)
    return list(dict.fromkeys(seen))


_TITLES = {api.title for api in (*GROUP_REQUESTS, Api.FIND_COORDINATOR, Api.OFFSET_FETCH)}


def accepted(ev: Evidence, request: Observation) -> Observation | None:
    """Return the answer to `request` if it left without an error."""
    answer = ev.answer(request)
    return answer if answer is not None and error_of(answer) == 0 else None


def given(ev: Evidence, client: str, before: str | int | None = None) -> list[Given]:
    """Return every membership and pending id that JoinGroup answers gave `client`, in order."""
    return [given_by(seen) for seen in ev.responses(Api.JOIN_GROUP, client, before=before) if gives(seen)]


def newest(ev: Evidence, client: str, before: str | int | None = None) -> Given | None:
    """Return what the newest JoinGroup answer before an instant gave `client`."""
    known = given(ev, client, before)
    return known[-1] if known else None


def origin(ev: Evidence, client: str, sync: Observation) -> Given | None:
    """Return the JoinGroup answer that a SyncGroup request follows: same member and generation, before it.

    A group that was lost and begun anew counts its generations again: one that was answered by then goes before one that only might have been.
    """
    fits = [each for each in given(ev, client) if (each.member, each.generation) == (sync.member, sync.generation) and knew(each.seen, sync)]
    before = [each for each in fits if each.seen.seq < sync.seq]
    return before[-1] if before else next(iter(fits), None)


def synced(ev: Evidence, client: str, after: str | int | None = None, before: str | int | None = None) -> list[Observation]:
    """Return the SyncGroup answers that put an assignment in `client`'s hands."""
    return [seen for seen in ev.responses(Api.SYNC_GROUP, client, after, before) if error_of(seen) == 0]


def explicit_offsets(ev: Evidence, client: str) -> set[tuple[str, int, int]]:
    """Return the offsets that the driver told `client` to commit."""
    asked: set[tuple[str, int, int]] = set()
    for seen in ev.trace:
        if seen.who == "kit" and seen.body.get("name") == "command" and seen.client == client:
            asked |= {(topic, partition, offset) for topic, partition, offset in fields_of(seen.body).get("offsets") or ()}
    return asked


def surfaced(ev: Evidence, client: str, after: str | int | None) -> Observation | None:
    """Return the first sign after an instant that the application was told of a failure: an `error` event or a command's error."""
    for seen in ev.select("event", None, client, after, ev.closing):
        if seen.who == "shim" and (seen.body.get("name") == "error" or (seen.body.get("name") == "answer" and seen.body.get("error"))):
            return seen
    return None

"""What judges read in a trace: who was given which membership, what an answer says, what a leader assigned, what an application was told.

Nothing here judges. Bodies are those of the newest API version whatever went over the wire (`protocol.wire`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from groupproof.harness.evidence import Evidence
from groupproof.protocol.subscription import Subscription, SubscriptionError, decode_assignment, decode_subscription
from groupproof.protocol.trace import Observation, Partitions
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = [
    "COOPERATIVE",
    "GROUP_REQUESTS",
    "SLACK_MS",
    "Given",
    "accepted",
    "assignments_of",
    "clients",
    "committed_offsets",
    "error_of",
    "explicit_offsets",
    "given",
    "group_requests",
    "instance_of",
    "joined_generation",
    "knew",
    "moment",
    "newest",
    "origin",
    "partitions_of",
    "subscription_of",
    "subscriptions_of",
    "surfaced",
    "synced",
]  # fmt: skip

GROUP_REQUESTS = (Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.OFFSET_COMMIT, Api.LEAVE_GROUP)
"""The requests that name a member."""

COOPERATIVE = frozenset({"cooperative-sticky"})
"""Protocols whose members keep what they own through a rebalance (KIP-429)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What one JoinGroup answer gave a client; `generation` is -1 where it gave only an id (79)."""

    seen: Observation
    member: str
    generation: int
    leader: str
    protocol: str | None
    skip_assignment: bool

    @property
    def is_leader(self) -> bool:
        return self.generation >= 0 and self.leader == self.member


def moment(ev: Evidence, name: str | None) -> Observation:
    """Return the observation of mark or delivery `name` (None: the first of all); raise `NotReached`."""
    return ev.trace[max(ev.at(name), 0)]


def clients(ev: Evidence) -> list[str]:
    """Return the client ids that sent group requests, in order of appearance."""
    seen = (each.client for each in ev.select("request") if each.api in _TITLES and each.client is not None)
    return list(dict.fromkeys(seen))


_TITLES = {api.title for api in (*GROUP_REQUESTS, Api.FIND_COORDINATOR, Api.OFFSET_FETCH)}


def error_of(seen: Observation) -> int:
    return seen.error or 0


def accepted(ev: Evidence, request: Observation) -> Observation | None:
    """Return the answer to `request` if it left without an error."""
    answer = ev.answer(request)
    return answer if answer is not None and error_of(answer) == 0 else None


def given(ev: Evidence, client: str, before: str | int | None = None) -> list[Given]:
    """Return every membership and pending id that JoinGroup answers gave `client`, in order."""
    return [_given(seen) for seen in ev.responses(Api.JOIN_GROUP, client, before=before) if _gives(seen)]


def _gives(seen: Observation) -> bool:
    return bool(seen.body.get("member_id")) and error_of(seen) in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED)


def _given(seen: Observation) -> Given:
    whole = error_of(seen) == 0
    return Given(
        seen=seen,
        member=seen.body["member_id"],
        generation=seen.body.get("generation_id", -1) if whole else -1,
        leader=seen.body.get("leader", "") if whole else "",
        protocol=seen.body.get("protocol_name"),
        skip_assignment=bool(seen.body.get("skip_assignment")),
    )


def newest(ev: Evidence, client: str, before: str | int | None = None) -> Given | None:
    """Return what the newest JoinGroup answer before an instant gave `client`."""
    known = given(ev, client, before)
    return known[-1] if known else None


SLACK_MS = 100.0
"""An answer is recorded when its bytes have left, on a busy machine a little after the client acted on them."""


def knew(answer: Observation, request: Observation) -> bool:
    """Tell whether who sent `request` may have acted on `answer`."""
    return answer.seq < request.seq or answer.at_ms - request.at_ms <= SLACK_MS


def origin(ev: Evidence, client: str, sync: Observation) -> Given | None:
    """Return the JoinGroup answer that a SyncGroup request follows: same member and generation, before it."""
    for each in reversed(given(ev, client)):
        if (each.member, each.generation) == (sync.member, sync.generation) and knew(each.seen, sync):
            return each
    return None


def joined_generation(ev: Evidence, client: str, generation: int, *, of: Observation) -> bool:
    """Tell whether `client` was let into that generation of the group as it was at `of`: one that was lost and begun anew counts from 1 again."""
    begun = max(_begun_anew(ev, of.seq), default=0)
    return any(each.generation == generation and each.seen.seq >= begun for each in given(ev, client))


def _begun_anew(ev: Evidence, before: int) -> Iterator[int]:
    """Yield when the group was made: as its coordinator tells, and, behind a tap, where a generation is lower than the one before."""
    yield from (seen.seq for seen in ev.select("transition", before=before) if seen.state_before is None)
    newest = -1
    for seen in ev.select("response", Api.JOIN_GROUP, before=before):
        if not seen.error and seen.generation is not None:
            if seen.generation < newest:
                yield seen.seq
            newest = seen.generation


def synced(ev: Evidence, client: str, after: str | int | None = None, before: str | int | None = None) -> list[Observation]:
    """Return the SyncGroup answers that put an assignment in `client`'s hands."""
    return [seen for seen in ev.responses(Api.SYNC_GROUP, client, after, before) if error_of(seen) == 0]


def group_requests(ev: Evidence, client: str, after: str | int | None = None, before: str | int | None = None) -> Iterator[Observation]:
    """Yield every request of `client` that names a member."""
    titles = {api.title for api in GROUP_REQUESTS}
    return (seen for seen in ev.select("request", None, client, after, before) if seen.api in titles)


def assignments_of(sync: Observation) -> dict[str, Partitions]:
    """Return what a SyncGroup request assigns to each member id; an entry that does not parse assigns nothing."""
    return {each["member_id"]: _decoded(each.get("assignment") or b"") for each in sync.body.get("assignments") or ()}


def _decoded(blob: bytes) -> Partitions:
    try:
        return decode_assignment(blob).partitions
    except SubscriptionError:
        return ()


def subscription_of(join: Observation) -> Subscription | None:
    """Return the subscription of a JoinGroup request's first protocol, or None where there is none to read."""
    protocols = join.body.get("protocols") or ()
    return _subscription(protocols[0].get("metadata") or b"") if protocols else None


def subscriptions_of(answer: Observation) -> dict[str, Subscription]:
    """Return the subscriptions that a leader's JoinGroup answer lists, by member id."""
    read = {each["member_id"]: _subscription(each.get("metadata") or b"") for each in answer.body.get("members") or ()}
    return {member: subscription for member, subscription in read.items() if subscription is not None}


def _subscription(blob: bytes) -> Subscription | None:
    try:
        return decode_subscription(blob)
    except SubscriptionError:
        return None


def partitions_of(event: Observation) -> set[tuple[str, int]]:
    """Return the partitions that a shim's event names."""
    return {(each["topic"], each["partition"]) for each in event.body.get("partitions") or ()}


def committed_offsets(event: Observation) -> set[tuple[str, int, int]]:
    """Return the offsets that an `offsets_committed` event names; a negative one says that nothing was committed there."""
    return {(each["topic"], each["partition"], each["offset"]) for each in event.body.get("offsets") or () if each["offset"] >= 0}


def explicit_offsets(ev: Evidence, client: str) -> set[tuple[str, int, int]]:
    """Return the offsets that the driver told `client` to commit."""
    asked: set[tuple[str, int, int]] = set()
    for seen in ev.trace:
        if seen.who == "kit" and seen.body.get("name") == "command" and seen.client == client:
            asked |= {(topic, partition, offset) for topic, partition, offset in _fields(seen.body).get("offsets") or ()}
    return asked


def _fields(command: Mapping[str, Any]) -> Mapping[str, Any]:
    fields = command.get("fields")
    return fields if isinstance(fields, Mapping) else command


def instance_of(request: Observation) -> str | None:
    """Return the group instance id that a request carries."""
    members: Sequence[Mapping[str, Any]] = request.body.get("members") or ({},)
    instance: str | None = request.instance or request.body.get("group_instance_id") or members[0].get("group_instance_id")
    return instance


def surfaced(ev: Evidence, client: str, after: str | int | None) -> Observation | None:
    """Return the first sign after an instant that the application was told of a failure: an `error` event or a command's error."""
    for seen in ev.select("event", None, client, after, ev.closing):
        if seen.who == "shim" and (seen.body.get("name") == "error" or (seen.body.get("name") == "answer" and seen.body.get("error"))):
            return seen
    return None

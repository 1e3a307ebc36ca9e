"""What one observation says: the membership in a response, a leader's assignments, the partitions of an application's event. Pure.

Nothing here judges. Bodies have the shape of the newest API version, whatever version was on the wire (`protocol.wire`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from groupproof.protocol.trace import Observation, Partitions
from groupproof.protocol.vocabulary import Api, ErrorCode
from groupproof.protocol.wire.subscription import Subscription, SubscriptionError, decode_assignment, decode_subscription

__all__ = [
    "GROUP_REQUESTS", "IN_FLIGHT_MS", "SLACK_MS", "MembershipGrant", "assignments_of", "committed_offsets", "error_of", "fields_of", "gives",
    "has_no_callbacks", "instance_of", "is_begun_anew", "is_conversion", "is_unmanaged", "knew", "left_by", "members_of", "membership_grant", "partitions_of", "subscription_of", "subscriptions_of",
    "truncated_assignments",
]  # fmt: skip

GROUP_REQUESTS = (Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.OFFSET_COMMIT, Api.LEAVE_GROUP)
"""The requests that name a member."""


_CONVERSIONS: Final = frozenset({"upgraded", "downgraded"})
"""The reasons by which the coordinator says that it converts a group to the other protocol (`migration.py`)."""

IN_FLIGHT_MS: Final = 1_000
"""How long (ms) a client may take to act on a sent response: its earlier requests may still be on their way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipGrant:
    """What one JoinGroup response gave a client. `generation` is -1 where it gave only an id (79)."""

    answer: Observation
    member: str
    generation: int
    leader: str
    protocol: str | None
    skip_assignment: bool

    @property
    def is_leader(self) -> bool:
        return self.generation >= 0 and self.leader == self.member


def error_of(obs: Observation) -> int:
    return obs.error or 0


def gives(obs: Observation) -> bool:
    return bool(obs.body.get("member_id")) and error_of(obs) in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED)


def membership_grant(obs: Observation) -> MembershipGrant:
    whole = error_of(obs) == 0
    return MembershipGrant(
        answer=obs,
        member=obs.body["member_id"],
        generation=obs.body.get("generation_id", -1) if whole else -1,
        leader=obs.body.get("leader", "") if whole else "",
        protocol=obs.body.get("protocol_name"),
        skip_assignment=bool(obs.body.get("skip_assignment")),
    )


SLACK_MS = 100.0
"""A response is recorded when its bytes have left. On a busy computer that is a little after the client acted on them."""


def knew(answer: Observation, request: Observation) -> bool:
    """Return whether the sender of `request` may have acted on `answer`."""
    return answer.seq < request.seq or answer.at_ms - request.at_ms <= SLACK_MS


def assignments_of(sync: Observation) -> dict[str, Partitions]:
    """Return what a SyncGroup request assigns to each member id. An entry that does not parse assigns nothing."""
    return {assignment["member_id"]: _decoded(assignment.get("assignment") or b"") for assignment in sync.body.get("assignments") or ()}


def truncated_assignments(sync: Observation) -> list[str]:
    """Return the member ids whose assignment in a SyncGroup request ends before its user data."""
    return [item["member_id"] for item in sync.body.get("assignments") or () if _is_truncated(item.get("assignment") or b"")]


def _is_truncated(blob: bytes) -> bool:
    try:
        return decode_assignment(blob).is_truncated
    except SubscriptionError:
        return False


def _decoded(blob: bytes) -> Partitions:
    try:
        return decode_assignment(blob).partitions
    except SubscriptionError:
        return ()


def subscription_of(join: Observation) -> Subscription | None:
    """Return the subscription of a JoinGroup request's first protocol, or None where none can be read."""
    protocols = join.body.get("protocols") or ()
    return _subscription(protocols[0].get("metadata") or b"") if protocols else None


def members_of(answer: Observation) -> set[str]:
    """Return the member ids that a leader's JoinGroup response lists. A listed id is a member, even if its subscription cannot be read."""
    return {member["member_id"] for member in answer.body.get("members") or ()}


def subscriptions_of(answer: Observation) -> dict[str, Subscription]:
    """Return the readable subscriptions in a leader's JoinGroup response, by member id."""
    read = {member["member_id"]: _subscription(member.get("metadata") or b"") for member in answer.body.get("members") or ()}
    return {member: subscription for member, subscription in read.items() if subscription is not None}


def _subscription(blob: bytes) -> Subscription | None:
    try:
        return decode_subscription(blob)
    except SubscriptionError:
        return None


def has_no_callbacks(capabilities: Collection[str]) -> bool:
    """Return whether a shim declares that its client has no callback of a rebalance (no `on-revoked`). Such a shim asks its client what it owns, and
    reports revoked partitions with the next assignment at the latest. One that declares nothing is no such shim.
    """
    return bool(capabilities) and "on-revoked" not in capabilities


def partitions_of(event: Observation) -> set[tuple[str, int]]:
    """Return the partitions that a shim's event names."""
    return {(partition["topic"], partition["partition"]) for partition in event.body.get("partitions") or ()}


def committed_offsets(event: Observation) -> set[tuple[str, int, int]]:
    """Return the offsets that an `offsets_committed` event names. A negative offset means that nothing was committed for the partition."""
    return {(offset["topic"], offset["partition"], offset["offset"]) for offset in event.body.get("offsets") or () if offset["offset"] >= 0}


def fields_of(command: Mapping[str, Any]) -> Mapping[str, Any]:
    fields = command.get("fields")
    return fields if isinstance(fields, Mapping) else command


def left_by(leave: Observation) -> list[str]:
    """Return the member ids that a LeaveGroup names."""
    members: Sequence[Mapping[str, Any]] = leave.body.get("members") or ({"member_id": leave.member},)
    return [member["member_id"] for member in members if member.get("member_id")]


def instance_of(request: Observation) -> str | None:
    """Return the group instance id that a request carries."""
    members: Sequence[Mapping[str, Any]] = request.body.get("members") or ({},)
    instance: str | None = request.instance or request.body.get("group_instance_id") or members[0].get("group_instance_id")
    return instance


def is_unmanaged(commit: Observation) -> bool:
    """Return whether an OffsetCommit carries no generation, as those of tools and of consumers that use assign() (COMMIT-02)."""
    return commit.generation is None or commit.generation < 0


def is_begun_anew(transition: Observation) -> bool:
    """Return whether a transition begins a new group under the name. A group that is converted from one protocol to the other stays the same
    (CGG-52, CGG-57).
    """
    return transition.state_before is None and transition.detail not in _CONVERSIONS


def is_conversion(obs: Observation) -> bool:
    """Return whether a transition converts a group from one protocol to the other."""
    return obs.kind == "transition" and obs.state_before is None and obs.detail in _CONVERSIONS

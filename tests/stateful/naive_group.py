"""A classic group as plain dicts: what the naive coordinator knows of it, and the questions that it asks of it, each answered by walking."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from groupproof.coordinator.machine.coordinator import GroupView, MemberView
from groupproof.protocol.vocabulary import GroupState
from groupproof.protocol.wire.messages import JoinMember, JoinProtocol
from groupproof.protocol.wire.subscription import decode_subscription

__all__ = [
    "Group",
    "Member",
    "elect",
    "is_common",
    "listed",
    "metadata_of",
    "new_group",
    "new_member",
    "subscribed_topics",
    "unjoined",
    "view_of",
    "votes",
]

Group = dict[str, Any]
Member = dict[str, Any]


def new_group(group_id: str) -> Group:
    """Return the group as the catalogue has it begin: Empty, generation 0 (INV-02, INV-04).

    Timers are `(instant, order of arming)` or None: `delay` the initial delayed join, `join` the delayed join, `sync` the wait for
    SyncGroup. `owing` are the ids that have not sent SyncGroup in this generation, `stored` what `__consumer_offsets` holds of the group,
    `uncommitted` offsets by producer whose transaction is open, `subscribed` the topics that members named for this generation.
    """
    return {
        "id": group_id, "state": GroupState.EMPTY, "generation": 0, "type": None, "protocol": None, "leader": None, "members": {}, "pending": {}, "evicted": {},
        "delay": None, "span": 0, "remaining": 0, "newcomer": False, "join": None, "sync": None, "owing": set(), "offsets": {}, "empty_since": 0,
        "stored": None, "uncommitted": {}, "subscribed": None,
    }  # fmt: skip


def new_member(join: Any, member_id: str, arrival: Any) -> Member:
    """Return a member as its admitting JoinGroup makes it (JOIN-37); without a rebalance timeout the session's serves (TIMER-25)."""
    return {
        "id": member_id, "instance": join.group_instance_id, "client": arrival.client_id, "host": arrival.client_host,
        "session_ms": join.session_timeout_ms, "rebalance_ms": rebalance_of(join), "protocols": join.protocols, "assignment": b"",
        "join": None, "sync": None, "session": None, "new": True,
    }  # fmt: skip


def rebalance_of(join: Any) -> int:
    return int(join.session_timeout_ms if join.rebalance_timeout_ms < 0 else join.rebalance_timeout_ms)


def metadata_of(member: Member, protocol: str | None) -> bytes:
    """Return the member's bytes for the protocol (JOIN-15)."""
    return b"".join(item.metadata for item in member["protocols"] if item.name == protocol)


def subscribed_topics(group: Group) -> set[str]:
    """Return every topic that a member names in its subscription for the group's protocol."""
    return {topic for item in group["members"].values() for topic in decode_subscription(metadata_of(item, group["protocol"])).topics}


def listed(group: Group) -> tuple[JoinMember, ...]:
    """Return the list that only the leader is given (JOIN-14)."""
    return tuple(
        JoinMember(member_id=item["id"], group_instance_id=item["instance"], metadata=metadata_of(item, group["protocol"]))
        for item in group["members"].values()
    )


def is_common(group: Group, protocols: Iterable[JoinProtocol]) -> bool:
    """Tell whether one of the protocols is offered by every member, the asker's own old list included (JOIN-09, JOIN-33)."""
    return any(
        all(any(offered.name == protocol.name for offered in member["protocols"]) for member in group["members"].values()) for protocol in protocols
    )


def votes(group: Group) -> list[str]:
    """Return the protocols with most votes: each member's first among those that all offer (JOIN-32)."""
    ballots = [[protocol.name for protocol in member["protocols"]] for member in group["members"].values()]
    chosen = [next(name for name in ballot if all(name in other for other in ballots)) for ballot in ballots]
    return [name for name in dict.fromkeys(chosen) if chosen.count(name) == max(chosen.count(item) for item in chosen)]


def unjoined(group: Group) -> list[Member]:
    return [item for item in group["members"].values() if item["join"] is None]


def elect(candidates: Sequence[str]) -> str:
    """Decide what the catalogue leaves open, who of several leads and which of two protocols is taken, for machine and model alike."""
    return max(candidates)


def view_of(group: Group) -> GroupView:
    """Return the group in the form in which the machine shows its own."""
    members = tuple(
        MemberView(
            member_id=broker["id"], client_id=broker["client"], client_host=broker["host"], group_instance_id=broker["instance"],
            is_leader=broker["id"] == group["leader"],
            parked="JoinGroup" if broker["join"] else "SyncGroup" if broker["sync"] else None,
            session_timeout_ms=broker["session_ms"], rebalance_timeout_ms=broker["rebalance_ms"], assignment=broker["assignment"],
        )
        for broker in group["members"].values()
    )  # fmt: skip
    return GroupView(
        group_id=group["id"], state=group["state"], generation=group["generation"], protocol_type=group["type"],
        protocol_name=group["protocol"], leader=group["leader"], members=members, pending=tuple(group["pending"]),
    )  # fmt: skip

"""Groups of the newer protocols (consumer, share, streams) in the offsets topic, where the changes are recorded before a new epoch. Pure.

So the cause of an epoch is known, except why a member left: a leave, a session end and a fencing leave the same tombstones. Source: Kafka's
`GroupMetadataManager` from 4.0 on. The records of an operation are appended together and in order: members, then topic metadata, then the epoch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from groupproof.harness.judging.diagnosis.causes import Cause
from groupproof.harness.judging.topic_history.group_departures import is_return, last_commit_ms, loss_of, was_alive, was_there
from groupproof.harness.judging.topic_history.logged_groups import Departure, LoggedGroup, LoggedMember, LoggedRebalance, StaticRestart
from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["PROTOCOLS", "EpochChanges", "follow_epoch_record", "split_name"]

PROTOCOLS: Final = {"ConsumerGroup": "consumer", "ShareGroup": "share", "StreamsGroup": "streams"}

_STABLE: Final = 0
"""`MemberState.STABLE`; 2 is UNRELEASED_PARTITIONS."""

_UNREVOKED: Final = 1
"""`MemberState.UNREVOKED_PARTITIONS`."""

_LOSSES: Final = (Cause.LEFT, Cause.HEARTBEAT_TIMEOUT, Cause.REVOCATION_TIMEOUT, Cause.POLL_INTERVAL, Cause.ADMIN_REMOVAL)


@dataclass(slots=True)
class EpochChanges:
    """The changes since the last epoch, which cause the next one."""

    joined: dict[str, LoggedMember] = field(default_factory=dict)
    lost: dict[str, LoggedMember] = field(default_factory=dict)
    changed: dict[str, LoggedMember] = field(default_factory=dict)
    topics_changed: bool = False
    patterns_changed: bool = False
    was_empty: bool = False
    topology_changed: bool = False
    metadata_hash: int | None = None


def split_name(record: str) -> tuple[str, str] | None:
    """Return the protocol and the rest of a record's name. Return None for records of classic groups and of commits."""
    return next(((protocol, record.removeprefix(prefix)) for prefix, protocol in PROTOCOLS.items() if record.startswith(prefix)), None)


def follow_epoch_record(
    group: LoggedGroup, changes: EpochChanges, protocol: str, kind: str, key: Mapping[str, Any], value: Mapping[str, Any] | None, at_ms: int,
    place: tuple[int, int], topic_names: dict[str, str], session_ms: int | None = None,
) -> None:  # fmt: skip
    """Record one record. `topic_names` are the known names of topic ids, and are extended. `session_ms` is the broker's session timeout of the
    protocol."""
    group.protocol, group.protocol_type = protocol, "consumer" if protocol == "consumer" else protocol
    if kind == "MemberMetadata":
        _follow_member(group, changes, key["member_id"], value, at_ms, session_ms)
    elif kind == "Metadata":
        _follow_epoch(group, changes, value, at_ms, place)
    elif kind == "PartitionMetadata":
        changes.topics_changed = True
    elif kind == "RegularExpression":
        changes.patterns_changed = True
    elif kind == "Topology":
        changes.topology_changed = True
    elif kind == "TargetAssignmentMetadata" and value is not None:
        group.assigned_epoch = value["assignment_epoch"]
        if group.rebalances and group.rebalances[-1].generation == value["assignment_epoch"]:
            group.rebalances[-1].joined_ms = group.rebalances[-1].joined_ms or at_ms
        _settle(group, at_ms)
    elif kind == "CurrentMemberAssignment" and value is not None:
        _learn_name(group, value, topic_names)
        _follow_assignment(group, key["member_id"], value, topic_names)
        _settle(group, at_ms)


def _follow_member(group: LoggedGroup, changes: EpochChanges, name: str, value: Mapping[str, Any] | None, at_ms: int, session_ms: int | None) -> None:
    before = group.members.get(name)
    if value is None:
        if before is not None:
            changes.lost[name] = before
            del group.members[name]
        changes.joined.pop(name, None)
        return
    now = LoggedMember(
        member=name, client=value["client_id"], host=value["client_host"], instance=value.get("instance_id"),
        topics=tuple(sorted(value.get("subscribed_topic_names", ()))), pattern=value.get("subscribed_topic_regex") or None,
        session_ms=session_ms, rebalance_ms=value.get("rebalance_timeout_ms"), since_ms=before.since_ms if before is not None else at_ms,
    )  # fmt: skip
    if before is None:
        changes.was_empty = changes.was_empty or not group.members
        _follow_arrival(group, changes, now, at_ms)
    else:
        now = replace(now, partitions=before.partitions, committed_ms=before.committed_ms, epoch=before.epoch, is_reconciled=before.is_reconciled)
        if (now.topics, now.pattern) != (before.topics, before.pattern):
            changes.changed[name] = now
    group.members[name] = now


def _follow_arrival(group: LoggedGroup, changes: EpochChanges, now: LoggedMember, at_ms: int) -> None:
    """Record a new member. A static member replaces its former self in one operation, with the tombstones of that just before it."""
    same = next((name for name, member in changes.lost.items() if now.instance is not None and member.instance == now.instance), None)
    if same is None:
        changes.joined[now.member] = now
        return
    old = changes.lost.pop(same)
    changes.was_empty = changes.was_empty and bool(changes.joined)
    group.restarts.append(StaticRestart(at_ms=at_ms, instance=str(now.instance), member=now.member, had_rebalance=False))
    if (now.topics, now.pattern) != (old.topics, old.pattern):
        changes.changed[now.member] = now


def _follow_assignment(group: LoggedGroup, name: str, value: Mapping[str, Any], topic_names: Mapping[str, str]) -> None:
    member = group.members.get(name)
    if member is None:
        return
    member.epoch = value["member_epoch"]
    member.is_reconciled = value["state"] == _STABLE
    member.committed_ms = last_commit_ms(group, member)
    member.partitions = tuple(_partitions(value, topic_names))
    if value["state"] == _UNREVOKED and group.rebalances:
        group.rebalances[-1].holder = member.name


def _learn_name(group: LoggedGroup, value: Mapping[str, Any], topic_names: dict[str, str]) -> None:
    """Record the name of a topic id where only one name is possible. From 4.1 on no record contains it: assignments have ids, subscriptions and
    commits have names."""
    unnamed = [entry["topic_id"] for entry in value.get("assigned_partitions", ()) if "topic_id" in entry and entry["topic_id"] not in topic_names]
    if len(unnamed) != 1 or any(member.pattern for member in group.members.values()):
        return
    left = {topic for member in group.members.values() for topic in member.topics}.difference(topic_names.values())
    if len(left) == 1:
        topic_names[unnamed[0]] = left.pop()


def _partitions(value: Mapping[str, Any], topic_names: Mapping[str, str]) -> list[TopicPartition]:
    """Return what a member owns. In a streams group, subtopologies stand for topics."""
    held = (*value.get("assigned_partitions", ()), *value.get("partitions_pending_revocation", ()), *value.get("active_tasks", ()))
    return [
        (topic_names.get(entry["topic_id"], entry["topic_id"]) if "topic_id" in entry else entry["subtopology_id"], partition)
        for entry in held
        for partition in entry["partitions"]
    ]


def _follow_epoch(group: LoggedGroup, changes: EpochChanges, value: Mapping[str, Any] | None, at_ms: int, place: tuple[int, int]) -> None:
    lost, joined = list(changes.lost.values()), list(changes.joined.values())
    group.departures += [Departure(at_ms=at_ms, member=member, was_alive=was_alive(group, member, at_ms)) for member in lost]
    if value is None:
        group.is_deleted, group.generation, group.members = True, None, {}
        _reset(changes, None)
        return
    group.is_deleted, before, group.generation = False, group.generation, value["epoch"]
    metadata_hash = value.get("metadata_hash")
    if before is not None and before == group.generation:
        return
    made = LoggedRebalance(
        group=group.group, protocol=group.protocol, number=group.next_number, at_ms=at_ms, before=before, generation=value["epoch"],
        joined=tuple(joined), lost=tuple(lost), changed=tuple(changes.changed.values()), members=len(group.members), place=place,
        missing=max(0, value["epoch"] - before - 1) if before is not None else 0,
    )  # fmt: skip
    has_new_hash = metadata_hash is not None and changes.metadata_hash is not None and metadata_hash != changes.metadata_hash
    if before is not None or group.is_whole:
        _decide(group, made, changes, have_topics_changed=has_new_hash or changes.topics_changed)
    group.rebalances.append(made)
    _reset(changes, metadata_hash)
    if not group.members:
        made.settled_ms = at_ms


def _reset(changes: EpochChanges, metadata_hash: int | None) -> None:
    changes.joined, changes.lost, changes.changed = {}, {}, {}
    changes.topics_changed = changes.patterns_changed = changes.was_empty = changes.topology_changed = False
    changes.metadata_hash = metadata_hash if metadata_hash is not None else changes.metadata_hash


def _decide(group: LoggedGroup, made: LoggedRebalance, changes: EpochChanges, *, have_topics_changed: bool) -> None:
    """Set the cause of the new epoch. Of several changes the first one counts. The cause is certain where there was only one."""
    kinds = sum(bool(changed) for changed in (made.joined, made.lost, made.changed))
    if made.joined:
        _arrival(group, made, was_empty=changes.was_empty)
        made.is_certain = kinds == 1 and not made.missing and not made.also
    elif made.lost:
        made.cause, made.member = loss_of(group, made.lost[0], made.at_ms), made.lost[0]
        made.also = tuple(cause for cause in _LOSSES if cause is not made.cause)
    elif made.changed:
        made.cause, made.member, made.is_certain = Cause.SUBSCRIPTION, made.changed[0], not made.missing
    elif changes.topology_changed:
        made.cause, made.is_certain = Cause.METADATA, not made.missing
    elif have_topics_changed or changes.patterns_changed:
        made.cause, made.is_certain = Cause.PARTITIONS, have_topics_changed and not made.missing
    else:
        made.cause, made.also = Cause.UNREPORTED, (Cause.PARTITIONS, Cause.METADATA)


def _arrival(group: LoggedGroup, made: LoggedRebalance, *, was_empty: bool) -> None:
    """Set the cause of a join. It is certainly a new member if no former member can be the same process."""
    made.member = made.joined[0]
    if was_empty:
        made.cause = Cause.FIRST_MEMBER
    elif is_return(group, made.member, made.at_ms):
        made.cause, made.also = Cause.RETURNED, (Cause.NEW_MEMBER,)
    else:
        made.cause = Cause.NEW_MEMBER
        made.also = (Cause.RETURNED,) if was_there(group, made.member, made.at_ms) else ()


def _settle(group: LoggedGroup, at_ms: int) -> None:
    """Record that every member has reached the newest epoch."""
    if (
        group.rebalances
        and group.rebalances[-1].settled_ms is None
        and group.rebalances[-1].generation == group.generation
        and group.state == "Stable"
    ):
        group.rebalances[-1].settled_ms = at_ms

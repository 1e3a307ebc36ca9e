"""Classic groups in the offsets topic: one record for each generation, and one when the group is empty. Pure.

A generation's record is written when the leader's assignment comes. The cause of a rebalance follows from the differences to the next record,
seldom for certain. Sources: Kafka's `GroupMetadataManager.storeGroup` and `GroupMetadataManager.classicGroupSync`. A record of the same generation
is a static member that came back (KIP-345). `current_state_timestamp` (value v2 on) is the end of the join phase: the group was in
CompletingRebalance when its record was made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from groupproof.harness.judging.diagnosis.causes import Cause
from groupproof.harness.judging.topic_history.group_departures import is_return, last_commit_ms, loss_of, was_alive
from groupproof.harness.judging.topic_history.group_halts import halted
from groupproof.harness.judging.topic_history.logged_groups import CLASSIC, Departure, LoggedGroup, LoggedMember, LoggedRebalance, StaticRestart
from groupproof.protocol.vocabulary import TopicPartition
from groupproof.protocol.wire.subscription import SubscriptionError, decode_assignment, decode_subscription

__all__ = ["follow_generation"]

_CONSUMER: Final = "consumer"
_LOSSES: Final = (Cause.LEFT, Cause.HEARTBEAT_TIMEOUT, Cause.POLL_INTERVAL, Cause.SYNC_TIMEOUT)
_REJOINS: Final = (Cause.LEADER_REJOINED, Cause.METADATA, Cause.PARTITIONS)
_WITHOUT_A_TRACE: Final = (Cause.LEADER_REJOINED, Cause.METADATA)


def follow_generation(
    group: LoggedGroup, value: Mapping[str, Any] | None, at_ms: int, place: tuple[int, int], *, is_gapless: bool = False
) -> None:  # fmt: skip
    """Record a GroupMetadata record; one without a value deletes the group. `is_gapless`: no record was removed from the log since the group's last
    generation."""
    if value is None:
        group.is_deleted, group.members, group.generation, group.protocol = True, {}, None, CLASSIC
        return
    members = {entry["member_id"]: _member(entry, value["protocol_type"], group, at_ms) for entry in value["members"]}
    before, was_known = group.members, group.generation is not None or group.is_deleted
    old_generation, generation = group.generation, value["generation"]
    lost = [member for name, member in before.items() if name not in members]
    joined = [member for name, member in members.items() if name not in before]
    restarted = _restarted(lost, joined)
    is_new = old_generation is None or generation != old_generation
    for old, new in restarted.items():
        group.restarts.append(StaticRestart(at_ms=at_ms, instance=str(new.instance), member=new.member, had_rebalance=is_new))
        lost = [member for member in lost if member.member != old]
        joined = [member for member in joined if member.member != new.member]
    if is_new and generation > 0:
        made = LoggedRebalance(
            group=group.group, protocol=CLASSIC, number=group.next_number, at_ms=at_ms, before=old_generation, generation=generation,
            joined=tuple(joined), lost=tuple(lost), members=len(members), place=place, joined_ms=_state_ms(value),
            missing=max(0, generation - (old_generation or 0) - 1) if was_known or group.is_whole else 0,
        )  # fmt: skip
        _decide(group, made, members, restarted, was_known=was_known)
        made.unassigned = made.missing if is_gapless else 0
        made.halted = halted(group, at_ms)
        group.rebalances.append(made)
    # KIP-429: what a member revokes in one generation is assigned in the next one.
    group.withheld = _assigned(before) - _assigned(members) if members else frozenset()
    for topic, count in _counts(_assigned(members)).items():
        group.counts[topic] = max(count, group.counts.get(topic, 0))
    group.departures += [Departure(at_ms=at_ms, member=member, was_alive=was_alive(group, member, _state_ms(value) or at_ms)) for member in lost]
    group.protocol, group.protocol_type, group.is_deleted = CLASSIC, value["protocol_type"], False
    group.assignor, group.leader, group.generation, group.members = value["protocol"], value["leader"], generation, members


def _member(entry: Mapping[str, Any], protocol_type: str, group: LoggedGroup, at_ms: int) -> LoggedMember:
    subscription, assignment = bytes(entry["subscription"]), bytes(entry["assignment"])
    topics, partitions = _blobs(subscription, assignment) if protocol_type in (_CONSUMER, "") else ((), ())
    before = group.members.get(entry["member_id"])
    return LoggedMember(
        member=entry["member_id"], client=entry["client_id"], host=entry["client_host"], instance=entry["group_instance_id"], topics=topics,
        partitions=partitions, session_ms=entry["session_timeout"], rebalance_ms=entry["rebalance_timeout"] if entry["rebalance_timeout"] >= 0 else None,
        metadata=subscription, since_ms=before.since_ms if before is not None else at_ms,
        committed_ms=last_commit_ms(group, before) if before is not None else None,
    )  # fmt: skip


@lru_cache(maxsize=16_384)
def _blobs(subscription: bytes, assignment: bytes) -> tuple[tuple[str, ...], tuple[TopicPartition, ...]]:
    """Return the topics and partitions of a consumer. The kit does not read the blobs of other kinds of members."""
    try:
        return tuple(sorted(decode_subscription(subscription).topics)), decode_assignment(assignment).partitions
    except SubscriptionError:
        return (), ()


def _state_ms(value: Mapping[str, Any]) -> int | None:
    """Return when (ms) the state of the record began, if its version contains that."""
    return value["current_state_timestamp"] if value["current_state_timestamp"] >= 0 else None


def _restarted(lost: list[LoggedMember], joined: list[LoggedMember]) -> dict[str, LoggedMember]:
    """Return the static members that have a new member id, by their old one."""
    old = {member.instance: member.member for member in lost if member.instance is not None}
    return {old[member.instance]: member for member in joined if member.instance in old}


# The cause


def _decide(
    group: LoggedGroup, made: LoggedRebalance, members: Mapping[str, LoggedMember], restarted: Mapping[str, LoggedMember], *, was_known: bool
) -> None:
    """Set the cause of the rebalance. It is certain only if no other event could leave this record: the first member in an empty group."""
    if not was_known and not group.is_whole:
        made.cause = Cause.UNREPORTED
    elif not members:
        _loss(group, made)
    elif not group.members:
        made.cause, made.is_certain, made.member = Cause.FIRST_MEMBER, not made.missing, made.joined[0] if len(made.joined) == 1 else None
    elif made.lost and made.joined:
        _exchange(group, made)
    elif made.lost:
        _loss(group, made)
    elif made.joined:
        _arrival(group, made)
    else:
        _rejoin(group, made, members, restarted)


def _arrival(group: LoggedGroup, made: LoggedRebalance) -> None:
    made.member = made.joined[0]
    returned = [member for member in made.joined if is_return(group, member, made.at_ms)]
    made.cause = Cause.RETURNED if returned else Cause.NEW_MEMBER
    made.member = (returned or made.joined)[0]
    made.also = _REJOINS


def _loss(group: LoggedGroup, made: LoggedRebalance) -> None:
    """Set which member was lost. Members that came and left before any assignment leave no record."""
    if not made.lost:
        made.cause, made.also = Cause.HEARTBEAT_TIMEOUT, (*_LOSSES, Cause.FIRST_MEMBER)
        return
    made.member = made.lost[0]
    made.cause = loss_of(group, made.member, made.joined_ms or made.at_ms)
    made.also = tuple(cause for cause in (*_LOSSES, *_REJOINS) if cause is not made.cause)


def _exchange(group: LoggedGroup, made: LoggedRebalance) -> None:
    """Set the cause where members left and others joined within one rebalance, in an unknown order. The group waits for a crashed member until its
    session ends."""
    if loss_of(group, made.lost[0], made.joined_ms or made.at_ms) is not Cause.LEFT:
        _arrival(group, made)
        made.cause = Cause.RETURNED if {member.identity for member in made.lost} & {member.identity for member in made.joined} else made.cause
        made.also = (*_LOSSES, *_REJOINS)
    else:
        _loss(group, made)
        made.also = (*made.also, Cause.NEW_MEMBER, Cause.RETURNED)


def _rejoin(group: LoggedGroup, made: LoggedRebalance, members: Mapping[str, LoggedMember], restarted: Mapping[str, LoggedMember]) -> None:
    """Set the cause where a group has the same members as before: one of them rejoined."""
    changed = [member for name, member in members.items() if name in group.members and member.topics != group.members[name].topics]
    if changed:
        made.cause, made.member, made.changed, made.also = Cause.SUBSCRIPTION, changed[0], tuple(changed), _WITHOUT_A_TRACE
    elif restarted:
        made.cause, made.member, made.also = Cause.STATIC_REPLACED, next(iter(restarted.values())), _REJOINS
    elif (now := _assigned(members)) & group.withheld:
        made.cause, made.also = Cause.HANDOVER, _REJOINS
    elif any(count > group.counts.get(topic, count) for topic, count in _counts(now).items()):
        made.cause, made.member, made.also = Cause.PARTITIONS, members.get(group.leader or ""), _WITHOUT_A_TRACE
    else:
        made.cause, made.member, made.also = Cause.LEADER_REJOINED, members.get(group.leader or ""), (Cause.METADATA, Cause.PARTITIONS)


def _assigned(members: Mapping[str, LoggedMember]) -> frozenset[TopicPartition]:
    return frozenset(partition for member in members.values() for partition in member.partitions)


def _counts(partitions: Iterable[TopicPartition]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for topic, partition in partitions:
        counts[topic] = max(counts.get(topic, 0), partition + 1)
    return counts

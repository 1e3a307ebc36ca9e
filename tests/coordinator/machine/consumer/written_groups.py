"""Consumer groups, and the records that Kafka keeps of them: one for each key, through bytes and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hypothesis import strategies as st

from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
from groupproof.coordinator.machine.consumer.consumer_members import ClassicSide, ConsumerMember, MemberProgress
from groupproof.coordinator.machine.consumer.group_records import STATE_CODES
from groupproof.coordinator.machine.topics_image import TopicImage, TopicsImage
from groupproof.protocol.wire.coordinator_records import CoordinatorRecord, decode_record, encode_record
from groupproof.protocol.wire.messages import JoinProtocol

__all__ = ["GROUP", "NOW_MS", "TOPICS", "current", "decoded", "groups", "records_of", "shared_group"]

GROUP = "g"
NOW_MS = 5_000
_T, _U = "00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000b"
TOPICS = TopicsImage({"t": TopicImage(_T, 4), "u": TopicImage(_U, 3)}, version=7)
_REGEX = "t.*"


def decoded(name: str, key: Mapping[str, Any], value: Mapping[str, Any] | None) -> CoordinatorRecord:
    """Return a record as it is read from a log."""
    return decode_record(*encode_record(name, key, value))


def records_of(group: ConsumerGroup) -> Iterator[CoordinatorRecord]:
    """Yield the records that leave the group."""
    own = {"group_id": group.group_id}
    yield decoded("ConsumerGroupMetadata", own, {"epoch": group.generation})
    timestamp = 1_700_000_000_000 if group.assigned_ms is not None else 0
    yield decoded("ConsumerGroupTargetAssignmentMetadata", own, {"assignment_epoch": group.assignment_epoch, "assignment_timestamp": timestamp})
    for member_id, share in group.target.items():
        yield decoded("ConsumerGroupTargetAssignmentMember", {**own, "member_id": member_id}, {"topic_partitions": _topics(share)})
    for member in group.members.values():
        key = {**own, "member_id": member.member_id}
        yield decoded("ConsumerGroupMemberMetadata", key, _metadata(member))
        yield decoded("ConsumerGroupCurrentMemberAssignment", key, _assignment(member))
    for regex, topics in group.topics_of_regex.items():
        value = {"topics": tuple(sorted(topics)), "version": 1, "timestamp": 1_700_000_000_000}
        yield decoded("ConsumerGroupRegularExpression", {**own, "regular_expression": regex}, value)


def _metadata(member: ConsumerMember) -> dict[str, Any]:
    classic = member.classic and {
        "session_timeout_ms": member.classic.session_timeout_ms,
        "supported_protocols": tuple({"name": protocol.name, "metadata": protocol.metadata} for protocol in member.classic.protocols),
    }
    return {
        "instance_id": member.instance_id, "rack_id": member.rack_id, "client_id": member.client_id, "client_host": member.client_host,
        "subscribed_topic_names": tuple(sorted(member.names)), "subscribed_topic_regex": member.regex or None,
        "rebalance_timeout_ms": member.rebalance_timeout_ms, "server_assignor": member.assignor, "classic_member_metadata": classic,
    }  # fmt: skip


def _assignment(member: ConsumerMember) -> dict[str, Any]:
    return {
        "member_epoch": member.epoch, "previous_member_epoch": member.previous_epoch, "state": STATE_CODES[member.progress],
        "assigned_partitions": _topics(member.assigned), "partitions_pending_revocation": _topics(member.pending),
    }  # fmt: skip


def _topics(partitions: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    def entry(topic_id: str, indexes: Any) -> dict[str, Any]:
        epochs = {"assignment_epochs": tuple(indexes.values())} if isinstance(indexes, dict) else {}
        return {"topic_id": topic_id, "partitions": tuple(indexes), **epochs}

    return tuple(entry(topic_id, indexes) for topic_id, indexes in partitions.items())


def current(*, epoch: int, state: int) -> dict[str, Any]:
    assigned = ({"topic_id": _T, "partitions": (0, 1)},)
    return {"member_epoch": epoch, "previous_member_epoch": 1, "state": state, "assigned_partitions": assigned, "partitions_pending_revocation": ()}


def shared_group(*, state: int) -> list[CoordinatorRecord]:
    """Return the records of a group at epoch 2 whose only member, A, has two of its four partitions and is to have all."""
    metadata = {
        "instance_id": None, "rack_id": None, "client_id": "c", "client_host": "/h", "subscribed_topic_names": ("t",), "subscribed_topic_regex": None,
        "rebalance_timeout_ms": 60_000, "server_assignor": None,
    }  # fmt: skip
    own = {"group_id": GROUP}
    member = {**own, "member_id": "A"}
    share = ({"topic_id": _T, "partitions": (0, 1, 2, 3)},)
    return [
        decoded("ConsumerGroupMetadata", own, {"epoch": 2}), decoded("ConsumerGroupMemberMetadata", member, metadata), decoded("ConsumerGroupTargetAssignmentMetadata", own, {"assignment_epoch": 2}),
        decoded("ConsumerGroupTargetAssignmentMember", member, {"topic_partitions": share}), decoded("ConsumerGroupCurrentMemberAssignment", member, current(epoch=2, state=state)),
    ]  # fmt: skip


# Drawn groups


@st.composite
def groups(draw: st.DrawFn) -> ConsumerGroup:
    """Draw a group, as it is once it is loaded: no two members have the same partition."""
    generation = draw(st.integers(0, 5))
    group = ConsumerGroup(
        group_id=GROUP, since_ms=NOW_MS, generation=generation, assignment_epoch=draw(st.integers(0, generation)),
        assigned_ms=draw(st.sampled_from([None, NOW_MS])),
    )  # fmt: skip
    free = draw(st.permutations([(topic.topic_id, index) for topic in TOPICS.by_name.values() for index in range(topic.partitions)]))
    for number in range(draw(st.integers(0, 4))):
        member = draw(_members(f"m{number}", [free.pop() for _ in range(draw(st.integers(0, min(2, len(free)))))]))
        group.add(member)
        group.claim(member)
        if draw(st.booleans()):
            group.target[member.member_id] = {draw(st.sampled_from([_T, _U])): tuple(sorted(draw(st.sets(st.integers(0, 2)))))}
    if draw(st.booleans()):
        group.topics_of_regex = {_REGEX: frozenset({"t"})}
        group.resolved_ms, group.resolved_version = NOW_MS, TOPICS.version
    group.note_all_progress()
    group.look_at(TOPICS)
    group.state = group.inferred_state()
    return group


@st.composite
def _members(draw: st.DrawFn, member_id: str, partitions: list[tuple[str, int]]) -> ConsumerMember:
    epoch = draw(st.integers(-2, 5))
    split = draw(st.integers(0, len(partitions)))
    assigned, pending = (
        {topic_id: {index: draw(st.integers(0, 5)) for named, index in some if named == topic_id} for topic_id, _ in some}
        for some in (partitions[:split], partitions[split:])
    )
    progress = draw(st.sampled_from(MemberProgress))
    protocols = (JoinProtocol(name="range", metadata=b"\0\1"),)
    return ConsumerMember(
        member_id=member_id, instance_id=draw(st.sampled_from([None, f"i-{member_id}"])), rack_id=draw(st.sampled_from([None, "r"])), client_id="c", client_host="/h",
        rebalance_timeout_ms=60_000, assignor=draw(st.sampled_from([None, "range", "uniform"])), names=draw(st.frozensets(st.sampled_from(["t", "u"]))),
        regex=draw(st.sampled_from(["", _REGEX])), epoch=epoch, previous_epoch=draw(st.integers(-1, 5)), progress=progress, assigned=assigned, pending=pending,
        ordered_at=epoch if progress is MemberProgress.UNREVOKED_PARTITIONS else None,
        classic=draw(st.sampled_from([None, ClassicSide(session_timeout_ms=10_000, protocols=protocols)])),
    )  # fmt: skip

"""Builds a consumer group from its records in `__consumer_offsets`. Pure.

Source: Kafka's `GroupMetadataManager.replay` and `getOrMaybeCreatePersistedConsumerGroup`. Only the newest record of a key counts, so compacted
records are not missed. Records of different keys may come in any order, and a tombstone of an unknown key is ignored (CGL-14, KAFKA-19862).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup, Share
from groupproof.coordinator.machine.consumer.consumer_members import Assigned, ClassicSide, ConsumerMember, MemberProgress
from groupproof.protocol.wire.messages import JoinProtocol

if TYPE_CHECKING:
    from groupproof.coordinator.machine.topics_image import TopicsImage
    from groupproof.protocol.wire.coordinator_records import CoordinatorRecord

__all__ = ["STATE_CODES", "GroupRecords"]

STATE_CODES: Final[Mapping[MemberProgress, int]] = {
    MemberProgress.STABLE: 0, MemberProgress.UNREVOKED_PARTITIONS: 1, MemberProgress.UNRELEASED_PARTITIONS: 2, MemberProgress.UNKNOWN: 127,
}  # fmt: skip
"""Kafka's `MemberState`."""

_PROGRESS: Final = {code: progress for progress, code in STATE_CODES.items()}

_EPOCH: Final = "ConsumerGroupMetadata"
_TOPICS: Final = "ConsumerGroupPartitionMetadata"
_MEMBER: Final = "ConsumerGroupMemberMetadata"
_TARGET_EPOCH: Final = "ConsumerGroupTargetAssignmentMetadata"
_TARGET: Final = "ConsumerGroupTargetAssignmentMember"
_CURRENT: Final = "ConsumerGroupCurrentMemberAssignment"
_REGEX: Final = "ConsumerGroupRegularExpression"

_NAMES: Final = (_EPOCH, _TOPICS, _MEMBER, _TARGET_EPOCH, _TARGET, _CURRENT, _REGEX)

_PARTITIONS: Final = ("assigned_partitions", "partitions_pending_revocation", "topic_partitions")

_Value = Mapping[str, Any]


@dataclass(slots=True)
class GroupRecords:
    """The newest values of one group by record name. Inner keys are the member id or the expression, or "" for the group's own records."""

    group_id: str
    _values: dict[str, dict[str, _Value]] = field(default_factory=lambda: {name: {} for name in _NAMES})

    def __bool__(self) -> bool:
        """Return whether the records leave a group."""
        return any(self._values.values())

    @staticmethod
    def takes(record: CoordinatorRecord) -> bool:
        """Return whether the record belongs to a consumer group."""
        return record.name in _NAMES

    def take(self, record: CoordinatorRecord) -> None:
        """Process the next record of the group."""
        values = self._values[record.name]
        name = record.key.get("member_id", record.key.get("regular_expression", ""))
        if record.value is None:
            values.pop(name, None)
        else:
            values[name] = record.value

    def group(self, topics: TopicsImage, now_ms: int) -> ConsumerGroup:
        """Return the group as a coordinator loads it at `now_ms`, the start of its times.

        `topics` are the topics at the group's last look-up. Without its own record the group has epoch 0, as in Kafka, but never less than its
        target's epoch.
        """
        assignment = self._own(_TARGET_EPOCH)
        assignment_epoch = assignment.get("assignment_epoch", 0)
        group = ConsumerGroup(
            group_id=self.group_id, since_ms=now_ms, generation=max(self._own(_EPOCH).get("epoch", 0), assignment_epoch),
            assignment_epoch=assignment_epoch, assigned_ms=now_ms if assignment.get("assignment_timestamp") else None,
        )  # fmt: skip
        for member in self._members():
            group.add(member)
            group.claim(member)
        group.target = {member_id: _share(value["topic_partitions"]) for member_id, value in self._values[_TARGET].items()}
        group.topics_of_regex = {regex: frozenset(value["topics"]) for regex, value in self._values[_REGEX].items()}
        if group.topics_of_regex:
            group.resolved_ms, group.resolved_version = now_ms, topics.version
        group.note_all_progress()
        group.look_at(topics)
        group.state = group.inferred_state()
        return group

    def topic_ids(self) -> Iterator[tuple[str, frozenset[str]]]:
        """Yield each topic id that a member owns or is assigned, with the names that it may have: the member's subscribed names."""
        for member in self._members():
            names = member.names | frozenset(self._values[_REGEX].get(member.regex, {}).get("topics", ()))
            target = self._values[_TARGET].get(member.member_id, {}).get("topic_partitions", ())
            for topic_id in {*member.assigned, *member.pending, *_share(target)}:
                yield topic_id, names

    def named_topics(self) -> Iterator[tuple[str, str]]:
        """Yield name and id of each topic in the group's own record. Groups of 4.0 have one."""
        return ((topic["topic_name"], str(topic["topic_id"])) for topic in self._own(_TOPICS).get("topics", ()))

    def partitions(self) -> Iterator[tuple[str, int]]:
        """Yield topic id and index of every partition in the records."""
        for values in (*self._values[_CURRENT].values(), *self._values[_TARGET].values()):
            for part in (part for column in _PARTITIONS for part in values.get(column, ())):
                yield from ((str(part["topic_id"]), index) for index in part["partitions"])

    def subscribed_names(self) -> frozenset[str]:
        """Return the names that members subscribe to or that their expressions matched."""
        of_members = (value["subscribed_topic_names"] for value in self._values[_MEMBER].values())
        return frozenset[str]().union(*of_members, *(value["topics"] for value in self._values[_REGEX].values()))

    def _own(self, name: str) -> _Value:
        return self._values[name].get("", {})

    def _members(self) -> Iterator[ConsumerMember]:
        """Yield the members. A member exists as soon as any record mentions it (`getOrMaybeCreateMember`)."""
        metadata, current = self._values[_MEMBER], self._values[_CURRENT]
        return (_member(member_id, metadata.get(member_id, {}), current.get(member_id, {})) for member_id in {**metadata, **current})


def _member(member_id: str, metadata: _Value, current: _Value) -> ConsumerMember:
    epoch, progress = current.get("member_epoch", 0), _PROGRESS.get(current.get("state", 0), MemberProgress.UNKNOWN)
    return ConsumerMember(
        member_id=member_id, instance_id=metadata.get("instance_id"), rack_id=metadata.get("rack_id"), client_id=metadata.get("client_id", ""),
        client_host=metadata.get("client_host", ""), rebalance_timeout_ms=metadata.get("rebalance_timeout_ms", -1), assignor=metadata.get("server_assignor") or None,
        names=frozenset(metadata.get("subscribed_topic_names", ())), regex=metadata.get("subscribed_topic_regex") or "", epoch=epoch,
        previous_epoch=current.get("previous_member_epoch", -1), progress=progress, assigned=_assigned(current.get("assigned_partitions", ()), epoch),
        pending=_assigned(current.get("partitions_pending_revocation", ()), epoch),
        ordered_at=epoch if progress is MemberProgress.UNREVOKED_PARTITIONS else None, classic=_classic_side(metadata.get("classic_member_metadata")),
    )  # fmt: skip


def _classic_side(value: _Value | None) -> ClassicSide | None:
    if value is None:
        return None
    protocols = tuple(JoinProtocol(name=entry["name"], metadata=bytes(entry["metadata"])) for entry in value["supported_protocols"])
    return ClassicSide(session_timeout_ms=value["session_timeout_ms"], protocols=protocols)


def _assigned(topics: Sequence[_Value], epoch: int) -> Assigned:
    """Return the partitions with their assignment epochs. Releases before KIP-1251 store none, and the member's epoch applies."""
    return {
        str(topic["topic_id"]): dict(zip(topic["partitions"], topic.get("assignment_epochs") or [epoch] * len(topic["partitions"]), strict=True))
        for topic in topics
    }


def _share(topics: Sequence[_Value]) -> Share:
    return {str(topic["topic_id"]): tuple(topic["partitions"]) for topic in topics}

"""Builds loadable groups of both protocols and their committed offsets from the records of `__consumer_offsets` (CGL-01, EMIG-03). Pure.

Source: Kafka's `GroupMetadataManager.replay`, `OffsetMetadataManager.replay` and `replayEndTransactionMarker`. Times come from another clock, so a
load replaces them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from groupproof.coordinator.machine.consumer.consumer_group import StoredConsumerGroup
from groupproof.coordinator.machine.consumer.group_records import GroupRecords
from groupproof.coordinator.machine.members import topics_of
from groupproof.coordinator.machine.offsets import Offsets
from groupproof.coordinator.machine.recorded_topics import RecordedTopic, matched_ids
from groupproof.coordinator.machine.storage import StoredGroup, StoredGroups, StoredMember, StoredOffsets, partition_of
from groupproof.protocol.wire.coordinator_records import OFFSET_COMMIT
from groupproof.protocol.wire.messages import CommitPartition
from groupproof.protocol.wire.subscription import SubscriptionError, decode_assignment

if TYPE_CHECKING:
    from groupproof.coordinator.machine.topics_image import TopicsImage
    from groupproof.protocol.vocabulary import TopicPartition
    from groupproof.protocol.wire.coordinator_records import CoordinatorRecord

__all__ = ["TopicRecords"]

_CLASSIC: Final = "GroupMetadata"
_NO_TRANSACTION: Final = -1


@dataclass(slots=True)
class TopicRecords:
    """The newest values of all groups. `left_out` counts, by record name, the records of groups that the coordinator does not support."""

    left_out: dict[str, int] = field(default_factory=dict)
    _classic: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    _consumer: dict[str, GroupRecords] = field(default_factory=dict)
    _offsets: dict[str, Offsets] = field(default_factory=dict)
    _committers: dict[tuple[int, int], set[str]] = field(default_factory=dict)
    """The groups for which a transaction has commits, by log partition and producer id."""
    _ids: dict[str, str] = field(default_factory=dict)

    # Reading

    def take(self, partition: int, record: CoordinatorRecord, producer_id: int = _NO_TRANSACTION) -> None:
        """Process the next record of a log partition. A record of a transaction comes with its producer id."""
        if record.name == OFFSET_COMMIT:
            self._take_commit(partition, record, producer_id)
        elif record.name == _CLASSIC:
            group_id = record.key["group"]
            if record.value is None:
                self._classic.pop(group_id, None)
            else:
                self._classic[group_id] = record.value
        elif GroupRecords.takes(record):
            group_id = record.key["group_id"]
            self._consumer.setdefault(group_id, GroupRecords(group_id)).take(record)
        else:
            self.left_out[record.name] = self.left_out.get(record.name, 0) + 1

    def end_transaction(self, partition: int, producer_id: int, *, is_committed: bool) -> None:
        """Process the marker that ends a transaction in a log partition."""
        for group_id in self._committers.pop((partition, producer_id), ()):
            offsets = self._offsets[group_id]
            if is_committed:
                offsets.materialise(producer_id)
            else:
                offsets.drop_pending(producer_id)

    def _take_commit(self, partition: int, record: CoordinatorRecord, producer_id: int) -> None:
        group_id, topic, index, value = record.key["group"], record.key["topic"], record.key["partition"], record.value
        offsets = self._offsets.setdefault(group_id, Offsets())
        if value is None:
            offsets.delete(topic, index)
            return
        if value["topic_id"] is not None:
            self._ids[str(value["topic_id"])] = topic
        commit = CommitPartition(
            partition_index=index,
            committed_offset=value["offset"],
            committed_leader_epoch=value["leader_epoch"],
            committed_metadata=value["metadata"],
        )
        if producer_id == _NO_TRANSACTION:
            offsets.commit(topic, commit, 0)
        else:
            offsets.commit_pending(producer_id, topic, commit, 0)
            self._committers.setdefault((partition, producer_id), set()).add(group_id)

    # Content

    @property
    def classic_groups(self) -> tuple[str, ...]:
        """Return the ids of the classic groups. A group with records of both kinds was converted, and its classic tombstone is lost."""
        return tuple(group_id for group_id in self._classic if not self._consumer.get(group_id))

    @property
    def consumer_groups(self) -> tuple[str, ...]:
        return tuple(group_id for group_id, records in self._consumer.items() if records)

    @property
    def commits(self) -> int:
        """Return the number of partitions with a committed offset, counted for each group."""
        return sum(len(offsets.by_partition) for offsets in self._offsets.values())

    def topics(self) -> list[RecordedTopic]:
        """Return the topics that the groups subscribe to, own or have committed offsets for, by name."""
        records = [self._consumer[group_id] for group_id in self.consumer_groups]
        own = {topic_id: name for group in records for name, topic_id in group.named_topics()}
        names = matched_ids((pair for group in records for pair in group.topic_ids()), {**own, **self._ids})
        commits = self._commits()
        counts = dict.fromkeys([*names.values(), *(name for group in records for name in group.subscribed_names())], 1)
        owned = [(names[topic_id], index) for group in records for topic_id, index in group.partitions() if topic_id in names]
        for name, index in (*owned, *self._classic_partitions(), *((name, index) for name, found in commits.items() for index in found)):
            counts[name] = max(counts.get(name, 1), index + 1)
        ids = {name: topic_id for topic_id, name in names.items()}
        return [RecordedTopic(name, ids.get(name), counts[name], commits.get(name, {})) for name in sorted(counts)]

    def _commits(self) -> dict[str, dict[int, tuple[int, int]]]:
        found: dict[str, dict[int, tuple[int, int]]] = {}
        for offsets in self._offsets.values():
            for committed in (offsets.by_partition, *offsets.pending.values()):
                for (topic, index), commit in committed.items():
                    lowest, highest = found.setdefault(topic, {}).get(index, (commit.offset, commit.offset))
                    found[topic][index] = min(lowest, commit.offset), max(highest, commit.offset)
        return found

    def _classic_partitions(self) -> Iterator[TopicPartition]:
        """Yield the partitions that classic members own, and the first partition of each topic that they subscribe to."""
        for member in (member for group_id in self.classic_groups for member in self._classic[group_id]["members"]):
            yield from ((name, 0) for name in topics_of(bytes(member["subscription"])) or ())
            yield from _owned(bytes(member["assignment"]))

    # Loading

    def stored(self, topics: TopicsImage, partitions: int, now_ms: int) -> dict[int, StoredGroups]:
        """Return the records to load at `now_ms`, by partition of an offsets topic with `partitions` partitions. `topics` are the existing topics."""
        groups: dict[int, list[Any]] = {}
        for group_id in self.classic_groups:
            groups.setdefault(partition_of(group_id, partitions), []).append(_stored_group(group_id, self._classic[group_id], now_ms))
        for group_id in self.consumer_groups:
            stored = StoredConsumerGroup(self._consumer[group_id].group(topics, now_ms))
            groups.setdefault(partition_of(group_id, partitions), []).append(stored)
        commits: dict[int, list[StoredOffsets]] = {}
        for group_id, offsets in self._offsets.items():
            if offsets:
                commits.setdefault(partition_of(group_id, partitions), []).append(StoredOffsets.of(group_id, offsets))
        return {
            partition: StoredGroups(
                groups=tuple(groups.get(partition, ())), offsets=tuple(commits.get(partition, ())), transactions=self._open_in(partition, partitions)
            )
            for partition in sorted({*groups, *commits})
        }

    def _open_in(self, partition: int, partitions: int) -> frozenset[int]:
        """Return the producers whose transactions are still open in the partition."""
        open_ = ((producer_id, group_id) for (_, producer_id), names in self._committers.items() for group_id in names)
        return frozenset(producer_id for producer_id, group_id in open_ if partition_of(group_id, partitions) == partition)


def _owned(assignment: bytes) -> tuple[TopicPartition, ...]:
    try:
        return decode_assignment(assignment).partitions if assignment else ()
    except SubscriptionError:
        return ()


def _stored_group(group_id: str, value: Mapping[str, Any], now_ms: int) -> StoredGroup:
    return StoredGroup(
        group_id=group_id, generation=value["generation"], protocol_type=value["protocol_type"] or None, protocol_name=value["protocol"], leader=value["leader"],
        since_ms=now_ms, members=tuple(_stored_member(member) for member in value["members"]),
    )  # fmt: skip


def _stored_member(member: Mapping[str, Any]) -> StoredMember:
    rebalance_timeout_ms = member["rebalance_timeout"]
    return StoredMember(
        member["member_id"], member["group_instance_id"], member["client_id"], member["client_host"], member["session_timeout"],
        member["session_timeout"] if rebalance_timeout_ms == -1 else rebalance_timeout_ms,  # version 0 has none
        bytes(member["subscription"]), bytes(member["assignment"]),
    )  # fmt: skip

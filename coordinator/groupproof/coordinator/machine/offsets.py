"""Committed offsets of the groups of one partition: stored, or pending until their transaction ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.messages import FetchedPartition, FetchedTopic, FetchTopic

if TYPE_CHECKING:
    from groupproof.protocol.vocabulary import TopicPartition
    from groupproof.protocol.wire.messages import CommitPartition

__all__ = ["CommittedOffset", "Offsets"]

"""Topic and partition."""


class CommittedOffset(NamedTuple):
    """One committed offset. `at_ms` is its commit time; `expires_ms` is its expiry where the commit sets one (OffsetCommit v2 to v4).

    `record` is its position among the group's records. Of two commits the later record wins, no matter when its transaction ends.
    """

    offset: int
    leader_epoch: int
    metadata: str
    at_ms: int
    expires_ms: int | None = None
    record: int = 0


@dataclass(slots=True)
class Offsets:
    """The offsets of one group: committed ones by topic and partition, in the order of first commit, and pending ones by producer id."""

    by_partition: dict[TopicPartition, CommittedOffset] = field(default_factory=dict)
    pending: dict[int, dict[TopicPartition, CommittedOffset]] = field(default_factory=dict)
    records: int = 0

    def __bool__(self) -> bool:
        return bool(self.by_partition or self.pending)

    def commit(self, topic: str, partition: CommitPartition, now_ms: int, *, expires_ms: int | None = None) -> None:
        self.by_partition[topic, partition.partition_index] = self._committed(partition, now_ms, expires_ms)

    def commit_pending(self, producer_id: int, topic: str, partition: CommitPartition, now_ms: int) -> None:
        """Hold an offset until the producer's transaction ends (KIP-98)."""
        self.pending.setdefault(producer_id, {})[topic, partition.partition_index] = self._committed(partition, now_ms, None)

    def materialise(self, producer_id: int, *, over_later: bool = False) -> None:
        """Commit the producer's pending offsets. A later commit that is already stored stays (KAFKA-5033), unless `over_later`."""
        for key, committed in self.pending.pop(producer_id, {}).items():
            stored = self.by_partition.get(key)
            if stored is None or over_later or stored.record < committed.record:
                self.by_partition[key] = committed

    def drop_pending(self, producer_id: int) -> None:
        self.pending.pop(producer_id, None)

    def delete(self, topic: str, index: int) -> None:
        """Remove the stored and pending offsets of a partition. The transactions stay open."""
        self.by_partition.pop((topic, index), None)
        for pending in self.pending.values():
            pending.pop((topic, index), None)

    def is_pending(self, topic: str, index: int) -> bool:
        return any((topic, index) in pending for pending in self.pending.values())

    def fetch(self, topics: tuple[FetchTopic, ...] | None, *, require_stable: bool = False) -> tuple[FetchedTopic, ...]:
        """Return the committed offsets of `topics`, or all where `topics` is None. A partition without one has -1 (FETCH-05).

        With `require_stable` a partition with a pending offset has error 88 instead (KIP-447).
        """
        asked = self._everything() if topics is None else topics
        return tuple(
            FetchedTopic(
                name=topic.name,
                partitions=tuple(self._fetched(topic.name, index, require_stable=require_stable) for index in topic.partition_indexes),
            )
            for topic in asked
        )

    def _committed(self, partition: CommitPartition, now_ms: int, expires_ms: int | None) -> CommittedOffset:
        self.records += 1
        metadata = partition.committed_metadata or ""
        return CommittedOffset(partition.committed_offset, partition.committed_leader_epoch, metadata, now_ms, expires_ms, self.records)

    def _everything(self) -> Iterator[FetchTopic]:
        partitions: dict[str, list[int]] = {}
        for topic, index in self.by_partition:
            partitions.setdefault(topic, []).append(index)
        return (FetchTopic(name=topic, partition_indexes=tuple(indexes)) for topic, indexes in partitions.items())

    def _fetched(self, topic: str, index: int, *, require_stable: bool) -> FetchedPartition:
        if require_stable and self.is_pending(topic, index):
            return FetchedPartition(partition_index=index, error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT)
        committed = self.by_partition.get((topic, index))
        if committed is None:
            return FetchedPartition(partition_index=index)
        return FetchedPartition(
            partition_index=index,
            committed_offset=committed.offset,
            committed_leader_epoch=committed.leader_epoch,
            metadata=committed.metadata,
        )

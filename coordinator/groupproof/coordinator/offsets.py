"""Committed offsets of the groups of one partition, and when they expire."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from groupproof.protocol.messages import CommitPartition, FetchedPartition, FetchedTopic, FetchTopic

__all__ = ["Committed", "Offsets"]

_Key = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """One committed offset; `at_ms` is when it was committed."""

    offset: int
    leader_epoch: int
    metadata: str
    at_ms: int


@dataclass(slots=True)
class Offsets:
    """The committed offsets of one group, by topic and partition, in the order of their first commit."""

    by_partition: dict[_Key, Committed] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.by_partition)

    def commit(self, topic: str, partition: CommitPartition, now_ms: int) -> None:
        self.by_partition[topic, partition.partition_index] = Committed(
            offset=partition.committed_offset,
            leader_epoch=partition.committed_leader_epoch,
            metadata=partition.committed_metadata or "",
            at_ms=now_ms,
        )

    def fetch(self, topics: tuple[FetchTopic, ...] | None) -> tuple[FetchedTopic, ...]:
        """Return the committed offsets of `topics`, -1 where there is none (FETCH-05); of everything committed when `topics` is None."""
        asked = self._everything() if topics is None else topics
        return tuple(
            FetchedTopic(name=topic.name, partitions=tuple(self._fetched(topic.name, index) for index in topic.partition_indexes)) for topic in asked
        )

    def expire(self, cutoff_ms: int) -> None:
        """Remove what was committed at or before `cutoff_ms`."""
        for key in [key for key, committed in self.by_partition.items() if committed.at_ms <= cutoff_ms]:
            del self.by_partition[key]

    def _everything(self) -> Iterator[FetchTopic]:
        partitions: dict[str, list[int]] = {}
        for topic, index in self.by_partition:
            partitions.setdefault(topic, []).append(index)
        return (FetchTopic(name=topic, partition_indexes=tuple(indexes)) for topic, indexes in partitions.items())

    def _fetched(self, topic: str, index: int) -> FetchedPartition:
        committed = self.by_partition.get((topic, index))
        if committed is None:
            return FetchedPartition(partition_index=index)
        return FetchedPartition(
            partition_index=index,
            committed_offset=committed.offset,
            committed_leader_epoch=committed.leader_epoch,
            metadata=committed.metadata,
        )

"""An assignor's input and result: the members of a generation, the cluster, and each member's partitions. Pure data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["Assignment", "Assignor", "Cluster", "GroupMember"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMember:
    """One member in the JoinGroup answer to the leader. It claims `owned` and `generation` (-1: none) itself."""

    member_id: str
    topics: tuple[str, ...]
    instance_id: str | None = None
    owned: tuple[TopicPartition, ...] = ()
    generation: int = -1
    rack: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The topics: partition counts (0: the topic does not exist), racks of each partition's replicas where known, and names by topic id."""

    partitions: Mapping[str, int] = field(default_factory=dict)
    replica_racks: Mapping[str, Sequence[frozenset[str]]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    def racks_of(self, topic: str, partition: int) -> frozenset[str]:
        racks = self.replica_racks.get(topic, ())
        return racks[partition] if partition < len(racks) else frozenset()


Assignment = dict[str, list[TopicPartition]]
Assignor = Callable[[Sequence[GroupMember], Cluster], Assignment]

"""What an assignor sees and says: the members of a generation, the cluster, and who gets which partition. Pure data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["Assignment", "Assignor", "Cluster", "GroupMember"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMember:
    """One member as the leader sees it in the JoinGroup answer; `owned` and `generation` (-1: none) are its own claims."""

    member_id: str
    topics: tuple[str, ...]
    instance_id: str | None = None
    owned: tuple[TopicPartition, ...] = ()
    generation: int = -1
    rack: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """How many partitions each topic has (0: it does not exist), the racks of each partition's replicas where they are known, and the names of topics by their ids."""

    partitions: Mapping[str, int] = field(default_factory=dict)
    replica_racks: Mapping[str, Sequence[frozenset[str]]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    def racks_of(self, topic: str, partition: int) -> frozenset[str]:
        racks = self.replica_racks.get(topic, ())
        return racks[partition] if partition < len(racks) else frozenset()


Assignment = dict[str, list[TopicPartition]]
Assignor = Callable[[Sequence[GroupMember], Cluster], Assignment]

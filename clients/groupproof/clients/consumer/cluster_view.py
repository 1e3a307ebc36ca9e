"""What Metadata says: brokers, partition leaders and the number of each topic's partitions. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from groupproof.clients.assignors.assignment import Cluster
from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["ClusterView"]


class ClusterView:
    """The newest answer; empty before the first."""

    def __init__(self) -> None:
        self.nodes: dict[int, tuple[str, int]] = {}
        self.leaders: dict[TopicPartition, int] = {}
        self.cluster = Cluster()
        self.is_complete = False

    def learn(self, body: Mapping[str, Any]) -> None:
        """Take a Metadata answer; a topic in error has no partition."""
        self.nodes = {entry["node_id"]: (entry["host"], entry["port"]) for entry in body["brokers"]}
        racks = {entry["node_id"]: entry.get("rack") for entry in body["brokers"]}
        topics = [topic for topic in body["topics"] if topic["name"]]
        partitions = {topic["name"]: sorted(topic["partitions"], key=lambda entry: int(entry["partition_index"])) for topic in topics}
        self.leaders = {
            (name, entry["partition_index"]): entry["leader_id"]
            for name, entries in partitions.items()
            for entry in entries
            if entry["leader_id"] >= 0
        }
        self.cluster = Cluster(
            partitions={name: len(entries) for name, entries in partitions.items()},
            replica_racks={name: [_racks(entry, racks) for entry in entries] for name, entries in partitions.items()},
            names={topic["topic_id"]: topic["name"] for topic in topics if topic.get("topic_id")},
        )
        self.is_complete = all(len(entries) > 0 for entries in partitions.values())

    def by_leader(self, partitions: Iterable[TopicPartition]) -> dict[int, list[TopicPartition]]:
        """Return the partitions by their leader's node id; those without a leader are left out."""
        found: dict[int, list[TopicPartition]] = {}
        for partition in sorted(partitions):
            if partition in self.leaders:
                found.setdefault(self.leaders[partition], []).append(partition)
        return found


def _racks(partition: Mapping[str, Any], racks: Mapping[int, str | None]) -> frozenset[str]:
    return frozenset(rack for node in partition["replica_nodes"] if (rack := racks.get(node)) is not None)

"""The content of Metadata: brokers, partition leaders, and partition counts of topics. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from groupproof.clients.assignors.assignment import Cluster
from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["ClusterView"]


class _Contents(NamedTuple):
    """The content of one answer. All views of it share this object, and nobody changes it."""

    nodes: Mapping[int, tuple[str, int]]
    leaders: Mapping[TopicPartition, int]
    cluster: Cluster
    is_complete: bool


_NEWEST: Final[list[tuple[Mapping[str, Any], _Contents]]] = []
"""The last answer with its content. A thousand members in one process get the same answer object (`connection.py`)."""


class ClusterView:
    """The newest Metadata answer, empty before the first."""

    def __init__(self) -> None:
        self.nodes: Mapping[int, tuple[str, int]] = {}
        self.leaders: Mapping[TopicPartition, int] = {}
        self.cluster = Cluster()
        self.is_complete = False

    def learn(self, body: Mapping[str, Any]) -> None:
        """Store a Metadata answer. A topic with an error has no partitions."""
        if not _NEWEST or _NEWEST[0][0] is not body:
            _NEWEST[:] = [(body, _contents(body))]
        self.nodes, self.leaders, self.cluster, self.is_complete = _NEWEST[0][1]

    def by_leader(self, partitions: Iterable[TopicPartition]) -> dict[int, list[TopicPartition]]:
        """Return the partitions by their leader's node id. Partitions without a leader are left out."""
        found: dict[int, list[TopicPartition]] = {}
        for partition in sorted(partitions):
            if partition in self.leaders:
                found.setdefault(self.leaders[partition], []).append(partition)
        return found


def _contents(body: Mapping[str, Any]) -> _Contents:
    racks = {entry["node_id"]: entry.get("rack") for entry in body["brokers"]}
    topics = [topic for topic in body["topics"] if topic["name"]]
    partitions = {topic["name"]: sorted(topic["partitions"], key=lambda entry: int(entry["partition_index"])) for topic in topics}
    return _Contents(
        nodes={entry["node_id"]: (entry["host"], entry["port"]) for entry in body["brokers"]},
        leaders={
            (name, entry["partition_index"]): entry["leader_id"]
            for name, entries in partitions.items()
            for entry in entries
            if entry["leader_id"] >= 0
        },
        cluster=Cluster(
            partitions={name: len(entries) for name, entries in partitions.items()},
            replica_racks={name: [_racks(entry, racks) for entry in entries] for name, entries in partitions.items()},
            names={topic["topic_id"]: topic["name"] for topic in topics if topic.get("topic_id")},
        ),
        is_complete=all(len(entries) > 0 for entries in partitions.values()),
    )


def _racks(partition: Mapping[str, Any], racks: Mapping[int, str | None]) -> frozenset[str]:
    return frozenset(rack for node in partition["replica_nodes"] if (rack := racks.get(node)) is not None)

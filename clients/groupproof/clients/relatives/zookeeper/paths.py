"""The paths and contents of a group's nodes in Kafka 0.9.0.1 (kafka.utils.ZkUtils, ZKGroupDirs, ZKGroupTopicDirs).

The owners are under `owners`, as in Kafka's code; Kafka's own comment and the text of 002 say `owner`. The last element of an owner's or an
offset's path is the partition (DISC-40: 0.7 used `broker-partition`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from groupproof.clients.outputs import Node
from groupproof.protocol.vocabulary import TopicPartition

__all__ = [
    "BROKERS", "TOPICS", "GroupPaths", "Unreadable", "broker_data", "broker_of", "broker_path", "consumer_id", "parent_of", "partitions_of",
    "state_data", "state_path", "topic_data", "topic_path",
]  # fmt: skip

BROKERS: Final = "/brokers/ids"
TOPICS: Final = "/brokers/topics"


class Unreadable(Exception):
    """A node's content cannot be read. `str()` names the node and the content."""


@dataclass(frozen=True, slots=True)
class GroupPaths:
    """The nodes of one group."""

    group: str

    @property
    def ids(self) -> str:
        """The node of the registrations: one ephemeral child for each consumer (ZK-23)."""
        return f"/consumers/{self.group}/ids"

    def id_of(self, consumer: str) -> str:
        return f"{self.ids}/{consumer}"

    def owner(self, partition: TopicPartition) -> str:
        """Return the ephemeral node with the id of the thread that consumes the partition (ZK-26)."""
        return f"/consumers/{self.group}/owners/{partition[0]}/{partition[1]}"

    def offset(self, partition: TopicPartition) -> str:
        """Return the node with the group's offset, as a decimal number (ZK-27)."""
        return f"/consumers/{self.group}/offsets/{partition[0]}/{partition[1]}"


def broker_path(node_id: int) -> str:
    return f"{BROKERS}/{node_id}"


def topic_path(topic: str) -> str:
    return f"{TOPICS}/{topic}"


def state_path(partition: TopicPartition) -> str:
    """Return the node with a partition's leader and in-sync replicas. The consumer itself asks the brokers instead."""
    return f"{TOPICS}/{partition[0]}/partitions/{partition[1]}/state"


def parent_of(path: str) -> str:
    """Return the parent path, "" above the first level."""
    return path.rpartition("/")[0]


def consumer_id(group: str, host: str, now_ms: int, random_bits: int) -> str:
    """Return a consumer's id: the group, the host, the time, and 32 random bits in hexadecimal (ZK-25)."""
    return f"{group}_{host}-{now_ms}-{random_bits & 0xFFFFFFFF:08x}"


# Contents that brokers write, for tests that act as brokers


def broker_data(node: Node, now_ms: int, *, jmx_port: int = -1) -> bytes:
    """Return a broker's registration in version 1 (ZK-20)."""
    return _written({"jmx_port": jmx_port, "timestamp": str(now_ms), "host": node.host, "version": 1, "port": node.port})


def topic_data(partitions: Mapping[int, Iterable[int]]) -> bytes:
    """Return a topic's partitions with their replicas (ZK-21)."""
    return _written({"version": 1, "partitions": {str(partition): list(replicas) for partition, replicas in partitions.items()}})


def state_data(leader: int, replicas: Iterable[int], *, leader_epoch: int = 0, controller_epoch: int = 1) -> bytes:
    """Return the state of a partition (ZK-22)."""
    return _written(
        {"controller_epoch": controller_epoch, "leader": leader, "version": 1, "leader_epoch": leader_epoch, "isr": list(replicas)},
    )


# Contents that the consumer reads


def broker_of(node_id: int, data: bytes) -> Node:
    """Decode a broker's registration in version 1 (0.8) or 2 (0.9 to 1.1, with endpoints). Raise `Unreadable`."""
    found = _read(broker_path(node_id), data)
    try:
        host, port = found["host"], found["port"]
        if found["version"] >= 2:
            plain = next((end for end in found["endpoints"] if end.startswith("PLAINTEXT://")), None)
            host, port = plain.removeprefix("PLAINTEXT://").rsplit(":", 1) if plain else (host, port)
        return Node(node_id=node_id, host=host, port=int(port))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Unreadable(f"{broker_path(node_id)} is no broker's registration: {data!r}") from error


@lru_cache(maxsize=64)  # each member of a group reads the same data
def partitions_of(topic: str, data: bytes) -> tuple[int, ...]:
    """Decode a topic's partitions, sorted. Raise `Unreadable`."""
    found = _read(topic_path(topic), data).get("partitions", {})
    try:
        return tuple(sorted(int(partition) for partition in found))
    except (TypeError, ValueError) as error:
        raise Unreadable(f"{topic_path(topic)} does not hold a topic's partitions: {data[:200]!r}") from error


def _written(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _read(path: str, data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except ValueError as error:
        raise Unreadable(f"{path} holds no JSON: {data[:200]!r}") from error
    if not isinstance(found, dict):
        raise Unreadable(f"{path} holds no JSON object: {data[:200]!r}")
    return found

"""The broker's answers about the cluster: versions, topics and their leaders, brokers, coordinators. Pure.

Sources: Kafka's `KafkaApis` and `ApiVersionManager`; KIP-511 (ApiVersions), KIP-516 (topic ids), KIP-699 (FindCoordinator in batches).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from groupproof.coordinator.broker.topics import Topic, Topics
from groupproof.protocol.rules import profile
from groupproof.protocol.vocabulary import Api, ErrorCode
from groupproof.protocol.wire.messages import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse

__all__ = [
    "NO_LEADER", "OFFSETS_TOPIC", "TOPIC_NAME", "BrokerNode", "ClusterMetadata", "api_versions", "describe_cluster", "describe_topic_partitions", "find_coordinator",
    "metadata", "unsupported_api_versions",
]  # fmt: skip

Body = dict[str, Any]

OFFSETS_TOPIC = "__consumer_offsets"
NO_LEADER = -1
OFFSETS_TOPIC_ID = "00000000-0000-0000-0000-0000000000f5"

# Error codes of Kafka that only these answers use.
INVALID_TOPIC_EXCEPTION = 17
UNSUPPORTED_ENDPOINT_TYPE = 115
OPERATIONS_UNASKED = -(2**31)

TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
"""Kafka's topic alphabet. "." and ".." are also refused."""

# KIP-516: these versions have the field of topic ids, but no broker accepts them.
_IDS_UNREADY = (10, 11)

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


@dataclass(slots=True)
class BrokerNode:
    """One broker and the address that clients get."""

    node_id: int
    host: str = "127.0.0.1"
    port: int = 0
    is_up: bool = True


@dataclass(slots=True)
class ClusterMetadata:
    """The cluster's metadata as its brokers return it.

    `owners` and `epochs` are leader and leader epoch of each offsets partition; `owner_of` returns a group's coordinator. `fields` are the profile's:
    the differences between releases in answers.
    """

    nodes: Sequence[BrokerNode]
    topics: Topics
    owners: Sequence[int]
    epochs: Sequence[int]
    owner_of: Callable[[str], int]
    versions: Mapping[Api, tuple[int, int]]
    cluster_id: str = "groupproof-cluster-id0"
    has_offsets_topic: bool = False
    producer_ids: int = 0
    fields: Mapping[str, int] = field(default_factory=lambda: profile().fields)

    @property
    def controller(self) -> int:
        """The controller's node id. Kafka 4 names any live broker. Here it is the last one, so that one broker does not have every role."""
        return ([node for node in self.nodes if node.is_up] or self.nodes)[-1].node_id

    @property
    def state(self) -> Hashable:
        """The state that an answer about topics by name depends on."""
        return self.topics.changes, tuple([(node.host, node.port, node.is_up) for node in self.nodes])

    def leader_of(self, topic: Topic, index: int) -> int:
        """Return the leader node of a partition: its first node, or the next live one."""
        first, count = topic.leader_of(index, len(self.nodes)), len(self.nodes)
        there = ((first + step) % count for step in range(count) if self.nodes[(first + step) % count].is_up)
        return next(there, first)


def api_versions(cluster: ClusterMetadata, body: Mapping[str, Any], version: int) -> Body:
    """Return the API versions. KIP-511: a client with an invalid software name or version is refused (42)."""
    named = (body.get("client_software_name", ""), body.get("client_software_version", ""))
    if version >= 3 and not all(_SOFTWARE.fullmatch(item) for item in named):
        return {"error_code": ErrorCode.INVALID_REQUEST.value}
    return {"error_code": 0, "api_keys": _keys(cluster.versions.items())}


def unsupported_api_versions(cluster: ClusterMetadata) -> Body:
    """Return the answer to an unknown version: in v0, with the range of ApiVersions only (KIP-511)."""
    ranges = [(api, versions) for api, versions in cluster.versions.items() if api is Api.API_VERSIONS]
    return {"error_code": ErrorCode.UNSUPPORTED_VERSION.value, "api_keys": _keys(ranges)}


def _keys(versions: Iterable[tuple[Api, tuple[int, int]]]) -> tuple[Body, ...]:
    return tuple({"api_key": int(api), "min_version": low, "max_version": high} for api, (low, high) in sorted(versions))


def metadata(cluster: ClusterMetadata, body: Mapping[str, Any], version: int) -> Body:
    """Return the requested topics, all where the list is null (v0: empty). Requests never create topics."""
    return {
        "brokers": _brokers(cluster),
        "cluster_id": cluster.cluster_id,
        "controller_id": cluster.controller,
        "topics": tuple(_topics(cluster, body.get("topics"), version)),
        "cluster_authorized_operations": OPERATIONS_UNASKED,
    }


def _topics(cluster: ClusterMetadata, asked: Sequence[Mapping[str, Any]] | None, version: int) -> list[Body]:
    if asked is None or (version == 0 and not asked):
        found = [_topic(topic, cluster) for topic in cluster.topics.all()]
        return [*found, _offsets_topic(cluster)] if cluster.has_offsets_topic else found
    if version in _IDS_UNREADY and any(topic.get("name") is None or topic.get("topic_id") is not None for topic in asked):
        return [_no_topic(topic.get("name") or "", topic.get("topic_id"), ErrorCode.INVALID_REQUEST) for topic in asked]
    return [_asked(entry, cluster) for entry in asked]


def _brokers(cluster: ClusterMetadata, name: str = "node_id") -> tuple[Body, ...]:
    return tuple({name: node.node_id, "host": node.host, "port": node.port, "rack": None} for node in cluster.nodes if node.is_up)


def _asked(asked: Mapping[str, Any], cluster: ClusterMetadata) -> Body:
    name, topic_id = asked.get("name"), asked.get("topic_id")
    if name == OFFSETS_TOPIC:
        return _offsets_topic(cluster)
    if name is None or topic_id is not None:  # Java asks by id with an empty name (KafkaApis.handleTopicMetadataRequest: ids take precedence)
        topic = cluster.topics.by_id(topic_id)
        return _topic(topic, cluster) if topic else _no_topic(None, topic_id, ErrorCode.UNKNOWN_TOPIC_ID)
    if not TOPIC_NAME.fullmatch(name) or name in (".", ".."):
        return _no_topic(name, None, INVALID_TOPIC_EXCEPTION)
    topic = cluster.topics.named(name)
    return _topic(topic, cluster) if topic else _no_topic(name, None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def _no_topic(name: str | None, topic_id: str | None, code: int) -> Body:
    return {
        "error_code": int(code),
        "name": name,
        "topic_id": topic_id,
        "is_internal": False,
        "partitions": (),
        "topic_authorized_operations": OPERATIONS_UNASKED,
    }


def _topic(topic: Topic, cluster: ClusterMetadata) -> Body:
    partitions = tuple(_partition(index, cluster.leader_of(topic, index), 0) for index in range(len(topic.partitions)))
    return _no_topic(topic.name, topic.topic_id, 0) | {"partitions": partitions}


def _offsets_topic(cluster: ClusterMetadata) -> Body:
    partitions = tuple(_partition(index, *led) for index, led in enumerate(zip(cluster.owners, cluster.epochs, strict=True)))
    return _no_topic(OFFSETS_TOPIC, OFFSETS_TOPIC_ID, 0) | {"is_internal": True, "partitions": partitions}


def _partition(index: int, leader: int, epoch: int) -> Body:
    return {
        "error_code": 0,
        "partition_index": index,
        "leader_id": leader,
        "leader_epoch": epoch,
        "replica_nodes": (leader,),
        "isr_nodes": (leader,),
        "offline_replicas": (),
    }


def describe_cluster(cluster: ClusterMetadata, body: Mapping[str, Any]) -> Body:
    if body.get("endpoint_type", 1) != 1:
        return {"error_code": UNSUPPORTED_ENDPOINT_TYPE, "error_message": "this is a broker, not a controller", "cluster_id": cluster.cluster_id}
    return {
        "error_code": 0,
        "cluster_id": cluster.cluster_id,
        "controller_id": cluster.controller,
        "brokers": _brokers(cluster, "broker_id"),
        "cluster_authorized_operations": OPERATIONS_UNASKED,
    }


def describe_topic_partitions(cluster: ClusterMetadata, body: Mapping[str, Any]) -> Body:
    """Return all partitions (KIP-966), without paging: `response_partition_limit` is optional to obey, and the topics here are small."""
    asked = [topic["name"] for topic in body.get("topics") or ()] or [topic.name for topic in cluster.topics.all()]
    described = [_asked({"name": name}, cluster) for name in sorted(asked)]
    replicas: Body = {"eligible_leader_replicas": (), "last_known_elr": ()}
    topics = tuple(topic | {"partitions": tuple(partition | replicas for partition in topic["partitions"])} for topic in described)
    return {"topics": topics, "next_cursor": None}


def find_coordinator(cluster: ClusterMetadata, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    """Return the leader of each group's offsets partition, the same at every broker; 15 where there is none (FIND-02 to FIND-05).

    The node for a transactional id's hash coordinates transactions (key type 1); share groups (2) have no coordinator (42).
    """
    cluster.has_offsets_topic = True
    if request.key_type not in (0, 1):
        refused = (_refused(key, request.key_type) for key in request.coordinator_keys)
        return FindCoordinatorResponse(coordinators=tuple(refused))
    return FindCoordinatorResponse(coordinators=tuple(_coordinator(key, cluster) for key in request.coordinator_keys))


def _refused(key: str, key_type: int) -> Coordinator:
    return Coordinator(key=key, error_code=ErrorCode.INVALID_REQUEST.value, error_message=f"coordinator type {key_type} is not kept here")


def _coordinator(key: str, cluster: ClusterMetadata) -> Coordinator:
    owner = cluster.owner_of(key)
    if owner == NO_LEADER:
        error = ErrorCode.COORDINATOR_NOT_AVAILABLE
        return Coordinator(key=key, error_code=error.value, error_message="The coordinator is not available.")
    node = cluster.nodes[owner]
    return Coordinator(key=key, node_id=node.node_id, host=node.host, port=node.port, error_message="")

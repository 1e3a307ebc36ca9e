"""What brokers tell of the cluster: versions, topics, leaders, coordinators."""

from __future__ import annotations

from typing import Any

import pytest

from groupproof.coordinator.broker.advertised_versions import advertised
from groupproof.coordinator.broker.metadata import (
    NO_LEADER,
    OFFSETS_TOPIC,
    BrokerNode,
    ClusterMetadata,
    api_versions,
    describe_cluster,
    describe_topic_partitions,
    find_coordinator,
    metadata,
    unsupported_api_versions,
)
from groupproof.coordinator.broker.topics import Topics
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import VERSIONS, read_response, write_response
from groupproof.protocol.wire.messages import FindCoordinatorRequest


@pytest.fixture
def cluster() -> ClusterMetadata:
    topics = Topics(records=5)
    topics.grow("t", 3)
    topics.grow("u", 1)
    nodes = [BrokerNode(0, "a", 1), BrokerNode(1, "b", 2)]
    return ClusterMetadata(
        nodes=nodes, topics=topics, owners=[0, 1], epochs=[0, 4], owner_of=lambda group: len(group) % 2, versions=advertised("kafka-4.1")
    )


def _names(body: dict[str, Any]) -> list[tuple[str, int]]:
    return [(topic["name"], topic["error_code"]) for topic in body["topics"]]


def test_api_versions_tell_the_advertised_ranges(cluster: ClusterMetadata) -> None:
    body = api_versions(cluster, {"client_software_name": "kit", "client_software_version": "1.0"}, 4)

    fields = {Api(api["api_key"]): (api["min_version"], api["max_version"]) for api in body["api_keys"]}
    assert fields == advertised("kafka-4.1")
    assert [api["api_key"] for api in body["api_keys"]] == sorted(fields)


@pytest.mark.parametrize("name", ["", "-kit", "k it", "kit."])
def test_a_client_must_name_itself_in_order(cluster: ClusterMetadata, name: str) -> None:
    assert api_versions(cluster, {"client_software_name": name, "client_software_version": "1"}, 3) == {"error_code": 42}


def test_an_unknown_version_of_api_versions_is_answered_with_the_range(cluster: ClusterMetadata) -> None:
    assert unsupported_api_versions(cluster) == {"error_code": 35, "api_keys": ({"api_key": 18, "min_version": 0, "max_version": 4},)}


def test_all_topics_are_reported_when_none_is_named(cluster: ClusterMetadata) -> None:
    assert _names(metadata(cluster, {"topics": None}, 1)) == [("t", 0), ("u", 0)]
    assert _names(metadata(cluster, {"topics": ()}, 0)) == [("t", 0), ("u", 0)]
    assert _names(metadata(cluster, {"topics": ()}, 1)) == []


def test_a_topic_is_reported_with_its_partitions_and_their_leaders(cluster: ClusterMetadata) -> None:
    (topic,) = metadata(cluster, {"topics": ({"name": "t"},)}, 13)["topics"]

    assert [(partition["partition_index"], partition["leader_id"]) for partition in topic["partitions"]] == [(0, 0), (1, 1), (2, 0)]
    assert _names(metadata(cluster, {"topics": ({"name": None, "topic_id": topic["topic_id"]},)}, 13)) == [("t", 0)]
    assert _names(metadata(cluster, {"topics": ({"name": "", "topic_id": topic["topic_id"]},)}, 13)) == [("t", 0)]


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"name": "v"}, 3),
        ({"name": "no/slash"}, 17),
        ({"name": ".."}, 17),
        ({"name": None, "topic_id": "6ba7b811-9dad-11d1-80b4-00c04fd430c8"}, 100),
        ({"name": "", "topic_id": "6ba7b811-9dad-11d1-80b4-00c04fd430c8"}, 100),
    ],
)
def test_what_is_not_there_is_reported_and_never_made(cluster: ClusterMetadata, asked: dict[str, Any], code: int) -> None:
    (topic,) = metadata(cluster, {"topics": (asked,), "allow_auto_topic_creation": True}, 13)["topics"]

    assert topic["error_code"] == code
    assert _names(metadata(cluster, {"topics": None}, 1)) == [("t", 0), ("u", 0)]


@pytest.mark.parametrize("version", [10, 11])
def test_versions_that_cannot_ask_by_id_refuse_it(cluster: ClusterMetadata, version: int) -> None:
    (topic,) = metadata(cluster, {"topics": ({"name": None, "topic_id": None},)}, version)["topics"]

    assert (topic["error_code"], topic["name"]) == (42, "")


def test_the_offsets_topic_appears_once_a_coordinator_was_asked_for_and_tells_who_leads(cluster: ClusterMetadata) -> None:
    assert OFFSETS_TOPIC not in dict(_names(metadata(cluster, {"topics": None}, 9)))
    find_coordinator(cluster, FindCoordinatorRequest(coordinator_keys=("g",)))

    topic = metadata(cluster, {"topics": None}, 9)["topics"][-1]
    assert (topic["name"], topic["is_internal"]) == (OFFSETS_TOPIC, True)
    assert [(partition["leader_id"], partition["leader_epoch"]) for partition in topic["partitions"]] == [(0, 0), (1, 4)]


def test_each_key_gets_its_coordinator(cluster: ClusterMetadata) -> None:
    answer = find_coordinator(cluster, FindCoordinatorRequest(coordinator_keys=("g", "gg")))

    assert [(coordinator.key, coordinator.node_id, coordinator.host, coordinator.port) for coordinator in answer.coordinators] == [
        ("g", 1, "b", 2),
        ("gg", 0, "a", 1),
    ]


def test_a_coordinator_of_another_kind_is_refused(cluster: ClusterMetadata) -> None:
    (refused,) = find_coordinator(cluster, FindCoordinatorRequest(coordinator_keys=("g",), key_type=2)).coordinators

    assert (refused.error_code, refused.node_id) == (42, -1)


def test_the_cluster_is_described(cluster: ClusterMetadata) -> None:
    body = describe_cluster(cluster, {"endpoint_type": 1})

    assert [(broker["broker_id"], broker["host"], broker["port"]) for broker in body["brokers"]] == [(0, "a", 1), (1, "b", 2)]
    assert describe_cluster(cluster, {"endpoint_type": 2})["error_code"] == 115


def test_partitions_are_described_by_topic(cluster: ClusterMetadata) -> None:
    assert _names(describe_topic_partitions(cluster, {"topics": ()})) == [("t", 0), ("u", 0)]
    assert _names(describe_topic_partitions(cluster, {"topics": ({"name": "w"}, {"name": "t"})})) == [("t", 0), ("w", 3)]


@pytest.mark.parametrize("version", range(VERSIONS[Api.METADATA][1] + 1))
def test_metadata_can_be_said_in_every_version(cluster: ClusterMetadata, version: int) -> None:
    asked = {"topics": ({"name": "t"}, {"name": "v"})}

    _, body = read_response(Api.METADATA, version, write_response(Api.METADATA, version, 1, metadata(cluster, asked, version)))
    assert _names(body) == [("t", 0), ("v", 3)]
    assert [broker["node_id"] for broker in body["brokers"]] == [0, 1]


@pytest.mark.requirement("FIND-05")
def test_a_partition_without_a_leader_has_no_coordinator_to_be_named(cluster: ClusterMetadata) -> None:
    cluster.owner_of = lambda group: NO_LEADER
    (coordinator,) = find_coordinator(cluster, FindCoordinatorRequest(coordinator_keys=("g",))).coordinators

    assert (coordinator.error_code, coordinator.node_id, coordinator.host, coordinator.port) == (15, -1, "", -1)

"""Records: produced, fetched, found by time, by the right node and from the right offset."""

from __future__ import annotations

from typing import Any

import pytest

from groupproof.coordinator.broker.advertised_versions import accepted
from groupproof.coordinator.broker.metadata import BrokerNode, ClusterMetadata
from groupproof.coordinator.broker.record_requests import (
    create_topics,
    fetch,
    in_the_format_of,
    init_producer_id,
    list_offsets,
    offset_for_leader_epoch,
    produce,
)
from groupproof.coordinator.broker.topics import FIRST_TIMESTAMP_MS, Topics
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import read_request, read_response, write_request, write_response
from groupproof.protocol.wire.message_sets import message_set
from groupproof.protocol.wire.records import Record, encode_batch, read_batches

Body = dict[str, Any]


@pytest.fixture
def cluster() -> ClusterMetadata:
    topics = Topics(records=20)
    topics.grow("t", 2)
    return ClusterMetadata(
        nodes=[BrokerNode(0), BrokerNode(1)], topics=topics, owners=[0], epochs=[0], owner_of=lambda group: 0, versions=accepted("kafka-4.1")
    )


def _fetch(metadata: ClusterMetadata, *asked: tuple[int, int], topic: str = "t", node: int = 0, **more: Any) -> list[Body]:
    partitions = tuple({"partition": index, "fetch_offset": offset, "partition_max_bytes": 1_000_000} for index, offset in asked)
    body = {"min_bytes": 1, "topics": ({"topic": topic, "partitions": partitions},), **more}
    return [partition for response in fetch(metadata, node, body).body["responses"] for partition in response["partitions"]]


def _offsets(partition: Body) -> list[int]:
    return [record.offset for batch in read_batches(partition["records"]) for record in batch.records()]


def test_a_fetch_returns_the_records_from_its_offset_on(cluster: ClusterMetadata) -> None:
    (partition,) = _fetch(cluster, (0, 15))

    assert (partition["error_code"], partition["high_watermark"]) == (0, 20)
    assert _offsets(partition) == list(range(10, 20))


def test_an_old_version_of_fetch_gets_message_sets_from_its_offset_on(cluster: ClusterMetadata) -> None:
    partitions = tuple({"partition": index, "fetch_offset": offset, "partition_max_bytes": 1_000_000} for index, offset in [(0, 15), (1, 0)])
    body = {"min_bytes": 1, "topics": ({"topic": "t", "partitions": partitions},)}
    answer = fetch(cluster, 0, body).body

    (topic,) = in_the_format_of(3, answer, body)["responses"]
    whole = answer["responses"][0]["partitions"][0]["records"]
    assert topic["partitions"][0]["records"] == message_set(whole, first_offset=15, fetch_version=3) != b""
    assert (topic["partitions"][1]["error_code"], topic["partitions"][1]["records"]) == (6, b"")
    assert in_the_format_of(4, answer, body) is answer


def test_a_fetch_at_the_end_may_wait_and_one_with_an_error_may_not(cluster: ClusterMetadata) -> None:
    def may_wait(index: int, offset: int) -> bool:
        partitions = ({"partition": index, "fetch_offset": offset, "partition_max_bytes": 1_000},)
        return fetch(cluster, 0, {"min_bytes": 1, "topics": ({"topic": "t", "partitions": partitions},)}).may_wait

    assert may_wait(0, 20)
    assert not may_wait(0, 19)
    assert not may_wait(0, 21)
    assert not fetch(cluster, 0, {"min_bytes": 1, "topics": ()}).may_wait


@pytest.mark.parametrize(("topic", "index", "node", "offset", "code"), [("t", 0, 0, 21, 1), ("t", 2, 0, 0, 3), ("u", 0, 0, 0, 3), ("t", 1, 0, 0, 6)])
def test_a_fetch_says_what_is_wrong(cluster: ClusterMetadata, topic: str, index: int, node: int, offset: int, code: int) -> None:
    (partition,) = _fetch(cluster, (index, offset), topic=topic, node=node)

    assert (partition["error_code"], partition["records"]) == (code, b"")


def test_a_fetch_by_an_unknown_topic_id_says_so(cluster: ClusterMetadata) -> None:
    partitions = ({"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1},)
    body = {"topics": ({"topic": "", "topic_id": "6ba7b811-9dad-11d1-80b4-00c04fd430c8", "partitions": partitions},)}

    assert fetch(cluster, 0, body).body["responses"][0]["partitions"][0]["error_code"] == 100


def test_a_leader_epoch_from_the_future_is_unknown(cluster: ClusterMetadata) -> None:
    partitions = ({"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1, "current_leader_epoch": 1},)

    assert fetch(cluster, 0, {"topics": ({"topic": "t", "partitions": partitions},)}).body["responses"][0]["partitions"][0]["error_code"] == 75


def test_a_fetch_keeps_within_max_bytes_but_for_its_first_batch(cluster: ClusterMetadata) -> None:
    cluster.topics.grow("t", 3)

    first, second = _fetch(cluster, (0, 0), (2, 0), max_bytes=1)
    assert _offsets(first) == list(range(10))
    assert second["records"] == b""


def test_fetch_sessions_are_never_opened_and_an_open_one_is_unknown(cluster: ClusterMetadata) -> None:
    assert fetch(cluster, 0, {"session_id": 0, "session_epoch": 0, "topics": ()}).body["session_id"] == 0
    assert fetch(cluster, 0, {"session_id": 7, "session_epoch": 1, "topics": ()}).body["error_code"] == 70


@pytest.mark.parametrize(
    ("timestamp", "offset"), [(-1, 20), (-2, 0), (-3, 19), (-4, 0), (-5, -1), (FIRST_TIMESTAMP_MS + 5, 5), (2 * FIRST_TIMESTAMP_MS, -1)]
)
def test_offsets_are_listed_by_time(cluster: ClusterMetadata, timestamp: int, offset: int) -> None:
    asked = {"topics": ({"name": "t", "partitions": ({"partition_index": 0, "timestamp": timestamp},)},)}

    assert list_offsets(cluster, 0, asked)["topics"][0]["partitions"][0]["offset"] == offset


def test_offsets_of_another_nodes_partition_are_not_listed(cluster: ClusterMetadata) -> None:
    asked = {"topics": ({"name": "t", "partitions": ({"partition_index": 1, "timestamp": -1},)},)}

    assert list_offsets(cluster, 0, asked)["topics"][0]["partitions"][0]["error_code"] == 6


def test_the_only_leader_epoch_ends_where_the_log_ends(cluster: ClusterMetadata) -> None:
    def end_of(epoch: int) -> tuple[int, int]:
        fields = offset_for_leader_epoch(cluster, 0, {"topics": ({"topic": "t", "partitions": ({"partition": 0, "leader_epoch": epoch},)},)})
        partition = fields["topics"][0]["partitions"][0]
        return partition["leader_epoch"], partition["end_offset"]

    assert end_of(0) == (0, 20)
    assert end_of(3) == (-1, -1)


def test_what_is_produced_can_be_fetched(cluster: ClusterMetadata) -> None:
    batch = encode_batch([Record(offset=0, timestamp_ms=1, value=b"new")])
    body = {"acks": -1, "topic_data": ({"name": "t", "partition_data": ({"index": 0, "records": batch}, {"index": 1, "records": batch})},)}

    first, second = produce(cluster, 0, body)["responses"][0]["partition_responses"]
    assert (first["error_code"], first["base_offset"]) == (0, 20)
    assert second["error_code"] == 6
    assert _offsets(_fetch(cluster, (0, 20))[0]) == [20]


def test_broken_records_are_refused(cluster: ClusterMetadata) -> None:
    body = {"topic_data": ({"name": "t", "partition_data": ({"index": 0, "records": b"garbage"},)},)}

    refused = produce(cluster, 0, body)["responses"][0]["partition_responses"][0]
    assert refused["error_code"] == 2
    assert "no whole record batch" in refused["error_message"]


def test_producer_ids_are_never_given_twice_and_transactions_have_no_coordinator(cluster: ClusterMetadata) -> None:
    assert [init_producer_id(cluster, {})["producer_id"] for _ in range(2)] == [1, 2]
    assert init_producer_id(cluster, {"transactional_id": "x"})["error_code"] == 15


@pytest.mark.parametrize(("name", "partitions", "code"), [("new", 3, 0), ("t", 1, 36), ("no/slash", 1, 17), ("none", 0, 37), ("many", 10_001, 37)])
def test_topics_are_created_once_and_only_in_order(cluster: ClusterMetadata, name: str, partitions: int, code: int) -> None:
    asked = {"topics": ({"name": name, "num_partitions": partitions, "assignments": ()},)}

    assert create_topics(cluster, {**asked, "validate_only": True})["topics"][0]["error_code"] == code
    assert create_topics(cluster, asked)["topics"][0]["error_code"] == code
    assert (cluster.topics.named(name) is not None) == (code in (0, 36))


def test_the_default_number_of_partitions_is_one_or_what_is_assigned(cluster: ClusterMetadata) -> None:
    create_topics(cluster, {"topics": ({"name": "one", "num_partitions": -1},)})
    create_topics(cluster, {"topics": ({"name": "two", "num_partitions": -1, "assignments": ({"partition_index": 0}, {"partition_index": 1})},)})

    assert [len(topic.partitions) for topic in cluster.topics.all()] == [2, 1, 2]


@pytest.mark.parametrize("version", range(4, accepted("kafka-4.1")[Api.FETCH][1] + 1))
def test_a_fetch_can_be_asked_and_answered_in_every_version(cluster: ClusterMetadata, version: int) -> None:
    topic = cluster.topics.named("t")
    assert topic is not None
    partitions = ({"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1_000_000},)
    named = {"topic_id": topic.topic_id} if version >= 13 else {"topic": "t"}
    asked = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1_000_000, "topics": ({**named, "partitions": partitions},)}

    request = read_request(write_request(Api.FETCH, version, 1, "c", asked))
    _, body = read_response(Api.FETCH, version, write_response(Api.FETCH, version, 1, fetch(cluster, 0, request.body).body))
    assert _offsets(body["responses"][0]["partitions"][0]) == list(range(20))

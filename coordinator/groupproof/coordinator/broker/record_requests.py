"""The broker's answers about records: Produce, Fetch, ListOffsets, OffsetForLeaderEpoch, InitProducerId, CreateTopics. Pure.

Sources: Kafka's `KafkaApis` and `ReplicaManager`; KIP-227 (fetch sessions: the answer never opens one), KIP-516 (topic ids).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from groupproof.coordinator.broker.metadata import TOPIC_NAME, ClusterMetadata
from groupproof.coordinator.broker.topics import Log, OutOfRange, Topic
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.message_sets import MESSAGE_SETS_UNTIL, message_set
from groupproof.protocol.wire.records import RecordsError

__all__ = ["FetchAnswer", "create_topics", "fetch", "in_the_format_of", "init_producer_id", "list_offsets", "offset_for_leader_epoch", "produce"]

Body = dict[str, Any]
Asked = Mapping[str, Any]

# Codes that only these answers need; Kafka's Errors.
CORRUPT_MESSAGE = 2
TOPIC_ALREADY_EXISTS = 36
INVALID_PARTITIONS = 37
INVALID_TOPIC_EXCEPTION = 17
UNKNOWN_LEADER_EPOCH = 75

_PARTITIONS_MAX = 10_000
_LATEST, _EARLIEST, _NEWEST, _EARLIEST_LOCAL, _LATEST_TIERED = -1, -2, -3, -4, -5
_LEADER_EPOCH = 0


@dataclass(frozen=True, slots=True)
class FetchAnswer:
    """A Fetch answer, and whether it must wait for more (DelayedFetch): it has entries, too few bytes and no error."""

    body: Body
    may_wait: bool = False


def _find(metadata: ClusterMetadata, asked: Asked) -> Topic | None:
    """Find a topic by its id (newer versions), or by its name, which the wire has under two keys."""
    topic_id = asked.get("topic_id")
    return metadata.topics.by_id(topic_id) if topic_id is not None else metadata.topics.named(asked.get("name") or asked.get("topic"))


def _named(asked: Asked, *names: str) -> Body:
    return {name: asked[name] for name in names if name in asked}


def _log(metadata: ClusterMetadata, node_id: int, asked: Asked, index: int, epoch: int = -1) -> Log | int:
    """Return the partition's log, or the error code where this node does not serve it."""
    topic = _find(metadata, asked)
    log = topic.log(index) if topic else None
    if topic is None and asked.get("topic_id") is not None:
        return ErrorCode.UNKNOWN_TOPIC_ID.value
    if topic is None or log is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.value
    if metadata.leader_of(topic, index) != node_id:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER.value
    return UNKNOWN_LEADER_EPOCH if epoch > _LEADER_EPOCH else log


# Fetch


def fetch(metadata: ClusterMetadata, node_id: int, body: Asked) -> FetchAnswer:
    """Read the available records. The caller waits and repeats the call while `may_wait` (fetch.max.wait.ms, fetch.min.bytes)."""
    if body.get("session_id") and (body.get("session_epoch") or 0) > 0:
        return FetchAnswer({"error_code": ErrorCode.FETCH_SESSION_ID_NOT_FOUND.value, "session_id": 0, "responses": ()})
    room = [body.get("max_bytes", 2**31 - 1)]
    responses = []
    for topic in body.get("topics") or ():
        partitions = tuple(_fetched(metadata, node_id, topic, partition, room, body) for partition in topic["partitions"])
        responses.append(_named(topic, "topic", "topic_id") | {"partitions": partitions})
    entries = [partition for topic in responses for partition in topic["partitions"]]
    size = sum(len(partition["records"]) for partition in entries)
    may_wait = bool(entries) and size < body.get("min_bytes", 0) and not any(partition["error_code"] for partition in entries)
    return FetchAnswer({"error_code": 0, "session_id": 0, "responses": tuple(responses)}, may_wait)


def _fetched(metadata: ClusterMetadata, node_id: int, topic: Asked, asked: Asked, room: list[int], body: Asked) -> Body:
    """Read one partition within the bytes left in `room`. The first partition with data may exceed them (KIP-74)."""
    index = asked["partition"]
    log = _log(metadata, node_id, topic, index, asked.get("current_leader_epoch", -1))
    if isinstance(log, int):
        return _unfetched(index, log)
    is_first = room[0] >= body.get("max_bytes", 2**31 - 1)
    try:
        records = log.read(asked["fetch_offset"], min(room[0], asked["partition_max_bytes"]), at_least_one=is_first)
    except OutOfRange:
        return _unfetched(index, ErrorCode.OFFSET_OUT_OF_RANGE.value)
    room[0] -= len(records)
    return {
        "partition_index": index,
        "error_code": 0,
        "high_watermark": log.end_offset,
        "last_stable_offset": log.end_offset,
        "log_start_offset": log.start_offset,
        "aborted_transactions": () if body.get("isolation_level") else None,
        "records": records,
    }


def _unfetched(index: int, code: int) -> Body:
    return {"partition_index": index, "error_code": code, "high_watermark": -1, "aborted_transactions": None, "records": b""}


def in_the_format_of(version: int, answer: Body, body: Asked) -> Body:
    """Return a Fetch answer with its records in this version's format: before v4 a message set that starts at the requested offset."""
    if version > MESSAGE_SETS_UNTIL:
        return answer
    responses = (
        topic
        | {
            "partitions": tuple(
                _down_converted(partition, asked, version) for partition, asked in zip(topic["partitions"], of["partitions"], strict=True)
            )
        }
        for topic, of in zip(answer["responses"], body["topics"], strict=True)
    )
    return answer | {"responses": tuple(responses)}


def _down_converted(partition: Body, asked: Asked, version: int) -> Body:
    return partition | {"records": message_set(partition["records"], first_offset=asked["fetch_offset"], fetch_version=version)}


# Offsets


def list_offsets(metadata: ClusterMetadata, node_id: int, body: Asked) -> Body:
    topics = (
        _named(topic, "name") | {"partitions": tuple(_listed(metadata, node_id, topic, partition) for partition in topic["partitions"])}
        for topic in body.get("topics") or ()
    )
    return {"topics": tuple(topics)}


def _listed(metadata: ClusterMetadata, node_id: int, topic: Asked, asked: Asked) -> Body:
    index = asked["partition_index"]
    log = _log(metadata, node_id, topic, index, asked.get("current_leader_epoch", -1))
    if isinstance(log, int):
        return {"partition_index": index, "error_code": log, "timestamp": -1, "offset": -1, "leader_epoch": -1}
    timestamp, offset = _offset_at(log, asked["timestamp"])
    epoch = _LEADER_EPOCH if offset >= 0 else -1
    return {"partition_index": index, "error_code": 0, "timestamp": timestamp, "offset": offset, "leader_epoch": epoch}


def _offset_at(log: Log, timestamp_ms: int) -> tuple[int, int]:
    """Return timestamp and offset for a timestamp or one of Kafka's special values; (-1, -1) where there is none."""
    special = {_LATEST: log.end_offset, _EARLIEST: log.start_offset, _EARLIEST_LOCAL: log.start_offset, _LATEST_TIERED: -1}
    if timestamp_ms in special:
        return -1, special[timestamp_ms]
    record = log.newest() if timestamp_ms == _NEWEST else log.first_since(timestamp_ms)
    return (record.timestamp_ms, record.offset) if record else (-1, -1)


def offset_for_leader_epoch(metadata: ClusterMetadata, node_id: int, body: Asked) -> Body:
    """Return the log end offset for leader epoch 0, the only epoch."""
    topics = (
        _named(topic, "topic") | {"partitions": tuple(_epoch_end(metadata, node_id, topic, partition) for partition in topic["partitions"])}
        for topic in body.get("topics") or ()
    )
    return {"topics": tuple(topics)}


def _epoch_end(metadata: ClusterMetadata, node_id: int, topic: Asked, asked: Asked) -> Body:
    index = asked["partition"]
    log = _log(metadata, node_id, topic, index, asked.get("current_leader_epoch", -1))
    is_answered = not isinstance(log, int) and asked["leader_epoch"] == _LEADER_EPOCH
    code = log if isinstance(log, int) else 0
    end = log.end_offset if is_answered and isinstance(log, Log) else -1
    return {"partition": index, "error_code": code, "leader_epoch": _LEADER_EPOCH if is_answered else -1, "end_offset": end}


# Writing


def produce(metadata: ClusterMetadata, node_id: int, body: Asked) -> Body:
    responses = (
        _named(topic, "name", "topic_id")
        | {"partition_responses": tuple(_produced(metadata, node_id, topic, partition_item) for partition_item in topic["partition_data"])}
        for topic in body.get("topic_data") or ()
    )
    return {"responses": tuple(responses)}


def _produced(metadata: ClusterMetadata, node_id: int, topic: Asked, asked: Asked) -> Body:
    index = asked["index"]
    log = _log(metadata, node_id, topic, index)
    answer: Body = {"index": index, "error_code": 0, "base_offset": -1, "log_append_time_ms": -1, "log_start_offset": -1}
    if isinstance(log, int):
        return answer | {"error_code": log}
    try:
        base_offset = log.append(asked.get("records") or b"")
    except RecordsError as error:
        return answer | {"error_code": CORRUPT_MESSAGE, "error_message": str(error)}
    return answer | {"base_offset": base_offset, "log_start_offset": log.start_offset}


def init_producer_id(metadata: ClusterMetadata, body: Asked) -> Body:
    """Return the next producer id. There is no transaction coordinator (15)."""
    if body.get("transactional_id") is not None:
        return {"error_code": ErrorCode.COORDINATOR_NOT_AVAILABLE.value, "producer_id": -1, "producer_epoch": -1}
    metadata.producer_ids += 1
    return {"error_code": 0, "producer_id": metadata.producer_ids, "producer_epoch": 0}


def create_topics(metadata: ClusterMetadata, body: Asked) -> Body:
    validate_only = bool(body.get("validate_only"))
    return {"topics": tuple(_created(metadata, topic, validate_only=validate_only) for topic in body.get("topics") or ())}


def _created(metadata: ClusterMetadata, asked: Asked, *, validate_only: bool) -> Body:
    name, count = asked["name"], asked.get("num_partitions", 1)
    count = (len(asked.get("assignments") or ()) or 1) if count == -1 else count
    code = _objection(metadata, name, count)
    answer: Body = {"name": name, "error_code": code, "num_partitions": -1 if code else count, "replication_factor": -1 if code else 1}
    if code or validate_only:
        return answer
    return answer | {"topic_id": metadata.topics.grow(name, count, records=0).topic_id}


def _objection(metadata: ClusterMetadata, name: str, count: int) -> int:
    if not TOPIC_NAME.fullmatch(name) or name in (".", ".."):
        return INVALID_TOPIC_EXCEPTION
    if metadata.topics.named(name):
        return TOPIC_ALREADY_EXISTS
    return 0 if 1 <= count <= _PARTITIONS_MAX else INVALID_PARTITIONS

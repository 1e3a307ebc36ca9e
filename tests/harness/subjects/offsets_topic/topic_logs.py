"""An offsets topic in memory: partitions of records, as files and as a broker that answers for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.coordinator_records import encode_record
from groupproof.protocol.wire.message_codec import WireRequest
from groupproof.protocol.wire.offsets_topic import TOPIC
from groupproof.protocol.wire.records import Record, encode_batch

__all__ = ["TopicLogs", "commit", "generation"]

Stored = tuple[int, bytes, bytes | None]


def commit(at_ms: int, group: str, partition: int, offset: int, topic: str = "t") -> Stored:
    value = {"offset": offset, "leader_epoch": -1, "metadata": "", "commit_timestamp": at_ms}
    return at_ms, *encode_record("OffsetCommit", {"group": group, "topic": topic, "partition": partition}, value, 3)


def generation(at_ms: int, group: str, number: int, members: tuple[dict[str, Any], ...] = (), **fields: Any) -> Stored:
    value = {"protocol_type": "consumer", "generation": number, "protocol": "range", "leader": None, "members": members, **fields}
    return at_ms, *encode_record("GroupMetadata", {"group": group}, value, 3)


@dataclass(slots=True)
class TopicLogs:
    """Partitions by number, each with its batches; one record a batch. `error` is what every Fetch of a partition is answered with, once."""

    batches: dict[int, list[bytes]] = field(default_factory=dict)
    begins: dict[int, int] = field(default_factory=dict)
    errors: dict[int, int] = field(default_factory=dict)

    def append(self, partition: int, *records: Stored) -> None:
        batches = self.batches.setdefault(partition, [])
        for at_ms, key, value in records:
            offset = self.begins.get(partition, 0) + len(batches)
            batches.append(encode_batch([Record(offset=offset, timestamp_ms=at_ms, key=key, value=value)]))

    def write(self, folder: Path) -> None:
        """Write a segment for each partition."""
        for partition, batches in self.batches.items():
            file = folder / f"{TOPIC}-{partition}" / f"{self.begins.get(partition, 0):020}.log"
            file.parent.mkdir(parents=True)
            file.write_bytes(b"".join(batches))

    def answer(self, request: WireRequest) -> Mapping[str, Any]:
        """Answer as the only broker of the cluster."""
        if request.api is Api.METADATA:
            parts = tuple({"partition_index": partition, "leader_id": 0} for partition in self.batches)
            asked = request.body["topics"]
            others = (
                () if asked else ({"name": "t", "error_code": 0, "topic_id": _ID, "partitions": ({"partition_index": 0}, {"partition_index": 1})},)
            )
            topic = {"name": TOPIC, "error_code": 0 if parts else 3, "partitions": parts}
            return {"brokers": ({"node_id": 0, "host": "h", "port": 9092},), "cluster_id": "c", "topics": (topic, *others)}
        if request.api is Api.LIST_OFFSETS:
            return {
                "topics": tuple(
                    {"name": topic["name"], "partitions": tuple(self._offset(part) for part in topic["partitions"])}
                    for topic in request.body["topics"]
                )
            }
        if request.api is Api.LIST_GROUPS:
            return {"error_code": 0, "groups": ({"group_id": "g", "protocol_type": "consumer", "group_state": "PreparingRebalance"},)}
        if request.api is Api.DESCRIBE_CONFIGS:
            setting = {"name": "group.consumer.session.timeout.ms", "value": "50000", "config_source": 5}
            return {"results": ({"error_code": 0, "resource_type": 4, "resource_name": "0", "configs": (setting,)},)}
        assert request.api is Api.FETCH, request.api
        parts = tuple(self._fetched(part) for topic in request.body["topics"] for part in topic["partitions"])
        return {"error_code": 0, "responses": ({"topic": TOPIC, "partitions": parts},)}

    def _offset(self, part: Mapping[str, Any]) -> dict[str, Any]:
        partition = part["partition_index"]
        begin = self.begins.get(partition, 0)
        offset = begin if part["timestamp"] == -2 else begin + len(self.batches[partition])
        return {"partition_index": partition, "error_code": 0, "offset": offset, "timestamp": -1}

    def _fetched(self, part: Mapping[str, Any]) -> dict[str, Any]:
        partition = part["partition"]
        begin, batches = self.begins.get(partition, 0), self.batches[partition]
        answer = {
            "partition_index": partition,
            "error_code": self.errors.pop(partition, 0),
            "high_watermark": begin + len(batches),
            "log_start_offset": begin,
        }
        if answer["error_code"]:
            return {**answer, "records": b""}
        # A Fetch answer may end within a batch.
        found = b"".join(batches[max(0, part["fetch_offset"] - begin) :][:3])
        return {**answer, "records": found + found[:20] if len(batches) > 3 else found}


_ID = "00000000-0000-0000-0000-00000000002a"

"""Schemas of messages that Kafka 4 removed and old brokers still speak, in the form that `kafka_shapes.py` compiles.

It has only messages of group members: OffsetCommit v1, which gives each partition its own timestamp (read in 1.1.0's `OffsetCommitRequest`; the
answers are those of v2); Fetch v0 to v3, whose answers have message sets, and ListOffsets v0, which asks for a number of offsets (read in 1.1.0's
`FetchRequest`, `FetchResponse`, `ListOffsetRequest` and `ListOffsetResponse`), for clients from before 0.11.

OffsetCommit v0 and OffsetFetch v0 are missing: brokers before 4.0 keep their offsets in ZooKeeper.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, make_dataclass
from types import GenericAlias
from typing import Any, Final

from groupproof.protocol.vocabulary import Api

__all__ = ["ENTITIES", "SAME_AS"]


def _column(name: str, kafka_type: str, **default: Any) -> tuple[str, Any, Any]:
    return name, int if kafka_type.startswith("int") else str, field(metadata={"kafka_type": kafka_type}, **default)


def _entries(name: str, of: type) -> tuple[str, Any, Any]:
    return name, GenericAlias(tuple, (of, ...)), field()


def _struct(name: str, *columns: tuple[str, Any, Any], **more: Any) -> type:
    return make_dataclass(name, columns, namespace={"__flexible__": False, **more}, frozen=True, kw_only=True)


_HEADER: Final = _struct("Header")
_METADATA: Final = ("committed_metadata", str | None, field(metadata={"kafka_type": "string"}))
_PARTITION: Final = _struct(
    "Partition",
    _column("partition_index", "int32"),
    _column("committed_offset", "int64"),
    _column("commit_timestamp", "int64", default=-1),
    _METADATA,
)
_TOPIC: Final = _struct("Topic", _column("name", "string"), _entries("partitions", _PARTITION))
_OFFSET_COMMIT_1: Final = _struct(
    "OffsetCommitRequest", _column("group_id", "string"), _column("generation_id", "int32", default=-1), _column("member_id", "string"),
    _entries("topics", _TOPIC), __header_schema__=_HEADER,
)  # fmt: skip

_RECORDS: Final = ("records", bytes | None, field(metadata={"kafka_type": "records"}, default=None))


_DEFAULTS: Final = {"max_bytes": {"default": 2**31 - 1}}


def _fetch_request(*, max_bytes: bool) -> type:
    partition = _struct("FetchPartition", _column("partition", "int32"), _column("fetch_offset", "int64"), _column("partition_max_bytes", "int32"))
    topic = _struct("FetchTopic", _column("topic", "string"), _entries("partitions", partition))
    sizes = ("min_bytes", "max_bytes") if max_bytes else ("min_bytes",)
    numbers = (_column(name, "int32", **_DEFAULTS.get(name, {})) for name in ("replica_id", "max_wait_ms", *sizes))
    return _struct("FetchRequest", *numbers, _entries("topics", topic), __header_schema__=_HEADER)


def _fetch_response(*, throttle_time: bool) -> type:
    partition = _struct(
        "PartitionData", _column("partition_index", "int32"), _column("error_code", "int16"), _column("high_watermark", "int64"), _RECORDS
    )
    topic = _struct("FetchableTopicResponse", _column("topic", "string"), _entries("partitions", partition))
    first = (_column("throttle_time_ms", "int32", default=0),) if throttle_time else ()
    return _struct("FetchResponse", *first, _entries("responses", topic), __header_schema__=_HEADER)


def _list_offsets(title: str, *columns: tuple[str, Any, Any]) -> type:
    partition = _struct("ListOffsetsPartition", _column("partition_index", "int32"), *columns)
    topic = _struct("ListOffsetsTopic", _column("name", "string"), _entries("partitions", partition))
    first = (_column("replica_id", "int32", default=-1),) if title.endswith("Request") else ()
    return _struct(title, *first, _entries("topics", topic), __header_schema__=_HEADER)


_OFFSETS: Final = ("old_style_offsets", tuple[int, ...], field(metadata={"kafka_type": "int64"}))

ENTITIES: Final[Mapping[tuple[Api, int, str], Any]] = {
    (Api.OFFSET_COMMIT, 1, "request"): _OFFSET_COMMIT_1,
    **{(Api.FETCH, version, "request"): _fetch_request(max_bytes=version >= 3) for version in range(4)},
    **{(Api.FETCH, version, "response"): _fetch_response(throttle_time=version >= 1) for version in range(4)},
    (Api.LIST_OFFSETS, 0, "request"): _list_offsets(
        "ListOffsetsRequest", _column("timestamp", "int64"), _column("max_num_offsets", "int32", default=1)
    ),
    (Api.LIST_OFFSETS, 0, "response"): _list_offsets("ListOffsetsResponse", _column("error_code", "int16"), _OFFSETS),
}
"""The schema of a message, by API, version and side."""

SAME_AS: Final[Mapping[tuple[Api, int, str], int]] = {(Api.OFFSET_COMMIT, 1, "response"): 2}
"""The version whose form a message shares, by API, version and side."""

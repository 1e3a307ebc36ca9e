"""Messages that Kafka 4 dropped and old brokers still speak, in the form of the schemas that `kafka_shapes.py` compiles.

Only what a group's members send: OffsetCommit v1, which gives each partition a time of its own (read in 1.1.0's `OffsetCommitRequest`);
the answers are those of v2. Not here: OffsetCommit v0 and OffsetFetch v0, whose offsets brokers before 4.0 keep in ZooKeeper.
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

ENTITIES: Final[Mapping[tuple[Api, int, str], Any]] = {(Api.OFFSET_COMMIT, 1, "request"): _OFFSET_COMMIT_1}
"""The schema of a message, by API, version and side."""

SAME_AS: Final[Mapping[tuple[Api, int, str], int]] = {(Api.OFFSET_COMMIT, 1, "response"): 2}
"""The version that a message has the form of, by API, version and side."""

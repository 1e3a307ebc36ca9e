"""Faust's user data in the consumer protocol's blobs, for the assignor `faust`: one JSON object, zlib-compressed in an assignment. Pure.

Faust's `ClientMetadata`: the partitions that the member works on (`actives`) and replicates (`standbys`), and its URL. An assignment also has the
partitions of changelogs and of other topics by URL, and the number of each topic's co-partitioned group.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Final

import msgspec

from groupproof.protocol.vocabulary import TopicPartition
from groupproof.protocol.wire.blob_reader import BlobError

__all__ = ["ASSIGNOR", "METADATA_VERSION", "FaustError", "FaustMetadata", "decode_faust_assignment", "decode_faust_subscription", "encode_faust_assignment", "encode_faust_subscription"]  # fmt: skip

ASSIGNOR: Final = "faust"
"""The assignor's name in JoinGroup."""

METADATA_VERSION: Final = 4
"""The version in Faust's blobs (`PartitionAssignor.version`), with the fields of version 0."""

_BYTES_MAX: Final = 2**20


class FaustError(BlobError):
    """User data that is not a ClientMetadata. `str()` gives the reason."""


_Partitions = dict[str, list[int]]


class _Assignment(msgspec.Struct, frozen=True):
    actives: _Partitions
    standbys: _Partitions


class _Metadata(msgspec.Struct, frozen=True):
    assignment: _Assignment
    url: str
    changelog_distribution: dict[str, _Partitions] = {}
    external_topic_distribution: dict[str, _Partitions] = {}
    topic_groups: dict[str, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FaustMetadata:
    """A worker's report of itself, or its leader's assignment. `owners` are the partitions by the URL of the worker that works on them."""

    url: str
    actives: frozenset[TopicPartition] = frozenset()
    standbys: frozenset[TopicPartition] = frozenset()
    owners: dict[str, frozenset[TopicPartition]] = field(default_factory=dict)
    topic_groups: dict[str, int] = field(default_factory=dict)


def encode_faust_subscription(metadata: FaustMetadata) -> bytes:
    """Return the user data of a subscription."""
    return msgspec.json.encode(
        _Metadata(
            assignment=_Assignment(actives=_by_topic(metadata.actives), standbys=_by_topic(metadata.standbys)),
            url=metadata.url,
            external_topic_distribution={url: _by_topic(owned) for url, owned in metadata.owners.items()},
            topic_groups=metadata.topic_groups,
        )
    )


def encode_faust_assignment(metadata: FaustMetadata) -> bytes:
    """Return the user data of an assignment."""
    return zlib.compress(encode_faust_subscription(metadata))


def decode_faust_subscription(user_data: bytes) -> FaustMetadata:
    """Read the user data of a subscription; raise `FaustError`."""
    try:
        read = msgspec.json.decode(user_data, type=_Metadata)
    except msgspec.DecodeError as error:
        raise FaustError(f"user data of {ASSIGNOR} {error}") from error
    return FaustMetadata(
        url=read.url,
        actives=_partitions(read.assignment.actives),
        standbys=_partitions(read.assignment.standbys),
        owners={url: _partitions(owned) for url, owned in read.external_topic_distribution.items()},
        topic_groups=dict(read.topic_groups or {}),
    )


def decode_faust_assignment(user_data: bytes) -> FaustMetadata:
    """Read the user data of an assignment; raise `FaustError`, also for data that decompresses to more than any group needs."""
    reader = zlib.decompressobj()
    try:
        plain = reader.decompress(user_data, _BYTES_MAX)
    except zlib.error as error:
        raise FaustError(f"user data of {ASSIGNOR} is not compressed: {error}") from error
    if not reader.eof:
        raise FaustError(f"user data of {ASSIGNOR} ends too early, or is longer than {_BYTES_MAX} bytes")
    return decode_faust_subscription(plain)


def _by_topic(partitions: frozenset[TopicPartition]) -> _Partitions:
    listed: _Partitions = {}
    for topic, number in sorted(partitions):
        listed.setdefault(topic, []).append(number)
    return listed


def _partitions(listed: _Partitions) -> frozenset[TopicPartition]:
    return frozenset((topic, number) for topic, numbers in listed.items() for number in numbers)

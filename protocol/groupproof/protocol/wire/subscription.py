"""The consumer protocol's blobs in JoinGroup and SyncGroup: Subscription v0 to v3 and Assignment v0 to v3.

Kafka's `ConsumerProtocol`: a version as int16, then fields, to which later versions append. A reader reads the fields that it knows of a newer
version and ignores the rest (KIP-429 for owned partitions, KIP-792 for the generation, KIP-881 for the rack).

A subscription that ends where a field of a later version begins is also read: kafka-go (segmentio/kafka-go#1156) and platformatic up to 2.11 declare
version 1 and send the bytes of version 0. Brokers, sarama and franz-go read it like version 0; a Java leader does not. An assignment that ends before
its user data, which every version has, is also read: pykafka sends that, and a Java member does not read it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any, Final, Literal

from groupproof.protocol.vocabulary import TopicPartition
from groupproof.protocol.wire.blob_reader import BlobError, BlobReader

__all__ = [
    "SUBSCRIPTION_VERSION_MAX", "Assignment", "Subscription", "SubscriptionError", "decode_assignment", "decode_subscription",
    "encode_assignment", "encode_subscription",
]  # fmt: skip

SUBSCRIPTION_VERSION_MAX: Final = 3
"""The newest version of both blobs whose fields are implemented."""


_READ_MAX: Final = 4_096
"""The number of blobs whose decoded form is cached: members send the same ones repeatedly."""


class SubscriptionError(BlobError):
    """A blob that is not a subscription or assignment. `str()` gives the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """A member's subscription and owned partitions. `owned` needs v1, `generation` (-1: none) v2, `rack` v3; older versions leave them out.

    `ends_before` names the field at which the blob ends although its version has it. This field and the later ones have their defaults.
    """

    topics: tuple[str, ...] = ()
    owned: tuple[TopicPartition, ...] = ()
    generation: int = -1
    rack: str | None = None
    user_data: bytes | None = None
    version: int = 0
    ends_before: Literal["", "owned partitions", "generation", "rack"] = ""

    @property
    def is_truncated(self) -> bool:
        return bool(self.ends_before)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """The leader's assignment for a member. `is_truncated` says that the blob ends before the user data, which is present even where it is null."""

    partitions: tuple[TopicPartition, ...] = ()
    user_data: bytes | None = None
    version: int = 0
    is_truncated: bool = False


def encode_subscription(subscription: Subscription) -> bytes:
    """Return the blob in `subscription.version`, without fields that this version lacks, and without those from `ends_before` on."""
    out = bytearray(_INT16.pack(subscription.version))
    out += _INT32.pack(len(subscription.topics))
    for topic in subscription.topics:
        out += _text(topic)
    out += _nullable_bytes(subscription.user_data)
    version, ends_before = subscription.version, subscription.ends_before
    if version < 1 or ends_before == "owned partitions":
        return bytes(out)
    out += _partitions(subscription.owned)
    if version < 2 or ends_before == "generation":
        return bytes(out)
    out += _INT32.pack(subscription.generation)
    if version >= 3 and ends_before != "rack":
        out += _INT16.pack(-1) if subscription.rack is None else _text(subscription.rack)
    return bytes(out)


@lru_cache(maxsize=_READ_MAX)
def decode_subscription(blob: bytes) -> Subscription:
    """Read a blob of any version from 0 on; raise `SubscriptionError` where it ends within a field or has invalid content."""
    reading = _Reading(blob, "subscription", SubscriptionError)
    version = reading.version()
    topics = tuple(reading.text("topic") for _ in range(reading.count("topics", 2)))
    words: dict[str, Any] = {"topics": topics, "user_data": reading.nullable_bytes("user data"), "version": version}
    for name, field, read in _LATER[: max(version, 0)]:
        if reading.is_at_end:
            words["ends_before"] = name
            break
        words[field] = read(reading)
    return Subscription(**words)


def encode_assignment(assignment: Assignment) -> bytes:
    """Return the blob. All versions have the same fields."""
    user_data = b"" if assignment.is_truncated else _nullable_bytes(assignment.user_data)
    return _INT16.pack(assignment.version) + _partitions(assignment.partitions) + user_data


@lru_cache(maxsize=_READ_MAX)
def decode_assignment(blob: bytes) -> Assignment:
    """Read a blob of any version from 0 on; raise `SubscriptionError`. An empty blob is an empty assignment, as for clients."""
    if not blob:
        return Assignment()
    reading = _Reading(blob, "assignment", SubscriptionError)
    version = reading.version()
    partitions = reading.partitions()
    if reading.is_at_end:
        return Assignment(partitions=partitions, version=version, is_truncated=True)
    return Assignment(partitions=partitions, user_data=reading.nullable_bytes("user data"), version=version)


class _Reading(BlobReader):
    """Kafka's `ConsumerProtocol`: a version, and partitions grouped by topic."""

    def version(self) -> int:
        version = self.int16("version")
        if version < 0:
            raise self.refuse(f"of version {version}")
        return version

    def partitions(self) -> tuple[TopicPartition, ...]:
        found: list[TopicPartition] = []
        for _ in range(self.count("topics with partitions", 6)):
            topic = self.text("topic")
            found.extend((topic, self.int32("partition")) for _ in range(self.count("partitions", 4)))
        return tuple(found)


_LATER: Final[tuple[tuple[str, str, Callable[[_Reading], object]], ...]] = (
    ("owned partitions", "owned", _Reading.partitions),
    ("generation", "generation", lambda reading: reading.int32("generation")),
    ("rack", "rack", lambda reading: reading.nullable_text("rack")),
)
"""The fields that versions 1, 2 and 3 append: title, attribute and reader."""


def _partitions(partitions: Iterable[TopicPartition]) -> bytes:
    """Encode partitions grouped by topic, with topics in the order of their first partition."""
    order: dict[str, int] = {}
    for topic, _ in partitions:
        order.setdefault(topic, len(order))
    grouped = groupby(sorted(partitions, key=lambda entries: order[entries[0]]), key=lambda entries: entries[0])
    out = bytearray(_INT32.pack(len(order)))
    for topic, item in grouped:
        numbers = [number for _, number in item]
        out += _text(topic) + _INT32.pack(len(numbers)) + struct.pack(f">{len(numbers)}i", *numbers)
    return bytes(out)


def _text(value: str) -> bytes:
    encoded = value.encode()
    return _INT16.pack(len(encoded)) + encoded


def _nullable_bytes(value: bytes | None) -> bytes:
    return _INT32.pack(-1) if value is None else _INT32.pack(len(value)) + value


_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")

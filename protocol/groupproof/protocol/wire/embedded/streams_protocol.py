"""Kafka Streams' user data in the consumer protocol's blobs, for the assignor `stream`: SubscriptionInfo and AssignmentInfo, versions 1 to 11. Pure.

A subscription's user data is the member's report (process, end point, tasks and their progress). An assignment's is the leader's decision (active and
standby tasks, the partitions of all hosts, the next probing rebalance: KIP-441). From version 3 on, the used version is followed by the newest one
that the sender supports, so that a rolling upgrade finds a common one (KIP-268).

An unknown version is not an error: a reader reads the two version numbers, as Kafka's does. Versions 1 and 2 have no version probing.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeVar

from groupproof.protocol.vocabulary import TopicPartition
from groupproof.protocol.wire.blob_reader import BlobError, BlobReader

__all__ = [
    "ASSIGNMENT_ERROR", "ASSIGNOR", "INCOMPLETE_SOURCE_TOPICS", "LATEST_OFFSET", "NO_ERROR", "NO_REBALANCE_MS", "PROBEABLE_SINCE", "SHUTDOWN_REQUESTED",
    "STREAMS_VERSION_MAX", "VERSION_PROBING", "AssignmentInfo", "HostPartitions", "StreamsError", "SubscriptionInfo", "Task", "decode_assignment_info",
    "decode_subscription_info", "encode_assignment_info", "encode_subscription_info",
]  # fmt: skip

_Item = TypeVar("_Item")

ASSIGNOR: Final = "stream"
"""The assignor's name in JoinGroup."""

STREAMS_VERSION_MAX: Final = 11
"""The newest version of both whose fields are implemented (Kafka 3.2; 4.3 has the same)."""

PROBEABLE_SINCE: Final = 3
"""The first version with which members of different releases find a common one (KIP-268)."""

# Kafka's AssignorError: in an assignment its result, in a subscription the member's request to all.
NO_ERROR: Final = 0
INCOMPLETE_SOURCE_TOPICS: Final = 1
VERSION_PROBING: Final = 2
ASSIGNMENT_ERROR: Final = 3
SHUTDOWN_REQUESTED: Final = 4

LATEST_OFFSET: Final = -2
"""The offset sum of a running active task, which has no lag."""

UNKNOWN_SUM: Final = -3
"""The offset sum of a standby task in versions without sums."""

NO_REBALANCE_MS: Final = 2**63 - 1
"""The time of the next probing rebalance where none is planned."""

_END_POINT_SINCE, _ERROR_SINCE, _DICTIONARY_SINCE, _STANDBYS_SINCE, _SUMS_SINCE = 2, 4, 5, 6, 7
_UNIQUE_SINCE, _CODE_SINCE, _NAMED_SINCE, _TAGS_SINCE = 8, 9, 10, 11


class StreamsError(BlobError):
    """User data that is not a SubscriptionInfo or AssignmentInfo. `str()` gives the reason."""


@dataclass(frozen=True, slots=True, order=True)
class Task:
    """A task: its subtopology and partition, and the name of its topology, if any."""

    subtopology: int
    partition: int
    topology: str = ""

    def __str__(self) -> str:
        return f"{self.topology}__{self.subtopology}_{self.partition}" if self.topology else f"{self.subtopology}_{self.partition}"


HostPartitions = tuple[tuple[str, int, tuple[TopicPartition, ...]], ...]
"""Hosts, their ports, and the partitions that can be queried there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionInfo:
    """A member's report of its process, whose id is a UUID in 32 hex digits.

    `offset_sums` are its tasks with their progress; `LATEST_OFFSET` marks active tasks.
    """

    version: int
    latest: int = -1
    process: str = "0" * 32
    end_point: str = ""
    offset_sums: tuple[tuple[Task, int], ...] = ()
    unique: int = 0
    error: int = 0
    tags: tuple[tuple[str, str], ...] = ()

    @property
    def is_known(self) -> bool:
        return self.version <= STREAMS_VERSION_MAX

    @property
    def active(self) -> tuple[Task, ...]:
        return tuple(task for task, offset_sum in self.offset_sums if offset_sum == LATEST_OFFSET)


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentInfo:
    """The leader's assignment for a member. `active` are its tasks, in the order of its assigned partitions."""

    version: int
    commonly: int = -1
    active: tuple[Task, ...] = ()
    standby: tuple[tuple[Task, tuple[TopicPartition, ...]], ...] = ()
    hosts: HostPartitions = ()
    standby_hosts: HostPartitions = ()
    error: int = 0
    next_rebalance_ms: int = NO_REBALANCE_MS

    @property
    def is_known(self) -> bool:
        return self.version <= STREAMS_VERSION_MAX


def encode_subscription_info(info: SubscriptionInfo) -> bytes:
    """Return the user data in `info.version`, without the fields that this version lacks."""
    version, out = info.version, bytearray(_INT32.pack(info.version))
    out += _INT32.pack(info.latest) if version >= PROBEABLE_SINCE else b""
    out += bytes.fromhex(info.process)
    if version < _SUMS_SINCE:
        for is_active in (True, False):
            out += _listed([task for task, item in info.offset_sums if (item == LATEST_OFFSET) is is_active], _task)
    out += _long_text(info.end_point) if version >= _END_POINT_SINCE else b""
    out += _sums(info) if version >= _SUMS_SINCE else b""
    out += _INT8.pack(info.unique) if version >= _UNIQUE_SINCE else b""
    out += _INT32.pack(info.error) if version >= _CODE_SINCE else b""
    out += _listed(info.tags, lambda tag: _long_text(tag[0]) + _long_text(tag[1])) if version >= _TAGS_SINCE else b""
    return bytes(out)


def decode_subscription_info(user_data: bytes) -> SubscriptionInfo:
    """Read user data of any version from 1 on; above `STREAMS_VERSION_MAX` only the version numbers. Raise `StreamsError`."""
    reading = BlobReader(user_data, "subscription info", StreamsError)
    version = _version(reading)
    latest = reading.int32("latest version") if version >= PROBEABLE_SINCE else -1
    if version > STREAMS_VERSION_MAX:
        return SubscriptionInfo(version=version, latest=latest)
    process = reading.raw(16, "process id").hex()
    sums = () if version >= _SUMS_SINCE else (*_old_tasks(reading, "active tasks", LATEST_OFFSET), *_old_tasks(reading, "standby tasks", UNKNOWN_SUM))
    end_point = reading.long_text("end point") if version >= _END_POINT_SINCE else ""
    sums = _read_sums(reading, version) if version >= _SUMS_SINCE else sums
    return SubscriptionInfo(
        version=version,
        latest=latest,
        process=process,
        end_point=end_point,
        offset_sums=sums,
        unique=reading.int8("unique field") if version >= _UNIQUE_SINCE else 0,
        error=reading.int32("error") if version >= _CODE_SINCE else 0,
        tags=reading.listed("tags", 8, lambda: (reading.long_text("tag"), reading.long_text("tag's value"))) if version >= _TAGS_SINCE else (),
    )


def encode_assignment_info(info: AssignmentInfo) -> bytes:
    """Return the user data in `info.version`, without the fields that this version lacks."""
    version, out = info.version, bytearray(_INT32.pack(info.version))
    task = _named_task if version >= _NAMED_SINCE else _task
    out += _INT32.pack(info.commonly) if version >= PROBEABLE_SINCE else b""
    out += _listed(info.active, task) + _listed(info.standby, lambda item: task(item[0]) + _listed(item[1], _partition))
    if version >= _DICTIONARY_SINCE:
        out += _by_dictionary(info, has_standbys=version >= _STANDBYS_SINCE)
    elif version >= _END_POINT_SINCE:
        out += _listed(info.hosts, lambda host: _text(host[0]) + _INT32.pack(host[1]) + _listed(host[2], _partition))
    out += _INT32.pack(info.error) if version >= _ERROR_SINCE else b""
    out += _INT64.pack(info.next_rebalance_ms) if version >= _SUMS_SINCE else b""
    return bytes(out)


def decode_assignment_info(user_data: bytes) -> AssignmentInfo:
    """Read user data of any version from 1 on; above `STREAMS_VERSION_MAX` only the version numbers. Raise `StreamsError`."""
    reading = BlobReader(user_data, "assignment info", StreamsError)
    version = _version(reading)
    commonly = reading.int32("commonly supported version") if version >= PROBEABLE_SINCE else -1
    if version > STREAMS_VERSION_MAX:
        return AssignmentInfo(version=version, commonly=commonly)

    def task() -> Task:
        return _read_task(reading, has_topology=version >= _NAMED_SINCE)

    active = reading.listed("active tasks", 8, task)
    standby = reading.listed("standby tasks", 12, lambda: (task(), reading.listed("partitions", 6, lambda: _read_partition(reading))))
    hosts: HostPartitions = ()
    standby_hosts: HostPartitions = ()
    if version >= _DICTIONARY_SINCE:
        topics = dict(reading.listed("topics", 6, lambda: (reading.int32("index"), reading.text("topic"))))
        hosts = _read_hosts(reading, lambda: _read_indexed(reading, topics))
        standby_hosts = _read_hosts(reading, lambda: _read_indexed(reading, topics)) if version >= _STANDBYS_SINCE else ()
    elif version >= _END_POINT_SINCE:
        hosts = _read_hosts(reading, lambda: _read_partition(reading))
    return AssignmentInfo(
        version=version,
        commonly=commonly,
        active=active,
        standby=standby,
        hosts=hosts,
        standby_hosts=standby_hosts,
        error=reading.int32("error") if version >= _ERROR_SINCE else 0,
        next_rebalance_ms=reading.int64("next rebalance") if version >= _SUMS_SINCE else NO_REBALANCE_MS,
    )


# Reading


def _version(reading: BlobReader) -> int:
    version = reading.int32("version")
    if version < 1:
        raise reading.refuse(f"of version {version}")
    return version


def _read_task(reading: BlobReader, *, has_topology: bool = False) -> Task:
    subtopology, partition = reading.int32("subtopology"), reading.int32("partition")
    topology = reading.raw(2 * reading.count("characters of the topology", 2), "topology") if has_topology else b""
    return Task(subtopology, partition, topology.decode("utf-16-be", "replace"))


def _old_tasks(reading: BlobReader, name: str, offset_sum: int) -> tuple[tuple[Task, int], ...]:
    return reading.listed(name, 8, lambda: (_read_task(reading), offset_sum))


def _read_sums(reading: BlobReader, version: int) -> tuple[tuple[Task, int], ...]:
    if version >= _NAMED_SINCE:
        return reading.listed("tasks", 18, lambda: _read_sum(reading))
    grouped = reading.listed(
        "subtopologies", 8, lambda: (reading.int32("subtopology"), reading.listed("partitions", 12, lambda: _read_old_sum(reading)))
    )
    return tuple((Task(subtopology, partition), offset_sum) for subtopology, sums in grouped for partition, offset_sum in sums)


def _read_sum(reading: BlobReader) -> tuple[Task, int]:
    subtopology, partition, offset_sum = reading.int32("subtopology"), reading.int32("partition"), reading.int64("offset sum")
    return Task(subtopology, partition, reading.nullable_text("topology") or ""), offset_sum


def _read_old_sum(reading: BlobReader) -> tuple[int, int]:
    return reading.int32("partition"), reading.int64("offset sum")


def _read_hosts(reading: BlobReader, partition: Callable[[], TopicPartition]) -> HostPartitions:
    return reading.listed("hosts", 10, lambda: (reading.text("host"), reading.int32("port"), reading.listed("partitions", 6, partition)))


def _read_partition(reading: BlobReader) -> TopicPartition:
    return reading.text("topic"), reading.int32("partition")


def _read_indexed(reading: BlobReader, topics: dict[int, str]) -> TopicPartition:
    index = reading.int32("topic's index")
    if index not in topics:
        raise reading.refuse(f"with a topic of index {index}, of {len(topics)}")
    return topics[index], reading.int32("partition")


# Writing


def _listed(items: Iterable[_Item], item: Callable[[_Item], bytes]) -> bytes:
    made = [item(entry) for entry in items]
    return _INT32.pack(len(made)) + b"".join(made)


def _task(task: Task) -> bytes:
    return _INT32.pack(task.subtopology) + _INT32.pack(task.partition)


def _named_task(task: Task) -> bytes:
    return _task(task) + _INT32.pack(len(task.topology.encode("utf-16-be")) // 2) + task.topology.encode("utf-16-be")


def _sums(info: SubscriptionInfo) -> bytes:
    if info.version >= _NAMED_SINCE:
        return _listed(info.offset_sums, lambda item: _task(item[0]) + _INT64.pack(item[1]) + _nullable_text(item[0].topology))
    grouped: dict[int, list[tuple[int, int]]] = {}
    for task, offset_sum in info.offset_sums:
        grouped.setdefault(task.subtopology, []).append((task.partition, offset_sum))
    return _listed(grouped.items(), lambda item: _INT32.pack(item[0]) + _listed(item[1], lambda one: _INT32.pack(one[0]) + _INT64.pack(one[1])))


def _by_dictionary(info: AssignmentInfo, *, has_standbys: bool) -> bytes:
    both = (info.hosts, info.standby_hosts) if has_standbys else (info.hosts,)
    topics = {topic: index for index, topic in enumerate(dict.fromkeys(topic for hosts in both for _, _, owned in hosts for topic, _ in owned))}
    out = _listed(topics.items(), lambda item: _INT32.pack(item[1]) + _text(item[0]))
    for hosts in both:
        out += _listed(
            hosts,
            lambda host: _text(host[0]) + _INT32.pack(host[1]) + _listed(host[2], lambda one: _INT32.pack(topics[one[0]]) + _INT32.pack(one[1])),
        )
    return out


def _partition(partition: TopicPartition) -> bytes:
    return _text(partition[0]) + _INT32.pack(partition[1])


def _text(value: str) -> bytes:
    encoded = value.encode()
    return _INT16.pack(len(encoded)) + encoded


def _nullable_text(value: str) -> bytes:
    return _text(value) if value else _INT16.pack(-1)


def _long_text(value: str) -> bytes:
    encoded = value.encode()
    return _INT32.pack(len(encoded)) + encoded


_INT8: Final = struct.Struct(">b")
_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_INT64: Final = struct.Struct(">q")

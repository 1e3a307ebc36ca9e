"""Kafka Connect's blobs in JoinGroup and SyncGroup: a worker's state and its assignment, versions 0 to 2. Pure.

Kafka's `ConnectProtocol` (version 0, protocol `default`, eager) and `IncrementalCooperativeConnectProtocol` (KIP-415: version 1, `compatible`;
KIP-507: version 2, `sessioned`, with the same fields). A reader reads the fields that it knows of a newer version and ignores the rest. Missing
fields at the end of version 1 have their defaults (`TOLERATE_MISSING_FIELDS_WITH_DEFAULTS`).

A connector is a job beside its tasks. It has the task number -1 (`ConnectProtocol.CONNECTOR_TASK`), so connectors and tasks are modelled as
partitions of a topic.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from groupproof.protocol.vocabulary import TopicPartition
from groupproof.protocol.wire.blob_reader import BlobError, BlobReader

__all__ = [
    "CONFIG_MISMATCH", "CONNECTOR", "CONNECT_PROTOCOLS", "PROTOCOL_TYPE", "ConnectAssignment", "ConnectError", "WorkerState", "decode_connect_assignment",
    "decode_worker_state", "encode_connect_assignment", "encode_worker_state",
]  # fmt: skip

PROTOCOL_TYPE: Final = "connect"
"""The protocol type of a group of workers."""

CONNECT_PROTOCOLS: Final = ("default", "compatible", "sessioned")
"""The protocols' names, by the version of their blobs."""

CONNECTOR: Final = -1
"""The task number that stands for the connector itself."""

CONFIG_MISMATCH: Final = 1
"""The error of an assignment whose leader has read less of the configuration than another worker."""


class ConnectError(BlobError):
    """A blob that is not a worker's state or an assignment. `str()` gives the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectAssignment:
    """The leader's assignment for a worker, with the error, the leader's identity, and its offset in the configuration.

    In version 0 `assigned` are all jobs of the worker. From version 1 on they are the new ones, and `revoked` are those to give up. With a `delay_ms`
    the worker rejoins after that time.
    """

    error: int = 0
    leader: str = ""
    leader_url: str = ""
    offset: int = -1
    assigned: tuple[TopicPartition, ...] = ()
    revoked: tuple[TopicPartition, ...] = ()
    delay_ms: int = 0
    version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerState:
    """A worker's report of itself: the URL of its REST server, its offset in the configuration, and from version 1 on its current assignment."""

    url: str = ""
    offset: int = -1
    assignment: ConnectAssignment | None = None
    version: int = 0


def encode_worker_state(state: WorkerState) -> bytes:
    """Return the blob in `state.version`."""
    out = _INT16.pack(state.version) + _text(state.url) + _INT64.pack(state.offset)
    if state.version == 0:
        return out
    if state.assignment is None:
        return out + _INT32.pack(-1)
    allocation = encode_connect_assignment(state.assignment)
    return out + _INT32.pack(len(allocation)) + allocation


def decode_worker_state(blob: bytes) -> WorkerState:
    """Read a blob of any version from 0 on; raise `ConnectError` where it ends within a field or its version is below 0."""
    reading = BlobReader(blob, "worker state", ConnectError)
    version = _version(reading)
    url, offset = reading.text("url"), reading.int64("config offset")
    allocation = None if version == 0 or reading.is_at_end else reading.nullable_bytes("allocation")
    assignment = None if allocation is None else decode_connect_assignment(allocation)
    return WorkerState(url=url, offset=offset, assignment=assignment, version=version)


def encode_connect_assignment(assignment: ConnectAssignment) -> bytes:
    """Return the blob in `assignment.version`. Version 0 has no revoked jobs and no delay."""
    out = _INT16.pack(assignment.version) + _INT16.pack(assignment.error) + _text(assignment.leader) + _text(assignment.leader_url)
    out += _INT64.pack(assignment.offset) + _jobs(assignment.assigned)
    return out if assignment.version == 0 else out + _jobs(assignment.revoked) + _INT32.pack(assignment.delay_ms)


def decode_connect_assignment(blob: bytes) -> ConnectAssignment:
    """Read a blob of any version from 0 on; raise `ConnectError`."""
    reading = BlobReader(blob, "assignment", ConnectError)
    version = _version(reading)
    error, leader, leader_url = reading.int16("error"), reading.text("leader"), reading.text("leader's url")
    offset = reading.int64("config offset")
    if version == 0:
        assigned = _read_jobs(reading, "assigned connectors")
        return ConnectAssignment(error=error, leader=leader, leader_url=leader_url, offset=offset, assigned=assigned)
    return ConnectAssignment(
        error=error,
        leader=leader,
        leader_url=leader_url,
        offset=offset,
        assigned=() if reading.is_at_end else _read_jobs(reading, "assigned connectors", is_nullable=True),
        revoked=() if reading.is_at_end else _read_jobs(reading, "revoked connectors", is_nullable=True),
        delay_ms=0 if reading.is_at_end else reading.int32("delay"),
        version=version,
    )


def _version(reading: BlobReader) -> int:
    version = reading.int16("version")
    if version < 0:
        raise reading.refuse(f"of version {version}")
    return version


def _read_jobs(reading: BlobReader, name: str, *, is_nullable: bool = False) -> tuple[TopicPartition, ...]:
    count = reading.nullable_count(name, 6) if is_nullable else reading.count(name, 6)
    found: list[TopicPartition] = []
    for _ in range(count or 0):
        connector = reading.text("connector")
        found.extend((connector, task) for task in reading.listed("tasks", 4, lambda: reading.int32("task")))
    return tuple(found)


def _jobs(jobs: Iterable[TopicPartition]) -> bytes:
    """Encode connectors and tasks by connector, in the order of the connectors' first jobs."""
    by_connector: dict[str, list[int]] = {}
    for connector, task in jobs:
        by_connector.setdefault(connector, []).append(task)
    out = bytearray(_INT32.pack(len(by_connector)))
    for connector, tasks in by_connector.items():
        out += _text(connector) + _INT32.pack(len(tasks)) + struct.pack(f">{len(tasks)}i", *tasks)
    return bytes(out)


def _text(value: str) -> bytes:
    encoded = value.encode()
    return _INT16.pack(len(encoded)) + encoded


_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_INT64: Final = struct.Struct(">q")

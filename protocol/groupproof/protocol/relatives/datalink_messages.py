"""The blobs of DataLink's workers in JoinGroup and SyncGroup: a worker's state, and its assignment.

`DatalinkProtocol` of ucarGroup/DataLink at dd8d26a: a version as int16, then the fields. Its model are Kafka Connect's blobs of 0.10.1. Version 0 is
DataLink's. Version 1 of the worker's state is this kit's: it appends the fields for the planned assignors (PLAN-01 to PLAN-03), so a leader that
knows only version 0 can still read the rest.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from groupproof.protocol.wire.codec import Column, MalformedBytes, Shape
from groupproof.protocol.wire.codec_source import reader_of, writer_of

__all__ = [
    "CONFIG_MISMATCH", "NO_ERROR", "PROTOCOL_NAME", "PROTOCOL_TYPE", "BlobError", "TaskAssignment", "WorkerStatus", "decode_assigned",
    "decode_status", "encode_assigned", "encode_status",
]  # fmt: skip

PROTOCOL_TYPE: Final = "datalink"
PROTOCOL_NAME: Final = "default"
NO_ERROR: Final = 0
CONFIG_MISMATCH: Final = 1

_MILLI: Final = 1_000


class BlobError(ValueError):
    """A blob that is neither of both. `str()` gives the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStatus:
    """A worker's report of itself as it joins.

    `config_version` is that of its task configurations. The other fields need v1. `held` are the tasks of its last assignment, `generation` the
    generation of that (-1: none). `running` are those that it keeps running while it joins. `capacity` is its capacity (a number without a unit,
    above 0). `resources` and `traffic` are the figures on the worker and its tasks that a custom assignor needs.
    """

    url: str
    config_version: int
    generation: int = -1
    held: tuple[str, ...] = ()
    running: tuple[str, ...] = ()
    capacity: float = 1.0
    resources: Mapping[str, float] = field(default_factory=dict)
    traffic: Mapping[str, float] = field(default_factory=dict)
    version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskAssignment:
    """The leader's assignment for a worker, from the configurations of `config_version`. With an error there are no tasks (WTASK-06).

    `is_partial` needs v1: some tasks still run at a worker that has to give them up, so every worker has to rejoin at once.
    """

    leader: str
    config_version: int
    tasks: tuple[str, ...] = ()
    error: int = NO_ERROR
    leader_url: str = ""
    is_partial: bool = False

    @property
    def has_failed(self) -> bool:
        return self.error != NO_ERROR


_AMOUNT: Final = Shape(title="amount", is_flexible=False, columns=(Column(name="name", kind="string"), Column(name="milli", kind="int64")))
_STATUS_V0: Final = (Column(name="version", kind="int16"), Column(name="url", kind="string"), Column(name="config_version", kind="int64"))
_STATUS_V1: Final = (
    *_STATUS_V0, Column(name="generation", kind="int32"), Column(name="held", kind="string", is_array=True), Column(name="running", kind="string", is_array=True),
    Column(name="capacity_milli", kind="int64"), Column(name="resources", kind="struct", is_array=True, shape=_AMOUNT),
    Column(name="traffic", kind="struct", is_array=True, shape=_AMOUNT),
)  # fmt: skip
_ASSIGNMENT: Final = (
    Column(name="version", kind="int16"), Column(name="error", kind="int16"), Column(name="leader", kind="string"), Column(name="leader_url", kind="string"),
    Column(name="config_version", kind="int64"), Column(name="tasks", kind="string", is_array=True),
)  # fmt: skip


class _Blob:
    """One form of a blob, with its reader and writer."""

    def __init__(self, title: str, columns: tuple[Column, ...]) -> None:
        shape = Shape(title=title, is_flexible=False, columns=columns)
        self._title, self._read, self._write = title, reader_of(shape), writer_of(shape)

    def written(self, body: Mapping[str, Any]) -> bytes:
        out = bytearray()
        self._write(out, body)
        return bytes(out)

    def read(self, blob: bytes) -> dict[str, Any]:
        """Read the fields; further bytes belong to a newer version. Raise `BlobError`."""
        try:
            body, _ = self._read(blob, 0, [_ENTRIES_MAX])
        except (MalformedBytes, struct.error, UnicodeDecodeError) as error:
            raise BlobError(f"{self._title} that cannot be read: {error}") from None
        if body["version"] < 0:
            raise BlobError(f"{self._title} of version {body['version']}")
        found: dict[str, Any] = body
        return found


_ENTRIES_MAX: Final = 100_000
_V0: Final = _Blob("worker state", _STATUS_V0)
_V1: Final = _Blob("worker state", _STATUS_V1)
_TASKS: Final = _Blob("worker assignment", _ASSIGNMENT)
_PART: Final = _Blob("worker assignment", (*_ASSIGNMENT, Column(name="is_partial", kind="bool")))


def encode_status(status: WorkerStatus) -> bytes:
    """Return the blob in `status.version`, without the fields that version 0 lacks."""
    body: dict[str, Any] = {"version": status.version, "url": status.url, "config_version": status.config_version}
    if status.version == 0:
        return _V0.written(body)
    more = {
        "generation": status.generation, "held": status.held, "running": status.running, "capacity_milli": round(status.capacity * _MILLI),
        "resources": _amounts(status.resources), "traffic": _amounts(status.traffic),
    }  # fmt: skip
    return _V1.written(body | more)


def decode_status(blob: bytes) -> WorkerStatus:
    """Read a blob of any version from 0 on; raise `BlobError` where it is not valid."""
    body = _V0.read(blob)
    if body["version"] == 0:
        return WorkerStatus(url=body["url"], config_version=body["config_version"])
    body = _V1.read(blob)
    if body["capacity_milli"] <= 0:
        raise BlobError(f"worker state with a capacity of {body['capacity_milli'] / _MILLI}")
    return WorkerStatus(
        url=body["url"], config_version=body["config_version"], generation=body["generation"], held=tuple(body["held"]), running=tuple(body["running"]),
        capacity=body["capacity_milli"] / _MILLI, resources=_by_name(body["resources"]), traffic=_by_name(body["traffic"]), version=body["version"],
    )  # fmt: skip


def encode_assigned(assigned: TaskAssignment) -> bytes:
    """Return the blob in version 0, which is DataLink's, or for a partial assignment in version 1."""
    body = {
        "version": int(assigned.is_partial),
        "error": assigned.error,
        "leader": assigned.leader,
        "leader_url": assigned.leader_url,
        "config_version": assigned.config_version,
    }
    body["tasks"] = assigned.tasks
    return _PART.written(body | {"is_partial": True}) if assigned.is_partial else _TASKS.written(body)


def decode_assigned(blob: bytes) -> TaskAssignment:
    """Read a blob; raise `BlobError` where it is not valid."""
    body = _TASKS.read(blob)
    if body["version"] > 0:
        body = _PART.read(blob)
    return TaskAssignment(
        leader=body["leader"], config_version=body["config_version"], tasks=tuple(body["tasks"]), error=body["error"], leader_url=body["leader_url"],
        is_partial=body.get("is_partial", False),
    )  # fmt: skip


def _amounts(named: Mapping[str, float]) -> tuple[dict[str, Any], ...]:
    return tuple({"name": name, "milli": round(value * _MILLI)} for name, value in named.items())


def _by_name(amounts: list[dict[str, Any]]) -> dict[str, float]:
    return {amount["name"]: amount["milli"] / _MILLI for amount in amounts}

"""Reads files of any kind as traces: the kit's own traces, logs of brokers and clients, captures of packets, with or without gzip."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any, Final

from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.running.importing.broker_log import read_broker_log
from groupproof.harness.running.importing.capture_file import CAPTURE_MAGIC, CaptureError
from groupproof.harness.running.importing.client_log import read_client_log
from groupproof.harness.running.importing.imported_event import ImportedEvent, merged
from groupproof.harness.running.importing.packet_trace import read_capture
from groupproof.harness.running.importing.request_log import read_request_log
from groupproof.harness.running.rejudge import split
from groupproof.harness.running.trace_files import stream, traces_in
from groupproof.harness.subjects.offsets_topic.segment_files import is_segment, read_segments
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.wire.offsets_topic import OffsetsTopic

__all__ = ["PORTS", "FileKind", "import_files", "kind_of", "read_any"]

PORTS: Final = (9092,)
"""The brokers' ports, unless the user sets others."""

_GZIP: Final = b"\x1f\x8b"
_HEAD_BYTES: Final = 4_096
_OF_A_RECORD: Final = ("group", "member", "instance", "client", "generation", "member_epoch", "version", "partitions", "offsets", "body")
"""The columns that a record of the offsets topic can fill."""


class FileKind(Enum):
    """The kind of a file's content."""

    TRACE = "trace"
    LOG = "log"
    CAPTURE = "capture"
    SEGMENT = "segment"


def kind_of(file: Path) -> FileKind:
    """Return the kind of a file by its first bytes; raise `WrongUsage` where it cannot be read."""
    with _reading(file):
        head = _bytes(file, _HEAD_BYTES)
    if head[:4] == b"PAR1":
        return FileKind.TRACE
    if head[:4] in CAPTURE_MAGIC:
        return FileKind.CAPTURE
    if is_segment(head):
        return FileKind.SEGMENT
    begins = head.lstrip()[:200]
    return FileKind.TRACE if begins.startswith(b"{") and b'"seq"' in begins else FileKind.LOG


def read_any(files: Sequence[Path], *, ports: Sequence[int] = PORTS) -> list[Trace]:
    """Return the traces in files and folders, one for each run and case; all logs and captures together make one. Raise `WrongUsage`."""
    files = [file for path in files for file in (traces_in(path) if path.is_dir() else [path])]
    kinds = {file: FileKind.TRACE if file.is_dir() else kind_of(file) for file in files}
    own = [trace for file in files if kinds[file] is FileKind.TRACE for trace in split(list(stream(file)))]
    others = [file for file in files if kinds[file] is not FileKind.TRACE]
    return [*own, *([import_files(others, ports=ports)] if others else [])]


def import_files(files: Sequence[Path], *, ports: Sequence[int] = PORTS) -> Trace:
    """Return one trace of logs and captures; raise `WrongUsage` for a file of another kind, or without any event of a group."""
    files_read = [_events(file, ports) for file in files]
    return merged(files_read, run=" ".join(file.name for file in files))


def _events(file: Path, ports: Sequence[int]) -> list[ImportedEvent]:
    kind = kind_of(file)
    if kind is FileKind.TRACE:
        raise WrongUsage(f"{file} is a trace already: groupproof trace explain reads it as it is")
    with _reading(file):
        found = _from_segment(file) if kind is FileKind.SEGMENT else _from_capture(file, ports) if kind is FileKind.CAPTURE else _from_log(file)
    if not found:
        formats = (
            f"no requests to port {' or '.join(map(str, ports))}; name the brokers' with --port"
            if kind is FileKind.CAPTURE
            else "no line of a group coordinator, of a request log or of a client"
        )
        raise WrongUsage(f"{file} has nothing about groups: it contains {formats}")
    return found


def _from_capture(file: Path, ports: Sequence[int]) -> list[ImportedEvent]:
    try:
        return list(read_capture(_bytes(file), ports=ports))
    except CaptureError as error:
        raise WrongUsage(f"{file} can't be read as a capture: {error}") from error


def _from_segment(file: Path) -> list[ImportedEvent]:
    """Return the records of a segment of the offsets topic."""
    topic = OffsetsTopic(0)
    return [
        ImportedEvent(at_ms=float(obs.body["timestamp_ms"]), kind=obs.kind, columns=_columns(obs))
        for _, partition, batch in read_segments([file])
        for obs in topic.follow(partition, batch)
    ]


def _columns(obs: Observation) -> dict[str, Any]:
    return {name: getattr(obs, name) for name in _OF_A_RECORD}


def _from_log(file: Path) -> list[ImportedEvent]:
    return [event for reader in (read_broker_log, read_request_log, read_client_log) for event in reader(_lines(file))]


@contextmanager
def _reading(file: Path) -> Iterator[None]:
    """Turn errors of reading a file into one line for the user who named it."""
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise WrongUsage(f"{file} is no whole gzip file: {error}") from error
    except OSError as error:
        raise WrongUsage(f"{file} can't be read: {error.strerror or error}") from error


def _bytes(file: Path, size: int = -1) -> bytes:
    with file.open("rb") as opened:
        is_packed = opened.read(2) == _GZIP
    with gzip.open(file) if is_packed else file.open("rb") as data:
        return data.read(size)


def _lines(file: Path) -> Iterator[str]:
    with file.open("rb") as opened:
        is_packed = opened.read(2) == _GZIP
    with gzip.open(file, "rt", encoding="utf-8", errors="replace") if is_packed else file.open(encoding="utf-8", errors="replace") as lines:
        yield from lines

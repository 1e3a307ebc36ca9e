"""The wire beside kio 0.6.5: the hot messages of the group protocol, written and read, one process, one run (`make bench`).

Whole frames, header and body. Both sides write the same bytes, which is looked at before anything is timed. A figure is the best of many short rounds in processor time, ours
and kio's in turns, so that a busy machine does no harm. kio writes typed objects in Python and reads them in native code; ours are plain
dictionaries both ways, read by Python that trusts no length (decision 0006), which is why reading is the slower of the two here.

Aim: to write at least three times as fast as kio.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer
from rich.console import Console
from rich.table import Table

from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import read_request, read_response, write_request, write_response

__all__ = ["CASES", "Compared", "compare", "show"]

WRITE_AIM: Final = 3.0
_MEMBER: Final = "m0-cd613e30-d8f1-4adf-91b7-584a2265b1f5"
_BLOB: Final = b"x" * 40
_ROUNDS: Final = 20
_ROUND_S: Final = 0.002

Body = dict[str, Any]


def _partitions(**columns: Any) -> tuple[Body, ...]:
    return tuple({"partition_index": index, **columns} for index in range(5))


_WHO: Final[Body] = {"group_id": "group-1", "generation_id": 3, "member_id": _MEMBER}
_JOIN: Final[Body] = {
    "group_id": "group-1", "session_timeout_ms": 10_000, "rebalance_timeout_ms": 60_000, "member_id": _MEMBER, "protocol_type": "consumer",
    "protocols": ({"name": "range", "metadata": _BLOB}, {"name": "cooperative-sticky", "metadata": _BLOB}),
}  # fmt: skip
_LISTED: Final = tuple({"member_id": f"{_MEMBER}{number}", "metadata": _BLOB} for number in range(100))
_JOINED: Final[Body] = {"generation_id": 3, "protocol_type": "consumer", "protocol_name": "range", "leader": _MEMBER, "member_id": _MEMBER}
_GIVEN: Final = tuple({"member_id": f"{_MEMBER}{number}", "assignment": _BLOB} for number in range(100))
_COMMITTED: Final = tuple({"name": f"t{topic}", "partitions": _partitions(committed_offset=7, committed_metadata="")} for topic in range(2))
_CODES: Final = tuple({"name": f"t{topic}", "partitions": _partitions(error_code=0)} for topic in range(2))
_FETCHED: Final = tuple({"name": f"t{topic}", "partitions": _partitions(committed_offset=7, metadata="")} for topic in range(2))

CASES: Final[tuple[tuple[str, Api, int, str, Body], ...]] = (
    ("", Api.HEARTBEAT, 3, "request", _WHO),
    ("", Api.HEARTBEAT, 4, "request", _WHO),
    ("", Api.HEARTBEAT, 4, "response", {}),
    ("", Api.JOIN_GROUP, 5, "request", _JOIN),
    ("", Api.JOIN_GROUP, 9, "request", _JOIN),
    ("", Api.JOIN_GROUP, 9, "response", _JOINED),
    ("100 members", Api.JOIN_GROUP, 9, "response", {**_JOINED, "members": _LISTED}),
    ("", Api.SYNC_GROUP, 5, "request", _WHO),
    ("100 assignments", Api.SYNC_GROUP, 5, "request", {**_WHO, "assignments": _GIVEN}),
    ("", Api.SYNC_GROUP, 5, "response", {"protocol_type": "consumer", "protocol_name": "range", "assignment": _BLOB}),
    ("", Api.LEAVE_GROUP, 5, "request", {"group_id": "group-1", "members": ({"member_id": _MEMBER},)}),
    ("10 partitions", Api.OFFSET_COMMIT, 9, "request", {**_WHO, "topics": _COMMITTED}),
    ("10 partitions", Api.OFFSET_COMMIT, 9, "response", {"topics": _CODES}),
    ("10 partitions", Api.OFFSET_FETCH, 9, "response", {"groups": ({"group_id": "group-1", "topics": _FETCHED},)}),
)
"""What it is, API, version, side and body of each message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One message: seconds that kio and we take to write and to read it."""

    name: str
    size: int
    kio_writes: float
    writes: float
    kio_reads: float
    reads: float


def compare(title: str, api: Api, version: int, side: str, body: Body) -> Compared:
    """Time one message; raise `AssertionError` when kio's bytes are others."""
    schema = load_request_schema(api, version) if side == "request" else load_response_schema(api, version)
    write_kio, read_kio, head = entity_writer(schema), entity_reader(schema), schema.__header_schema__
    write_head, read_head = entity_writer(head), entity_reader(head)

    def write() -> bytes:
        return write_request(api, version, 7, None, body) if side == "request" else write_response(api, version, 7, body)

    def write_by_kio() -> bytes:
        out = io.BytesIO()
        write_head(out, header)
        write_kio(out, entity)
        return out.getvalue()

    def read_by_kio() -> tuple[Any, Any]:
        header, size = read_head(frame, 0)
        return header, read_kio(frame, size)[0]

    frame = write()
    header, entity = read_by_kio()
    assert write_by_kio() == frame, f"kio writes {api.title} v{version} otherwise"
    read = (lambda: read_request(frame)) if side == "request" else (lambda: read_response(api, version, frame))
    kio_writes, writes, kio_reads, reads = _timed(write_by_kio, write, read_by_kio, read)
    name = f"{api.title} v{version} {side}" + (f", {title}" if title else "")
    return Compared(name=name, size=len(frame), kio_writes=kio_writes, writes=writes, kio_reads=kio_reads, reads=reads)


def _timed(*does: Callable[[], object]) -> list[float]:
    """Return the seconds that each takes once, at best."""
    best = [float("inf")] * len(does)
    for _ in range(_ROUNDS):
        for index, do in enumerate(does):
            best[index] = min(best[index], _round(do))
    return best


def _round(do: Callable[[], object]) -> float:
    count, passed, began = 0, 0.0, time.process_time()
    while passed < _ROUND_S:
        for _ in range(10):
            do()
        count += 10
        passed = time.process_time() - began
    return passed / count


def show(console: Console) -> bool:
    """Print every message, and tell whether the aim is met for all."""
    table = Table(title="the wire, microseconds, at best; in brackets how many times as fast as kio")
    table.add_column("message", no_wrap=True)
    for column in ("bytes", "kio writes", "groupproof writes", "kio reads", "groupproof reads"):
        table.add_column(column, justify="right")
    ratios = []
    for case in CASES:
        result = compare(*case)
        ratios.append((result.kio_writes / result.writes, result.name))
        table.add_row(
            result.name, f"{result.size}", f"{result.kio_writes * 1e6:.2f}", f"{result.writes * 1e6:.2f} ({ratios[-1][0]:.1f})",
            f"{result.kio_reads * 1e6:.2f}", f"{result.reads * 1e6:.2f} ({result.kio_reads / result.reads:.2f})",
        )  # fmt: skip
    console.print(table)
    least, name = min(ratios)
    console.print(f"{'met' if least >= WRITE_AIM else 'not met'}: write >= {WRITE_AIM:.0f} x kio; the least is {least:.1f}, {name}", markup=False)
    return least >= WRITE_AIM


if __name__ == "__main__":
    show(Console())

"""How fast the offsets topic is read: a log of commits, and one of group metadata, in one process and in processor time (`make bench`).

Five figures each: batches to records, these kept as `groupproof history` keeps them, records decoded, observations of the trace made of them, and the histories of groups made of these. A figure is the best of some rounds, so that a busy machine does no harm.

Aim: 100,000 records a second, decoded.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from rich.console import Console
from rich.table import Table

from groupproof.chaos.spark.offsets.kept_records import KeptRecords, rows_of
from groupproof.harness.judging.topic_history.topic_history import TopicHistory
from groupproof.harness.subjects.offsets_topic.committed_batches import committed
from groupproof.protocol.wire.coordinator_records import decode_record, encode_record
from groupproof.protocol.wire.log_batches import LogBatch, read_log
from groupproof.protocol.wire.offsets_topic import OffsetsTopic
from groupproof.protocol.wire.records import Record, encode_batch
from groupproof.protocol.wire.subscription import Assignment, Subscription, encode_assignment, encode_subscription

__all__ = ["Measured", "commits", "generations", "measure", "member_of", "show"]

AIM: Final = 100_000
_ROUNDS: Final = 5
_BEGIN_MS: Final = 1_700_000_000_000
_IN_BATCH: Final = 20


class Measured(NamedTuple):
    """Records a second."""

    name: str
    records: int
    read: float
    kept: float
    decoded: float
    observed: float
    analysed: float


def commits(count: int) -> bytes:
    """Return a log of commits of fifty groups, as a broker of 2.1 or later writes them."""
    return _log([
        encode_record(
            "OffsetCommit", {"group": f"payments-{index % 50}", "topic": "orders.events.v1", "partition": index % 64},
            {"offset": 100_000 + index, "leader_epoch": 3, "metadata": "", "commit_timestamp": _BEGIN_MS + index}, 3,
        )
        for index in range(count)
    ])  # fmt: skip


def generations(count: int, members: int = 10) -> bytes:
    """Return a log of generations, each with so many members of four partitions."""
    member = member_of()
    value = {"protocol_type": "consumer", "protocol": "range", "leader": member["member_id"], "members": (member,) * members}
    return _log([encode_record("GroupMetadata", {"group": f"g{index % 50}"}, {**value, "generation": index}, 3) for index in range(count)])


def member_of() -> dict[str, Any]:
    """Return a member with four partitions, as a generation's record has it."""
    subscription = encode_subscription(Subscription(topics=("orders.events.v1",), version=1))
    assignment = encode_assignment(Assignment(partitions=tuple(("orders.events.v1", index) for index in range(4)), version=1))
    return {
        "member_id": "consumer-payments-1-cd613e30-d8f1-4adf-91b7-584a2265b1f5", "client_id": "consumer-payments-1", "client_host": "/10.0.0.7",
        "rebalance_timeout": 300_000, "session_timeout": 45_000, "subscription": subscription, "assignment": assignment,
    }  # fmt: skip


def measure(name: str, blob: bytes) -> Measured:
    """Return the best of some rounds."""
    count = sum(len(batch.records) for batch in read_log(blob) if isinstance(batch, LogBatch))
    return Measured(name, count, *(count / _best(partial(work, blob)) for work in (_read, _keep, _decode, _observe, _analyse)))


def show(results: list[Measured]) -> Table:
    """Return the figures as a table."""
    table = Table("log", "records", "read", "kept", "decoded", "as observations", "analysed", title="records a second, one process")
    for result in results:
        table.add_row(result.name, f"{result.records:,}", *(f"{figure:,.0f}" for figure in result[2:]))
    return table


def _read(blob: bytes) -> None:
    for _ in read_log(blob):
        pass


def _keep(blob: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        kept = KeptRecords(Path(folder))
        for batch in committed(read_log(blob), ()):
            kept.take(0, rows_of(batch))
        kept.flush()


def _decode(blob: bytes) -> None:
    for batch in read_log(blob):
        if isinstance(batch, LogBatch):
            for _, _, key, value in batch.records:
                decode_record(key, value)


def _observe(blob: bytes) -> None:
    topic = OffsetsTopic(_BEGIN_MS)
    for batch in read_log(blob):
        for _ in topic.follow(0, batch):
            pass


def _analyse(blob: bytes) -> None:
    topic, history = OffsetsTopic(_BEGIN_MS), TopicHistory()
    for batch in read_log(blob):
        history.follow_all(topic.follow(0, batch))


def _best(work: Callable[[], None]) -> float:
    return min(_seconds(work) for _ in range(_ROUNDS))


def _seconds(work: Callable[[], None]) -> float:
    gc.collect()
    began = time.process_time()
    work()
    return time.process_time() - began or 1e-9


def _log(records: list[tuple[bytes, bytes | None]]) -> bytes:
    made = [Record(offset=offset, timestamp_ms=_BEGIN_MS + offset, key=key, value=value) for offset, (key, value) in enumerate(records)]
    return b"".join(encode_batch(made[first : first + _IN_BATCH]) for first in range(0, len(made), _IN_BATCH))


if __name__ == "__main__":
    Console().print(show([measure("commits", commits(100_000)), measure("generations of 10 members", generations(5_000))]))

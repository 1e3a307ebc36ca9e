"""The code of a task: runs its members in a thread of their own, and yields each sealed segment as a row of the manifest."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from groupproof.chaos.spark.load.task_channel import Channel, TaskDismissal
from groupproof.chaos.spark.members.load_order import TaskOrder
from groupproof.chaos.spark.members.reference_host import ReferenceHost
from groupproof.chaos.spark.members.task_recorder import TaskRecorder
from groupproof.chaos.spark.traces.trace_segments import NoRoom, Sealer, Segment, Stamp, since
from groupproof.chaos.spark.traces.trace_storage import Place
from groupproof.harness.running.gc_pauses import LONG_LIVED, rare_pauses
from groupproof.harness.subjects.networks.open_files import raise_open_files
from groupproof.protocol.trace_columns import to_batch
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import warm

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["MANIFEST", "play", "player"]

MANIFEST: Final = "task int, attempt int, path string, `group` string, rows long, first_seq long, last_seq long"
"""The manifest's columns, as Spark's DDL."""

_WARMED: Final = (
    Api.API_VERSIONS, Api.METADATA, Api.FIND_COORDINATOR, Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.OFFSET_FETCH, Api.OFFSET_COMMIT,
    Api.LIST_OFFSETS, Api.FETCH, Api.LEAVE_GROUP, Api.CONSUMER_GROUP_HEARTBEAT,
)  # fmt: skip
"""The APIs of members, loaded before they start, so that all of them start at once."""

_COLUMNS: Final = ("task", "attempt", "path", "group", "rows", "first_seq", "last_seq")


def player(orders: Sequence[TaskOrder]) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function for `mapInArrow` over a column of task numbers."""

    def played(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        attempt = 0 if context is None else context.attemptNumber()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from _batches(orders[number], attempt)

    return played


def _batches(order: TaskOrder, attempt: int) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    types = [pa.int32(), pa.int32(), pa.string(), pa.string(), pa.int64(), pa.int64(), pa.int64()]
    for segment in play(order, attempt):
        row = (order.task, attempt, segment.path, segment.group, segment.rows, segment.first_seq, segment.last_seq)
        yield pa.RecordBatch.from_arrays([pa.array([value], kind) for value, kind in zip(row, types, strict=True)], names=list(_COLUMNS))


def play(order: TaskOrder, attempt: int) -> Iterator[Segment]:
    """Run a task's members, and yield each segment as it is sealed; raise the error that ended it, `NoRoom` for a full disk."""
    sealed: queue.SimpleQueue[Segment | BaseException | None] = queue.SimpleQueue()

    def playing() -> None:
        try:
            _played(order, attempt, sealed.put)
            sealed.put(None)
        except BaseException as error:  # raised again in the task's thread
            sealed.put(error)

    threading.Thread(target=playing, daemon=True, name=f"load-{order.task}").start()
    while (segment := sealed.get()) is not None:
        if isinstance(segment, BaseException):
            raise segment
        yield segment


def _played(order: TaskOrder, attempt: int, sealed: Callable[[Segment], None]) -> None:
    raise_open_files()
    warm(_WARMED)
    to_batch(())  # the first call imports pandas, which takes as long as the start of hundreds of members
    try:
        channel = Channel(order.channel, order.secret, order.task, attempt)
    except TaskDismissal:
        return
    try:
        elapsed_ns = since(channel.wait())
        sealer = Sealer(Place.of(order.output), order.run, f"task-{order.task:04}-{attempt}", report=sealed)
        recorder = TaskRecorder(Stamp(order.slot, elapsed_ns), sealer, run=order.run, seed=order.seed, slot=order.slot, attempt=attempt)
        # Enter the plan at its start, or where an earlier session or a lost attempt stopped.
        order = _entered(order, attempt, elapsed_ns() / 1e9)
        with rare_pauses(*LONG_LIVED):
            _host(order, recorder, lambda: elapsed_ns() / 1e9, lambda: _ticked(recorder, channel)).run()
        _ticked(recorder, channel)
        channel.report({"done": True})
    except TaskDismissal:
        return
    except NoRoom as error:
        channel.report({"failed": "no room", "errno": error.errno, "why": error.strerror})
        raise
    except Exception as error:
        channel.report({"failed": type(error).__name__, "why": str(error)})
        raise
    finally:
        channel.close()


def _ticked(recorder: TaskRecorder, channel: Channel) -> bool:
    recorder.seal()
    return channel.report(recorder.counted())


def _entered(order: TaskOrder, attempt: int, elapsed_s: float) -> TaskOrder:
    return replace(order, skip_s=max(order.skip_s, elapsed_s)) if attempt else order


def _host(order: TaskOrder, recorder: TaskRecorder, elapsed_s: Callable[[], float], tick: Callable[[], bool]) -> Any:
    if order.client.kind == "reference":
        return ReferenceHost(order, recorder, elapsed_s, tick)
    from groupproof.chaos.spark.members.thread_host import ThreadHost

    return ThreadHost(order, recorder, elapsed_s, tick)

"""The checkers as a stream: judges a trace while it is written; Spark's state keeps the checkers, by run and bucket of groups.

The state is in the query's checkpoint. After each batch its findings go to the driver, which writes each alert once, even if Spark repeats a batch.
"""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa

from groupproof.chaos.spark.checkers.group_watch import Alert, WatchedGroups, buckets_of
from groupproof.chaos.spark.traces.datasource import FORMAT, register
from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.checkers.live_group import GroupResult
from groupproof.harness.judging.observed.group_results import results_of
from groupproof.protocol.trace_columns import from_batch

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["ALERTS", "Watch", "Watcher", "started", "stopped"]

_STOP_S: Final = 30.0
_LOOK_S: Final = 0.005
ALERTS: Final = "alerts.ndjson"
_ROWS: Final = "run string, case string, bucket int, seen binary"
_STATE: Final = "watched binary"
_ROW_SCHEMA: Final = "run string, case string, bucket int, what string, text string, taken long, rows long, late long, waiting long"
_COLUMNS: Final = ("run", "case", "bucket", "what", "text", "taken", "rows", "late", "waiting")
_ALERT, _GROUP, _PROGRESS, _REST = "alert", "group", "pulse", "rest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """What to watch: the trace at `path`; `delay_s` for reordering, `idle_s` of silence before a group rests, state in `buckets`."""

    path: Path
    delay_s: float = 5.0
    idle_s: float = 10.0
    trigger_ms: int = 1_000
    buckets: int = 8


@dataclass(slots=True)
class Watcher:
    """The driver's state: alerts, which go to `file` and to `say` at once, and the last message of each bucket and group.

    If Spark repeats a batch after an interruption, its number shows this, and nothing is written twice.
    """

    file: Path
    say: Callable[[Alert], None]
    alerts: int = 0
    last_batch: int = -1
    _progress: dict[tuple[str, str, int], Mapping[str, int]] = field(default_factory=dict)
    _rested: dict[tuple[str, str, int], int] = field(default_factory=dict)
    _groups: dict[tuple[str, str, str], GroupResult] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.file.is_file():
            for line in self.file.read_text("utf-8").splitlines():
                self.last_batch = max(self.last_batch, int(json.loads(line)["batch"]))
                self.alerts += 1

    def take(self, rows: Sequence[Mapping[str, Any]], batch: int) -> None:
        """Add the messages of one batch of the query."""
        for row in rows:
            key = (row["run"], row["case"], row["bucket"])
            self._progress[key] = {name: row[name] for name in ("taken", "rows", "late", "waiting")}
            if row["what"] == _REST:
                self._rested[key] = row["taken"]
            if row["what"] == _GROUP:
                message = msgspec.json.decode(row["text"], type=GroupResult)
                self._groups[message.run, message.case, message.group] = message
        found = [json.loads(row["text"]) for row in rows if row["what"] == _ALERT]
        if found and batch > self.last_batch:
            self.last_batch = batch
            with self.file.open("a", encoding="utf-8") as lines:
                lines.writelines(json.dumps({"batch": batch, **item}, ensure_ascii=False) + "\n" for item in found)
            self.alerts += len(found)
            for entry in found:
                self.say(Alert(**entry))

    def total(self, name: str) -> int:
        """Return `rows`, `late` or `waiting` over all buckets."""
        return sum(progress[name] for progress in self._progress.values())

    @property
    def is_at_rest(self) -> bool:
        """Whether all observations have been judged, and the results of their groups have been reported."""
        return all(self._rested.get(key) == progress["taken"] for key, progress in self._progress.items())

    def results(self) -> list[CaseResult]:
        """Return the current verdicts on the groups, as in `groupproof trace check`."""
        return [result for _, group in sorted(self._groups.items()) for result in results_of(group)]


def started(spark: SparkSession, watch: Watch, watcher: Watcher, checkpoint: Path) -> StreamingQuery:
    """Start watching; with the `checkpoint` of an interrupted query, continue there."""
    register(spark)
    rows = _rows_of(spark.readStream.format(FORMAT).load(str(watch.path)), watch)
    writing = rows.writeStream.foreachBatch(lambda frame, batch: watcher.take([row.asDict() for row in frame.collect()], batch))
    writing = writing.option("checkpointLocation", str(checkpoint)).outputMode("update").queryName("groupproof trace watch")
    return writing.trigger(processingTime=f"{watch.trigger_ms} milliseconds").start()


def stopped(query: StreamingQuery) -> None:
    """Stop the query between two batches: Spark prints pages about an interrupted one, none of which matter here."""
    with suppress(Exception):  # `exception()` has the query's error
        deadline = time.monotonic() + _STOP_S
        while query.isActive and query.status["isTriggerActive"] and time.monotonic() < deadline:
            time.sleep(_LOOK_S)
        query.stop()


def _rows_of(rows: DataFrame, watch: Watch) -> DataFrame:
    from pyspark.sql.streaming.state import GroupStateTimeout

    rows_of_buckets = rows.mapInArrow(partial(_by_bucket, watch.buckets), _ROWS)
    return rows_of_buckets.groupBy("run", "case", "bucket").applyInPandasWithState(
        partial(_fold, watch), _ROW_SCHEMA, _STATE, "update", GroupStateTimeout.ProcessingTimeTimeout
    )


def _by_bucket(buckets: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows_of_buckets = [(obs.run, obs.case, bucket, pickle.dumps(obs)) for obs in from_batch(batch) for bucket in buckets_of(obs, buckets)]
        columns = list(zip(*rows_of_buckets, strict=True)) or [(), (), (), ()]
        types = (pa.string(), pa.string(), pa.int32(), pa.binary())
        yield pa.RecordBatch.from_arrays(
            [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)], names=["run", "case", "bucket", "seen"]
        )


def _fold(watch: Watch, key: tuple[str, str, int], frames: Iterable[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
    """Continue one bucket of a run with new observations, or after `idle_s` without any, with all waiting ones."""
    watched: WatchedGroups = pickle.loads(state.get[0]) if state.exists else WatchedGroups(delay_ns=round(watch.delay_s * 1e9), bucket=key[2])
    if state.hasTimedOut:
        alerts, groups = watched.rest(), watched.results()
    else:
        alerts, groups = [alert for frame in frames for alert in watched.take(pickle.loads(observed) for observed in frame["seen"])], []
    state.update((pickle.dumps(watched),))
    state.setTimeoutDuration(round(watch.idle_s * 1_000))  # after a silence too: a later query with this state asks for its groups' results
    pairs = [(_ALERT, _text(alert)) for alert in alerts] + [(_GROUP, _text(group)) for group in groups]
    pairs.append((_REST if state.hasTimedOut else _PROGRESS, ""))
    import pandas as pd  # only in a Spark worker: it takes half a second

    yield pd.DataFrame(
        [(*key, kind, text, watched.folded, watched.rows, watched.late, watched.waiting) for kind, text in pairs], columns=list(_COLUMNS)
    )


def _text(entry: Alert | GroupResult) -> str:
    return msgspec.json.encode(entry).decode()

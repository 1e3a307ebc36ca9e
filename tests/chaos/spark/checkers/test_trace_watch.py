from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from tests.chaos.spark.checkers.test_group_watch import checked, verdicts
from tests.harness.judging.checkers.fleets import planted_fleet

from groupproof.chaos.spark.checkers.group_watch import Alert
from groupproof.chaos.spark.checkers.trace_watch import ALERTS, Watch, Watcher, started, stopped
from groupproof.protocol.trace import Trace, write_trace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ALERT = Alert(run="r", group="g", at_ns=1, seq=1, verdict="FAILED", requirement="INV-01", expected="e", observed="o", is_proof=True)


def row(kind: str, text: str = "", *, rows: int = 3, waiting: int = 0) -> Mapping[str, Any]:
    return {"run": "r", "case": "", "bucket": 0, "what": kind, "text": text, "taken": rows, "rows": rows, "late": 1, "waiting": waiting}


def append(file: Path, trace: Trace) -> None:
    with file.open("a") as lines:
        lines.writelines(f"{line}\n" for line in write_trace(trace))


def test_an_alert_is_written_and_reported_once_though_spark_repeats_its_batch(tmp_path: Path) -> None:
    entries: list[Alert] = []
    alert = row("alert", msgspec.json.encode(ALERT).decode())
    first = Watcher(tmp_path / ALERTS, entries.append)
    first.take([alert], 4)
    first.take([alert], 4)

    again = Watcher(tmp_path / ALERTS, entries.append)
    again.take([alert], 4)
    again.take([alert], 5)

    assert entries == [ALERT, ALERT]
    assert (first.alerts, again.alerts) == (1, 2)
    assert [json.loads(line)["batch"] for line in (tmp_path / ALERTS).read_text().splitlines()] == [4, 5]


def test_it_is_idle_when_each_bucket_has_reported_all_that_it_read(tmp_path: Path) -> None:
    watcher = Watcher(tmp_path / ALERTS, lambda _: None)

    watcher.take([row("pulse", waiting=2)], 1)
    assert (watcher.is_at_rest, watcher.total("waiting"), watcher.total("late")) == (False, 2, 1)
    watcher.take([row("rest")], 2)
    assert watcher.is_at_rest
    watcher.take([row("pulse", rows=4)], 3)
    assert not watcher.is_at_rest


@pytest.mark.java
@pytest.mark.soak
def test_a_trace_that_is_watched_while_it_is_written_gets_the_verdicts_of_the_whole(spark: SparkSession, tmp_path: Path) -> None:
    trace, live = planted_fleet(), tmp_path / "trace.ndjson"
    append(live, trace[:200])
    watcher = Watcher(tmp_path / ALERTS, lambda _: None)
    watch = Watch(path=live, delay_s=1.0, idle_s=0.5, trigger_ms=100, buckets=2)
    query = started(spark, watch, watcher, tmp_path / "checkpoint")
    try:
        until_at_rest(query, watcher, 200)
        first = watcher.total("rows")
        append(live, trace[200:])
        until_at_rest(query, watcher, len(trace))
    finally:
        stopped(query)

    assert query.exception() is None
    assert (first, watcher.total("rows"), watcher.total("late")) == (200, len(trace), 0)
    assert verdicts(watcher.results()) == checked(trace, tmp_path)
    assert goes_on(spark, watch, tmp_path) == verdicts(watcher.results())
    written = [json.loads(line) for line in (tmp_path / ALERTS).read_text().splitlines()]
    assert {item["requirement"] for item in written} >= {"INV-01", "INV-04", "JOIN-13", "ASSIGN-09", "COMMIT-06", "HB-11"}


def goes_on(spark: SparkSession, watch: Watch, folder: Path) -> set[tuple[str, str, str]]:
    """Watch again with the same checkpoint, and return what the groups came to; no alert is told again."""
    entries: list[Alert] = []
    watcher = Watcher(folder / ALERTS, entries.append)
    query = started(spark, watch, watcher, folder / "checkpoint")
    try:
        until_at_rest(query, watcher, len(planted_fleet()))
    finally:
        stopped(query)
    assert not entries
    return verdicts(watcher.results())


def until_at_rest(query: Any, watcher: Watcher, rows: int) -> None:
    """Wait until everything has come and is judged."""
    for _ in range(600):
        if watcher.total("rows") >= rows and watcher.is_at_rest:
            return
        query.awaitTermination(0.1)
    pytest.fail(f"{watcher.total('rows')} of {rows} observations came, {watcher.total('waiting')} wait")

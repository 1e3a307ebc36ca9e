"""Loads by Spark itself, on the session that all tests share."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import trio
from tests.chaos.spark.conftest import MASTER
from tests.chaos.spark.loads import START, Until, loaded, order

from groupproof.chaos.spark.load.load_progress import Figures
from groupproof.chaos.spark.load.load_summary import both_sides
from groupproof.chaos.spark.load.resume import MEMBERS
from groupproof.chaos.spark.load.spark_job import SparkJob, _cause
from groupproof.chaos.spark.load.task_channel import TaskRegistry
from groupproof.protocol.trace_columns import read_parquet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LONG_S = 300.0


def test_the_line_that_says_why_a_job_failed_is_found() -> None:
    text = "An error occurred while calling o1.collect.\n\tat x\norg.apache.spark.SparkException: Job aborted: Lost task 0.3 in stage 0: Python worker exited unexpectedly (crashed)\n"

    assert "Python worker exited unexpectedly" in _cause(Exception(text))
    assert _cause(Exception("")) == "Exception"


@pytest.mark.java
def test_spark_tasks_play_the_members_and_hand_over_the_manifest(spark: SparkSession, tmp_path: Path) -> None:
    job = SparkJob(MASTER)
    assert job.slots == 2

    ended = loaded(tmp_path, order(duration_s=LONG_S), START, job, Until(lambda now: now.stable == 1))

    assert ended.trouble is None
    members, comparison = both_sides(tmp_path)
    assert members >= 1
    assert comparison is not None
    assert comparison.is_same
    rows = spark.read.parquet(str(tmp_path / MEMBERS))
    assert rows.count() == sum(item["rows"] for item in job.manifest) == len(list(read_parquet(tmp_path / MEMBERS)))
    assert {row["run"] for row in rows.select("run").distinct().collect()} == {"load-1"}


class Killing(Until):
    """Kills the worker of one task once the group is stable, and waits until it is stable again with everybody."""

    def __init__(self, halls: list[TaskRegistry]) -> None:
        super().__init__(lambda now: self.is_killed and now.tasks_lost == 1 and now.members == 4 and now.stable == 1)
        self._halls, self.is_killed = halls, False

    def figures(self, now: Figures) -> None:
        super().figures(now)
        if now.stable == 1 and not self.is_killed:
            self.is_killed = True
            os.kill(self._halls[0].tasks[1].pid, signal.SIGKILL)


@pytest.mark.java
def test_a_worker_that_is_killed_loses_nothing_that_was_sealed_and_its_members_come_back(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    halls: list[TaskRegistry] = []
    begin = TaskRegistry.begin

    def begun(registry: TaskRegistry, start_ns: int) -> None:
        halls.append(registry)
        begin(registry, start_ns)

    monkeypatch.setattr(TaskRegistry, "begin", begun)
    lines = Killing(halls)

    ended = loaded(tmp_path, order(duration_s=LONG_S), START, SparkJob(MASTER), lines)

    assert ended.trouble is None
    assert "task 1 is gone, with its members; what it had sealed stays" in lines.lines
    observations = list(read_parquet(tmp_path / MEMBERS))
    started = Counter((obs.client, obs.body.get("attempt", 0)) for obs in observations if obs.kind == "event" and obs.body["name"] == "started")
    again = {client for client, attempt in started if attempt == 1}
    assert again == {"m2", "m3"}
    assert len(started) == 6
    first_again = min(obs.seq for obs in observations if obs.client in again and obs.body.get("attempt") == 1)
    assert any(obs.client in again and obs.kind == "response" and obs.seq < first_again for obs in observations)
    members, comparison = both_sides(tmp_path)
    assert comparison is not None
    assert members >= 2
    assert comparison.is_same, comparison


def test_a_job_that_was_never_begun_has_nothing_to_cancel() -> None:
    job = SparkJob("local[1]")

    trio.run(job.cancel)
    job.close()

    assert not job.ended.is_set()

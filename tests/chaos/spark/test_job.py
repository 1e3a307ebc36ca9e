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

from groupproof.chaos.spark.job import SparkJob, _cause
from groupproof.chaos.spark.load_shown import Figures
from groupproof.chaos.spark.load_summary import both_sides
from groupproof.chaos.spark.sittings import MEMBERS
from groupproof.protocol.columns import read_parquet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LONG_S = 300.0


def test_the_line_that_says_why_a_job_failed_is_found() -> None:
    said = "An error occurred while calling o1.collect.\n\tat x\norg.apache.spark.SparkException: Job aborted: Lost task 0.3 in stage 0: Python worker exited unexpectedly (crashed)\n"

    assert "Python worker exited unexpectedly" in _cause(Exception(said))
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
    assert rows.count() == sum(each["rows"] for each in job.manifest) == len(list(read_parquet(tmp_path / MEMBERS)))
    assert {each["run"] for each in rows.select("run").distinct().collect()} == {"load-1"}


class Killing(Until):
    """Kills the worker of one task once the group is stable, and goes on until it is stable again with everybody."""

    def __init__(self) -> None:
        super().__init__(lambda now: bool(self.killed) and now.tasks_lost == 1 and now.members == 4 and now.stable == 1)
        self.killed: list[int] = []

    def figures(self, now: Figures) -> None:
        super().figures(now)
        if now.stable == 1 and not self.killed:
            self.killed.append(_worker())
            os.kill(self.killed[0], signal.SIGKILL)


def _worker() -> int:
    """Return a process that plays a task: a child of PySpark's daemon that has connections of members."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = stat.read_text().rpartition(")")[2].split()[1]
            told = Path(f"/proc/{parent}/cmdline").read_bytes()
            if b"pyspark.daemon" in told and len(list(stat.with_name("fd").iterdir())) > 8:
                return int(stat.parent.name)
        except OSError:
            continue
    raise AssertionError("no worker of Spark was found")


@pytest.mark.java
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="workers are found by /proc")
def test_a_worker_that_is_killed_loses_nothing_that_was_sealed_and_its_members_come_back(spark: SparkSession, tmp_path: Path) -> None:
    shown = Killing()

    ended = loaded(tmp_path, order(duration_s=LONG_S), START, SparkJob(MASTER), shown)

    assert ended.trouble is None
    assert any("is gone, with its members" in line for line in shown.lines)
    seen = list(read_parquet(tmp_path / MEMBERS))
    started = Counter((each.client, each.body.get("attempt", 0)) for each in seen if each.kind == "event" and each.body["name"] == "started")
    again = {client for client, attempt in started if attempt == 1}
    assert len(started) == 6
    assert len(again) == 2
    first_again = min(each.seq for each in seen if each.client in again and each.body.get("attempt") == 1)
    assert any(each.client in again and each.kind == "response" and each.seq < first_again for each in seen)
    members, comparison = both_sides(tmp_path)
    assert comparison is not None
    assert members >= 2
    assert not comparison.members_only


def test_a_job_that_was_never_begun_has_nothing_to_cancel() -> None:
    job = SparkJob("local[1]")

    trio.run(job.cancel)
    job.close()

    assert not job.ended.is_set()

"""Loads from end to end, their tasks in threads: no Spark, but the real members, channel, coordinator process and segments."""

from __future__ import annotations

import errno
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
import trio
from tests.chaos.spark.loads import START, ThreadJob, Until, loaded, order

from groupproof.chaos.spark.load.load_run import too_few_slots
from groupproof.chaos.spark.load.load_summary import both_sides, summary_lines, summed_up
from groupproof.chaos.spark.load.resume import COORDINATOR, MEMBERS, LoadSession
from groupproof.chaos.spark.load.task_channel import Task
from groupproof.chaos.spark.members.load_order import TaskOrder
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.protocol.trace_columns import read_parquet, write_parquet

DAY = START + '[[phase]]\naction = "restart"\nat = "1s"\nshare = "50%"\nlasts = "100ms"\n[[phase]]\naction = "die"\nat = "2s"\nshare = "25%"\n'
LONG_S = 300.0
"""No test takes so long: each ends its load when it has seen enough, however busy the machine is."""


@pytest.mark.slow
def test_members_and_coordinator_report_the_same_rebalances(tmp_path: Path) -> None:
    lines, job = Until(lambda now: now.at_s > 8 and now.members == 3 and now.stable == 1), ThreadJob()

    ended = loaded(tmp_path, order(duration_s=LONG_S), DAY, job, lines)

    assert ended.trouble is None
    members, comparison = both_sides(tmp_path)
    assert members >= 1
    assert comparison is not None
    assert comparison.is_same, comparison
    observations = list(read_parquet(tmp_path / MEMBERS))
    assert len({obs.seq for obs in observations}) == len(observations) == sum(segment.rows for segment in job.manifest)
    events = Counter(obs.body["name"] for obs in observations if obs.kind == "event")
    assert events["died"] == 1
    assert events["started"] == events["left"] + events["died"] >= 6
    assert {obs.who for obs in observations} == {"member"}
    assert any(obs.kind == "transition" for obs in read_parquet(tmp_path / COORDINATOR))
    assert any("the coordinator of the same" in line for line in summary_lines(summed_up(tmp_path, order(), ended)))


@pytest.mark.slow
def test_members_of_the_consumer_protocol_and_their_coordinator_report_the_same_epochs(tmp_path: Path) -> None:
    lines, job = Until(lambda now: now.members == 4 and now.stable == 1 and now.heartbeats > 8), ThreadJob()

    ended = loaded(tmp_path, order(duration_s=LONG_S, dialect="consumer"), START, job, lines)

    assert ended.trouble is None
    members, comparison = both_sides(tmp_path)
    assert members >= 4
    assert comparison is not None
    assert comparison.is_same, comparison
    assert {obs.api for obs in read_parquet(tmp_path / MEMBERS) if obs.kind == "request"} >= {"ConsumerGroupHeartbeat"}
    assert not any(obs.api == "JoinGroup" for obs in read_parquet(tmp_path / COORDINATOR))
    assert any("epochs" in now.line() for now in lines.samples)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "why", "cure"),
    [(errno.ENOSPC, "No space left on device", "free some space"), (errno.EMFILE, "Too many open files", "raise the limit of open files")],
)
def test_a_segment_that_cannot_be_written_ends_the_load_and_leaves_what_was_sealed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, why: str, cure: str
) -> None:
    real, sealed = write_parquet, threading.Semaphore(2)

    def filling(path: Path, rows: object) -> int:
        if not sealed.acquire(blocking=False):
            raise OSError(number, why)
        return real(path, rows)  # type: ignore[arg-type]  # handed through as it came

    monkeypatch.setattr("groupproof.chaos.spark.traces.trace_segments.write_parquet", filling)
    job = ThreadJob(lambda task_order: _bearing(job, task_order))

    ended = loaded(tmp_path, order(duration_s=LONG_S), START, job)

    assert isinstance(ended.trouble, BrokenEnvironment)
    assert f"{why}; what was sealed before stays readable: {cure}" in str(ended.trouble)
    assert list(read_parquet(tmp_path / MEMBERS))
    assert LoadSession.open(tmp_path, order(duration_s=LONG_S)).is_resumed


def _bearing(job: ThreadJob, item: object) -> None:
    try:
        job._play(item)  # type: ignore[arg-type]  # a task's order, as a job hands it on
    except OSError:
        return  # a worker of Spark would fail its task


@pytest.mark.slow
def test_an_interruption_lets_members_leave_and_seals_what_was_seen(tmp_path: Path) -> None:
    ended = loaded(tmp_path, order(duration_s=LONG_S), START, lines=Until(lambda now: now.members == 4))

    assert (ended.interrupted, ended.end) == (True, "interrupted")
    observations = list(read_parquet(tmp_path / MEMBERS))
    assert Counter(obs.body["name"] for obs in observations if obs.kind == "event")["left"] == 4


@pytest.mark.slow
def test_a_second_run_continues_with_the_plan_where_the_first_stood(tmp_path: Path) -> None:
    wanted = order(members=2, tasks=1, duration_s=6.0)
    first = LoadSession.open(tmp_path, wanted)
    first.passed(2.0)

    ended = loaded(tmp_path, wanted, START + '[[phase]]\naction = "leave"\nat = "1s"\nshare = "50%"\n')

    assert (ended.end, ended.interrupted) == ("finished", False)
    observations = list(read_parquet(tmp_path / MEMBERS))
    assert {obs.run for obs in observations} == {"load-2"}
    assert min(obs.at_ns for obs in observations) >= 2_000_000_000
    assert [obs.body["name"] for obs in observations if obs.kind == "event" and obs.body["name"] == "started"] == ["started"]


class FullJob(ThreadJob):
    """No task is ever given a slot; the job ends when it is cancelled."""

    async def run(self, orders: Sequence[TaskOrder]) -> None:
        self._cancelled = trio.Event()
        await self._cancelled.wait()
        self.ended.set()

    async def cancel(self) -> None:
        self._cancelled.set()


@pytest.mark.slow
def test_a_task_without_a_slot_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groupproof.chaos.spark.load.load_run._SLOTS_S", 0.1)
    monkeypatch.setattr("groupproof.chaos.spark.load.load_run._STOP_S", 0.1)

    ended = loaded(tmp_path, order(), START, FullJob())

    assert "0 of 2 tasks were given a slot by threads within 0.1 s; it has too few cores: say --tasks" in str(ended.trouble)


def test_tasks_with_a_slot_are_counted() -> None:
    warning = too_few_slots([Task(0, is_there=True), Task(1), Task(2, is_there=True)], "threads", 300.0)

    assert warning == "2 of 3 tasks were given a slot by threads within 300 s; it has too few cores: say --tasks"


@pytest.mark.slow
def test_a_load_on_every_address_tells_tasks_the_one_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groupproof.chaos.spark.load.load_run.socket.gethostbyname", lambda _: "127.0.0.1")
    lines: set[str] = set()

    def noted(task_order: TaskOrder) -> None:
        lines.update((task_order.channel[0], *(host for host, _ in task_order.bootstrap)))
        job._play(task_order)

    job = ThreadJob(noted)

    ended = loaded(tmp_path, order(members=1, tasks=1, duration_s=1.0), START, job, bind="0.0.0.0")

    assert (ended.end, lines) == ("finished", {"127.0.0.1"})

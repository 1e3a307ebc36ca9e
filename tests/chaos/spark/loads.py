"""What the tests of loads share: a job that plays tasks in threads instead of Spark's workers, and a small load."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import trio

from groupproof.chaos.spark.load.load_progress import Figures
from groupproof.chaos.spark.load.load_run import Load, LoadResult
from groupproof.chaos.spark.load.resume import LoadSession
from groupproof.chaos.spark.load.spark_job import Job
from groupproof.chaos.spark.load.task_player import play
from groupproof.chaos.spark.members.churn_file import read_churn
from groupproof.chaos.spark.members.load_order import ClientChoice, LoadOrder, TaskOrder
from groupproof.chaos.spark.traces.trace_segments import Segment

START = 'title = "t"\n[coordinator]\n"group.initial.rebalance.delay.ms" = 100\n[[phase]]\naction = "start"\nat = "0%"\n'
SETTINGS = {"session_timeout_ms": 6_000, "heartbeat_interval_ms": 200}


def order(**changed: Any) -> LoadOrder:
    first: dict[str, Any] = {
        "members": 4, "groups": 1, "topics": {"t": 4}, "rate": 5.0, "duration_s": 3.0, "churn": "own", "client": "reference",
        "coordinator": "groupproof", "seed": 1, "tasks": 2, "settings": SETTINGS,
    }  # fmt: skip
    return LoadOrder(**{**first, **changed})


class ThreadJob:
    """Each task a thread of this process; `spoil` may replace what is played."""

    where = "threads"

    def __init__(self, spoil: Callable[[TaskOrder], object] | None = None) -> None:
        self.ended = trio.Event()
        self.manifest: list[Segment] = []
        self._spoil = spoil

    async def run(self, orders: Sequence[TaskOrder]) -> None:
        try:
            async with trio.open_nursery() as nursery:
                for task_order in orders:
                    nursery.start_soon(trio.to_thread.run_sync, self._spoil or self._play, task_order)
        finally:
            self.ended.set()

    def _play(self, task_order: TaskOrder) -> None:
        self.manifest.extend(play(task_order, 0))

    async def cancel(self) -> None:
        return


class Lines:
    """A `EvidenceLine` that keeps all it is told."""

    def __init__(self) -> None:
        self.samples: list[Figures] = []
        self.lines: list[str] = []

    def figures(self, now: Figures) -> None:
        self.samples.append(now)

    def line(self, text: str) -> None:
        self.lines.append(text)


class Until(Lines):
    """Interrupts the load, as Ctrl-C does, once it has come so far."""

    def __init__(self, so_far: Callable[[Figures], bool]) -> None:
        super().__init__()
        self._so_far, self._is_sent = so_far, False

    def figures(self, now: Figures) -> None:
        super().figures(now)
        if not self._is_sent and self._so_far(now):
            self._is_sent = True
            os.kill(os.getpid(), signal.SIGINT)


def loaded(folder: Path, wanted: LoadOrder, churn: str = START, job: Job | None = None, lines: Lines | None = None, **options: Any) -> LoadResult:
    """Carry a load out before the reference coordinator, and return how it ended."""
    session = LoadSession.open(folder, wanted)
    load = Load(
        order=wanted, churn=read_churn("own", churn), session=session, profile="kafka-4.1", job=job or ThreadJob(), display=lines or Lines(),
        **{"client": ClientChoice(kind="reference"), "brokers": None, **options},
    )  # fmt: skip
    ended = load.run()
    session.ended(ended.end)
    return ended

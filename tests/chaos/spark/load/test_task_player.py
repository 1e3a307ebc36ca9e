from __future__ import annotations

import gc
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.chaos.spark.loads import order

from groupproof.chaos.spark.load import task_player
from groupproof.chaos.spark.load.task_channel import Channel
from groupproof.chaos.spark.load.task_player import MANIFEST, play, player
from groupproof.chaos.spark.members.churn_plan import Action, MemberAction
from groupproof.chaos.spark.members.load_order import ClientChoice, TaskOrder, task_orders
from groupproof.chaos.spark.traces.trace_segments import Segment
from groupproof.harness.running.gc_pauses import LONG_LIVED


def tasks(folder: Path, channel: tuple[str, int]) -> list[TaskOrder]:
    return task_orders(
        order(members=1, tasks=1), [(MemberAction(0.0, Action.START),)], run="r", output=str(folder), bootstrap=[("127.0.0.1", 1)],
        client=ClientChoice(kind="reference"), channel=channel, secret="s", settings={},
    )  # fmt: skip


def test_without_a_driver_nothing_is_played(tmp_path: Path) -> None:
    [task] = tasks(tmp_path, ("127.0.0.1", 1))

    assert list(play(task, 0)) == []


def played(folder: Path) -> tuple[str, list[bytes]]:
    """Play a task before a driver; return the error that it ended with, and the lines that it sent."""
    reported: list[bytes] = []
    ended = ""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drive() -> None:
            connection, _ = server.accept()
            with connection, connection.makefile("rb") as lines:
                reported.append(lines.readline())
                connection.sendall(b'{"start_ns": 1}\n')
                reported.extend(lines)

        thread = threading.Thread(target=drive)
        thread.start()
        [task] = tasks(folder, server.getsockname())
        try:
            list(play(task, 0))
        except ValueError as error:
            ended = str(error)
        thread.join()
    return ended, reported


def test_what_ends_the_run_ends_the_task_and_is_reported_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: object) -> None:
        raise ValueError("spoilt")

    monkeypatch.setattr(task_player, "_host", breaks)
    ended, reported = played(tmp_path)

    assert ended == "spoilt"
    assert b'"task":0' in reported[0]
    assert reported[-1] == b'{"failed":"ValueError","why":"spoilt"}\n'


def test_the_garbage_collector_looks_seldom_at_members_that_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    thresholds: list[tuple[int, int, int]] = []

    class Noting:
        def run(self) -> None:
            thresholds.append(gc.get_threshold())

    before = gc.get_threshold()
    monkeypatch.setattr(task_player, "_host", lambda *_: Noting())

    assert played(tmp_path)[0] == ""
    assert thresholds == [LONG_LIVED]
    assert gc.get_threshold() == before


def test_the_manifest_leaves_as_arrow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import pyarrow as pa

    pytest.importorskip("pyspark")
    segment = Segment(path="p", group="g", rows=2, first_seq=1, last_seq=9)
    monkeypatch.setattr(task_player, "play", lambda _task, _attempt: iter([segment]))

    [batch] = player(tasks(tmp_path, ("", 0)))([pa.RecordBatch.from_arrays([pa.array([0])], names=["id"])])

    assert batch.to_pylist() == [{"task": 0, "attempt": 0, "path": "p", "group": "g", "rows": 2, "first_seq": 1, "last_seq": 9}]
    assert [part.split()[0].strip("`") for part in MANIFEST.split(", ")] == batch.schema.names


def test_what_the_first_segment_imports_is_there_before_the_task_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []

    def connected(*where: Any) -> Channel:
        steps.append("channel")
        return Channel(*where)

    monkeypatch.setattr(task_player, "to_batch", lambda _: steps.append("batch"))
    monkeypatch.setattr(task_player, "Channel", connected)

    played(tmp_path)

    assert steps == ["batch", "channel"]

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.chaos.spark.loads import order

from groupproof.chaos.spark.members.churn_plan import Action, MemberAction
from groupproof.chaos.spark.members.load_order import ClientChoice, task_orders
from groupproof.chaos.spark.members.member_api import MemberEvent
from groupproof.chaos.spark.members.task_recorder import TaskRecorder
from groupproof.chaos.spark.members.thread_host import ThreadHost
from groupproof.chaos.spark.traces.trace_segments import Sealer, Stamp
from groupproof.protocol.trace_columns import read_parquet

START = MemberAction(0.0, Action.START)


class Fake:
    """A consumer that is given a partition at its first poll, and says how it was ended."""

    def __init__(self, tell: MemberEvent, calls: list[str], poll: Callable[[], None]) -> None:
        self._tell, self._calls, self._poll = tell, calls, poll

    def poll(self, timeout_s: float) -> None:
        if "poll" not in self._calls:
            self._tell("partitions_assigned", [("t", 0)], "id")
        self._calls.append("poll")
        self._poll()

    def commit(self) -> str | None:
        self._calls.append("commit")
        return "ILLEGAL_GENERATION"

    def leave(self) -> None:
        self._calls.append("leave")

    def die(self) -> None:
        self._calls.append("die")


LONG_S = 300.0
"""No test takes so long: each ends its task when its consumer was called so far, however busy the machine is."""


def run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, actions: tuple[MemberAction, ...], poll: Callable[[], None] = lambda: None,
    so_far: Callable[[list[str]], bool] = lambda _: False, duration_s: float = LONG_S,
) -> tuple[list[str], TaskRecorder]:  # fmt: skip
    calls: list[str] = []

    def maker(_: Any) -> Any:
        return lambda _member, tell: Fake(tell, calls, poll)

    monkeypatch.setattr("groupproof.chaos.spark.members.thread_host._maker", maker)
    [task] = task_orders(
        order(members=1, tasks=1, duration_s=duration_s), [actions], run="r", output=str(folder), bootstrap=[], client=ClientChoice(kind="librdkafka"),
        channel=("", 0), secret="", settings={},
    )  # fmt: skip
    began = time.monotonic()
    recorder = TaskRecorder(Stamp(1, lambda: round((time.monotonic() - began) * 1e9)), Sealer(folder, "r", "w"), run="r", seed=1, slot=1, attempt=0)

    def tick() -> bool:
        recorder.seal()
        return not so_far(calls)

    ThreadHost(replace(task, seal_s=0.05), recorder, lambda: time.monotonic() - began, tick).run()
    tick()
    return calls, recorder


def test_a_member_polls_and_commits_until_it_is_over_and_then_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, recorder = run(tmp_path, monkeypatch, (START,), so_far=lambda calls: calls.count("poll") > 1 and "commit" in calls)

    assert calls.count("poll") > 1
    assert calls[-1] == "leave"
    assert recorder.counted()["errors"]["ILLEGAL_GENERATION"] == calls.count("commit") >= 1
    assert [obs.body["name"] for obs in read_parquet(tmp_path)] == ["started", "partitions_assigned", "left"]


def test_actions_end_and_begin_consumers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    actions = (START, MemberAction(0.1, Action.CRASH, 0.05), MemberAction(0.3, Action.RESTART, 0.05), MemberAction(0.5, Action.DIE))

    calls, _ = run(tmp_path, monkeypatch, actions, so_far=lambda calls: calls.count("die") > 1)

    assert [call for call in calls if call in ("leave", "die")] == ["die", "leave", "die"]
    assert [obs.body["name"] for obs in read_parquet(tmp_path) if "_" not in obs.body["name"]] == [
        "started", "died", "started", "left", "started", "died",
    ]  # fmt: skip


def test_a_member_that_stalls_does_not_poll(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, _ = run(tmp_path, monkeypatch, (START, MemberAction(0.0, Action.STALL, LONG_S)), duration_s=0.6)

    assert "poll" not in calls


def test_a_client_that_fails_is_a_member_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise OSError("fenced")

    calls, recorder = run(tmp_path, monkeypatch, (START,), fails, so_far=lambda calls: "die" in calls)

    assert calls[-1] == "die"
    assert recorder.counted()["errors"] == {"OSError": 1}
    [failed] = [obs for obs in read_parquet(tmp_path) if obs.body["name"] == "failed"]
    assert failed.detail == "fenced"


def test_what_is_no_clients_error_ends_the_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks() -> None:
        raise SystemExit("ours")

    with pytest.raises(SystemExit, match="ours"):
        run(tmp_path, monkeypatch, (START,), breaks)

"""What `groupproof datalink` does: one worker on a real port, and the words of each outcome."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest
import trio
from tests.harness.commands.calling import Call

from groupproof.coordinator.broker.served_cluster import ServingCluster, serve
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.relatives.datalink.command_run import ran
from groupproof.protocol.trace import Recorder


@contextmanager
def _managers() -> Iterator[str]:
    """Serve a pair of Managers on real ports by a thread of their own; yield where."""
    entry: queue.Queue[tuple[str, trio.lowlevel.TrioToken, trio.CancelScope]] = queue.Queue()

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            serving: ServingCluster = await nursery.start(partial(serve, profile="datalink", recorder=Recorder(lambda: 0, keeps=False)))
            entry.put((serving.bootstrap, trio.lowlevel.current_trio_token(), nursery.cancel_scope))

    thread = threading.Thread(target=trio.run, args=(main,), daemon=True)
    thread.start()
    bootstrap, token, scope = entry.get(timeout=120)
    try:
        yield bootstrap
    finally:
        token.run_sync_soon(scope.cancel)
        thread.join(120)


def test_a_worker_prints_what_its_tasks_do_and_leaves_when_its_time_is_over(capsys: pytest.CaptureFixture[str]) -> None:
    with _managers() as bootstrap:
        code = ran(
            seed=1, group="g", bootstrap=bootstrap, tasks=("a", "b=2"), for_ms=1_500, name="w", assignor="round-robin", hand_over="stop-everything",
            fences=False, capacity=1.0,
        )  # fmt: skip

    lines = capsys.readouterr().out.splitlines()
    assert code == 0
    assert sorted(lines[:2]) == ["w started a (generation 1)", "w started b (generation 1)"]
    assert sorted(lines[2:]) == ["w stopped a (generation 1)", "w stopped b (generation 1)"]


def test_a_worker_that_a_manager_refuses_says_why() -> None:
    with _managers() as bootstrap, pytest.raises(BrokenEnvironment, match="w cannot go on: JoinGroup was answered INVALID_SESSION_TIMEOUT"):
        ran(
            seed=1, group="g", bootstrap=bootstrap, tasks=(), for_ms=5_000, name="w", assignor="round-robin", hand_over="stop-everything",
            fences=False, capacity=1.0, session_timeout_ms=5_000,
        )  # fmt: skip


def test_one_that_finds_nobody_waits_until_its_time_is_over() -> None:
    code = ran(
        seed=1,
        group="g",
        bootstrap="127.0.0.1:1",
        tasks=(),
        for_ms=300,
        name="w",
        assignor="sticky",
        hand_over="incremental",
        fences=False,
        capacity=1.0,
    )

    assert code == 0


def test_a_switch_is_reported_in_words(groupproof: Call) -> None:
    called = groupproof("datalink", "switch", "--workers", "2", "--tasks", "2", "--json")

    assert called.code == 0
    assert called.json[0].keys() >= {"rejoined", "settled_ms", "lost_ms", "overlap_ms", "longest_overlap_ms", "items_doubled"}
    assert "2 of 2 workers are back" in called.err

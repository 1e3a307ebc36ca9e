"""The program around a worker: tasks that really run, over the wire, before a Manager in this process, under trio's MockClock."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
import trio
from tests.coordinator.helpers import virtually

from groupproof.clients.relatives.datalink.tasks import Board, Task
from groupproof.clients.relatives.datalink.worker_main import VERSIONS, WorkerFailed, WorkerMain
from groupproof.clients.relatives.datalink.worker_outputs import WorkerState
from groupproof.clients.relatives.datalink.worker_settings import WorkerSettings
from groupproof.coordinator.broker.advertised_versions import accepted
from groupproof.coordinator.broker.reference_cluster import Cluster
from groupproof.harness.subjects.networks.network import MemoryNetwork
from groupproof.protocol.trace import Recorder


class _Site:
    """A board of tasks a, b and c, Managers, and the workers made here; `log` holds what tasks did."""

    def __init__(self, nursery: trio.Nursery, network: MemoryNetwork, addresses: list[tuple[str, int]]) -> None:
        self.board = Board()
        self.board.add("g", *(Task(name=name) for name in "abc"))
        self.log: list[tuple[str, str]] = []
        self._nursery, self._network, self._addresses = nursery, network, addresses

    async def worker(self, name: str) -> WorkerMain:
        keeper = await self.made(name)
        await self._nursery.start(keeper.run)
        return keeper

    async def made(self, name: str, **more: Any) -> WorkerMain:
        entrance = await self._network.entrance(name)
        return WorkerMain(
            WorkerSettings(group="g", bootstrap=tuple(self._addresses), name=name, **more), connect=entrance.connect,
            read=lambda: self.board.configs("g"), work=self._work, random=random.Random(name), report=partial(self._log_report, name),
        )  # fmt: skip

    def _log_report(self, name: str, report: str, task: str) -> None:
        self.log.append((f"{name} {report}", task))

    async def _work(self, task: Task) -> None:
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(0.3)
                self.log.append(("cleaned up", task.name))


@asynccontextmanager
async def _site() -> AsyncIterator[_Site]:
    network = MemoryNetwork()
    cluster = Cluster(profile="datalink", brokers=2, recorder=Recorder(lambda: 0, keeps=False))
    async with network.opened(cluster) as addresses, trio.open_nursery() as nursery:
        await nursery.start(cluster.run)
        yield _Site(nursery, network, addresses)
        nursery.cancel_scope.cancel()


@pytest.mark.requirement("TIMER-27", "MGR-13")
def test_it_speaks_what_the_managers_speak_at_most() -> None:
    served = accepted("datalink")

    assert {api: served[api][1] for api in VERSIONS} == VERSIONS


@pytest.mark.requirement("MGR-12", "WORKER-17", "WTASK-04")
@virtually
async def test_tasks_really_run_and_really_stop_before_the_next_generation() -> None:
    async with _site() as site:
        first = await site.worker("w0")
        await trio.sleep(5)
        assert first.running == {"a", "b", "c"}

        second = await site.worker("w1")
        await trio.sleep(10)

        assert sorted(first.running | second.running) == ["a", "b", "c"]
        assert not first.running & second.running
        joined_again = [entry for entry in site.log if entry[0] in ("w0 stopped", "cleaned up")]
        assert {task for report, task in joined_again if report == "cleaned up"} == {"a", "b", "c"}
        assert site.log.index(("cleaned up", "a")) < site.log.index(("w0 stopped", "a"))


@pytest.mark.requirement("WTASK-08")
@virtually
async def test_an_updated_task_is_restarted_and_no_other() -> None:
    async with _site() as site:
        keeper = await site.worker("w0")
        await trio.sleep(5)
        site.log.clear()
        site.board.update("g", "b")
        await trio.sleep(3)

        assert site.log == [("cleaned up", "b"), ("w0 stopped", "b"), ("w0 started", "b")]
        assert keeper.running == {"a", "b", "c"}


@virtually
async def test_a_worker_that_is_closed_has_stopped_its_tasks() -> None:
    async with _site() as site:
        keeper = await site.worker("w0")
        await trio.sleep(5)
        await keeper.close()

        assert (keeper.running, keeper.worker.state) == (frozenset(), WorkerState.DOWN)
        assert sum(report == "cleaned up" for report, _ in site.log) == 3


@virtually
async def test_what_there_is_no_way_on_from_is_raised() -> None:
    async with _site() as site:
        with pytest.raises(WorkerFailed, match="JoinGroup was answered INVALID_SESSION_TIMEOUT"):
            await (await site.made("w0", session_timeout_ms=5_000)).run()

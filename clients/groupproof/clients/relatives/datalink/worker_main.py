"""Runs a worker: its connections, its time, and tasks that really run (trio). DataLink's WorkerKeeper and Worker.

Start it in a nursery:

    keeper = WorkerMain(settings, connect=trio.open_tcp_stream, read=lambda: board.configs("g"), work=work, random=random.Random(1))
    async with trio.open_nursery() as nursery:
        await nursery.start(keeper.run)
"""

from __future__ import annotations

import logging
import math
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import trio

from groupproof.clients.consumer.broker_connections import ANY, Brokers
from groupproof.clients.consumer.connection import Connect
from groupproof.clients.consumer.consumer import now_ms
from groupproof.clients.outputs import Drop, Node, Send
from groupproof.clients.relatives.datalink.tasks import Configs, Task
from groupproof.clients.relatives.datalink.worker import Worker
from groupproof.clients.relatives.datalink.worker_outputs import LeaveResult, Output, RefreshConfigs, RestartTask, StartTasks, StopTasks, WorkerDown
from groupproof.clients.relatives.datalink.worker_settings import WorkerSettings
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import body_of, response_of

__all__ = ["VERSIONS", "Work", "WorkerFailed", "WorkerMain"]

_log = logging.getLogger(__name__)

VERSIONS: Final = {
    Api.API_VERSIONS: 0, Api.FIND_COORDINATOR: 0, Api.JOIN_GROUP: 1, Api.SYNC_GROUP: 0, Api.HEARTBEAT: 0, Api.LEAVE_GROUP: 0,
}  # fmt: skip
"""The newest version of each API that a worker sends (TIMER-27)."""

_LANES: Final = frozenset({"group"})

Work = Callable[[Task], Awaitable[None]]
"""Runs a task until it is cancelled. The worker waits for clean-up in a `finally`."""


class WorkerFailed(Exception):
    """The worker cannot continue. `str()` says why."""


@dataclass(slots=True)
class _Running:
    scope: trio.CancelScope
    over: trio.Event


class WorkerMain:
    """Runs one worker. `read` returns the current configurations of its group. `report` gets each start and stop of a task."""

    def __init__(
        self,
        settings: WorkerSettings,
        *,
        connect: Connect,
        read: Callable[[], Configs],
        work: Work,
        random: random.Random,
        report: Callable[[str, str], None] = lambda _change, _task: None,
    ) -> None:
        self.settings = settings
        self.worker = Worker(settings, random=random)
        self._connect, self._read, self._work, self._report = connect, read, work, report
        self._tasks: dict[str, _Running] = {}
        self._changed = trio.Event()
        self._gone = trio.Event()
        self._failure: str | None = None
        self._brokers: Brokers | None = None
        self._nursery: trio.Nursery | None = None

    @property
    def running(self) -> frozenset[str]:
        """The names of the tasks that still run, including those that are being stopped."""
        return frozenset(self._tasks)

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Take part in the group until `close` or cancellation. Afterwards none of its tasks runs. Raise `WorkerFailed`."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            self._brokers = Brokers(
                self._connect, self.settings.bootstrap, nursery, client_id=self.settings.name, versions=VERSIONS, shares_connections=False,
                timeout_s=self.settings.request_timeout_ms / 1000, lost=self._lost,
            )  # fmt: skip
            self._perform(self.worker.start(self._read(), now_ms()))
            nursery.start_soon(self._run_timers)
            nursery.start_soon(self._run_polls)
            task_status.started()
            await self._gone.wait()
            nursery.cancel_scope.cancel()
        if self._failure is not None:
            raise WorkerFailed(self._failure)

    async def close(self) -> None:
        """Stop the tasks and leave the group. `run` then ends."""
        self._perform(self.worker.close(now_ms()))
        await self._gone.wait()

    # Background tasks

    async def _run_timers(self) -> None:
        while True:
            changed, deadline_ms = self._changed, self.worker.next_deadline_ms()
            if deadline_ms is not None and deadline_ms <= now_ms():
                self._perform(self.worker.tick(now_ms()))
                await trio.lowlevel.checkpoint()
                continue
            with trio.move_on_at(math.inf if deadline_ms is None else deadline_ms / 1000):
                await changed.wait()

    async def _run_polls(self) -> None:
        """Read the configurations at the interval of the worker's ticks."""
        while True:
            await trio.sleep(self.settings.tick_ms / 1000)
            configs = self._read()
            if configs is not self.worker.configs:
                self._perform(self.worker.polled(configs))

    # The worker's outputs

    def _perform(self, outputs: list[Output]) -> None:
        for output in outputs:
            self._perform_one(output)
        self._changed.set()
        self._changed = trio.Event()

    def _perform_one(self, output: Output) -> None:
        match output:
            case Send():
                self._send(output)
            case Drop():
                self._on_brokers.drop(output.to, _LANES if output.to is not None else frozenset({ANY}))
            case StartTasks():
                for task in output.tasks:
                    self._start(task)
            case StopTasks():
                self._in_background(self._stop, output.names)
            case RestartTask():
                self._in_background(self._restart, output.task)
            case RefreshConfigs():
                self._in_background(self._refresh)
            case WorkerDown():
                self._failure = output.message
                self._gone.set()
            case LeaveResult():
                self._gone.set()

    def _in_background(self, act: Callable[..., Awaitable[None]], *arguments: Any) -> None:
        assert self._nursery is not None, "a keeper does things only while it runs"
        self._nursery.start_soon(act, *arguments)

    @property
    def _on_brokers(self) -> Brokers:
        assert self._brokers is not None, "a keeper does things only while it runs"
        return self._brokers

    def _send(self, output: Send) -> None:
        api, request_id = output.message.api, output.request_id

        def answered(body: dict[str, Any] | None) -> None:
            if body is None:
                self._perform(self.worker.unanswered(request_id, now_ms()))
            else:
                self._perform(self.worker.response(request_id, response_of(api, body), now_ms()))

        self._on_brokers.send(output.to, output.lane, api, body_of(output.message), answered)

    def _lost(self, to: Node | None, lane: str, reason: Exception) -> None:
        _log.info("%s: lost a connection (%s): %s", self.settings.name, lane, reason)

    # Tasks

    def _start(self, task: Task) -> None:
        running = self._tasks[task.name] = _Running(trio.CancelScope(), trio.Event())
        self._report("started", task.name)
        self._in_background(partial(self._run_task, task, running))

    async def _run_task(self, task: Task, running: _Running) -> None:
        try:
            with running.scope:
                await self._work(task)
        finally:
            if self._tasks.get(task.name) is running:
                del self._tasks[task.name]
            self._report("stopped", task.name)
            running.over.set()

    async def _stop(self, names: tuple[str, ...]) -> None:
        await self._end(names)
        self._perform(self.worker.stopped(now_ms()))

    async def _end(self, names: tuple[str, ...]) -> None:
        """Cancel tasks and wait until each has ended."""
        ending = [self._tasks[name] for name in names if name in self._tasks]
        for task in ending:
            task.scope.cancel()
        for task in ending:
            await task.over.wait()

    async def _restart(self, task: Task) -> None:
        await self._end((task.name,))
        if task.name in self.worker.running:
            self._start(task)

    async def _refresh(self) -> None:
        await trio.lowlevel.checkpoint()
        self._perform(self.worker.refreshed(self._read(), now_ms()))

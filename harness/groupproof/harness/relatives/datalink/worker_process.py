"""One worker's process in virtual time: its machine, its network, and tasks that take time to start and to stop. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from groupproof.clients.outputs import Send
from groupproof.clients.relatives.datalink.tasks import Configs
from groupproof.clients.relatives.datalink.worker import Worker
from groupproof.clients.relatives.datalink.worker_outputs import LeaveResult, Output, RefreshConfigs, RestartTask, StartTasks, StopTasks, WorkerDown
from groupproof.clients.relatives.datalink.worker_settings import WorkerSettings
from groupproof.coordinator.machine.machine_outputs import Arrival
from groupproof.harness.relatives.datalink.managers import VERSION, ManagerPair
from groupproof.harness.relatives.datalink.running_tasks import TaskLedger
from groupproof.harness.simulation.heap import Heap
from groupproof.protocol.wire.messages import GroupResponse

if TYPE_CHECKING:
    from random import Random

__all__ = ["TaskTimes", "WorkerProcess"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTimes:
    """How long a task takes: to stop, to start where another worker ran it last (it has to find its position), and to start where it ran itself."""

    stop_ms: int = 500
    cold_start_ms: int = 2_000
    warm_start_ms: int = 500


class WorkerProcess:
    """A process of one worker: `is_up` while it runs, `is_cut` while its network to the Managers is gone; `stale` are the configurations that it is shown in place of today's."""

    def __init__(
        self,
        settings: WorkerSettings,
        *,
        heap: Heap,
        managers: ManagerPair,
        ledger: TaskLedger,
        random: Random,
        times: TaskTimes,
        read: Callable[[], Configs],
    ) -> None:
        self.settings = settings
        self.name = settings.name
        self.is_up = self.is_cut = False
        self.failure: str | None = None
        self.stale: Configs | None = None
        self._heap, self._managers, self._ledger, self._random, self._times, self._read = heap, managers, ledger, random, times, read
        self._life = 0
        self._tokens = itertools.count()
        self._starting: dict[str, int] = {}
        self._restarting: dict[str, int] = {}
        self._ran_here: set[str] = set()
        self.worker = Worker(settings, random=random)

    # What befalls it

    def start(self) -> None:
        """Start the process, or start it again."""
        if not self.is_up:
            self.is_up, self._life = True, self._life + 1
            self._starting.clear()
            self._restarting.clear()
            self._ran_here.clear()
            self.worker = Worker(self.settings, random=self._random)
            self._perform(self.worker.start(self._configs(), self._heap.now_ms))
            self._poll(self._life)

    def kill(self) -> None:
        """End the process at once, and what it runs."""
        if self.is_up:
            self.is_up, self._life = False, self._life + 1
            for task in self.worker.running:
                self._ledger.stopped(task, self.name, self._heap.now_ms)

    def leave(self) -> None:
        """End the process in good order."""
        if self.is_up:
            self._perform(self.worker.close(self._heap.now_ms))

    def _configs(self) -> Configs:
        return self._read() if self.stale is None else self.stale

    # Time

    def _poll(self, life: int) -> None:
        if life == self._life:
            configs = self._configs()
            if configs is not self.worker.configs:
                self._perform(self.worker.polled(configs))
            self._heap.after(self.settings.tick_ms, self._poll, life)

    def _schedule_next_timer(self) -> None:
        due_ms = self.worker.next_deadline_ms()
        if due_ms is not None and self.is_up:
            self._heap.at(max(due_ms, self._heap.now_ms), self._tick, self._life, due_ms)

    def _tick(self, life: int, due_ms: int) -> None:
        if life == self._life and self.worker.next_deadline_ms() == due_ms:
            self._perform(self.worker.tick(self._heap.now_ms))

    def _later(self, ms: int, act: Callable[[], list[Output]]) -> None:
        """Let an input of the worker come in `ms`, if the process still lives then."""
        self._heap.after(ms, self._if_alive, self._life, act)

    def _if_alive(self, life: int, act: Callable[[], list[Output]]) -> None:
        if life == self._life:
            self._perform(act())

    # What the worker asks for

    def _perform(self, outputs: list[Output]) -> None:
        for output in outputs:
            self._perform_one(output)
        self._schedule_next_timer()

    def _perform_one(self, output: Output) -> None:
        match output:
            case Send():
                self._send(output)
            case StartTasks():
                for task in output.tasks:
                    self._start_task(task.name)
            case StopTasks():
                for name in output.names:
                    self._stop_task(name)
                self._later(self._times.stop_ms, lambda: self.worker.stopped(self._heap.now_ms))
            case RestartTask():
                self._stop_task(output.task.name)
                self._restarting[output.task.name] = number = next(self._tokens)
                self._later(self._times.stop_ms, lambda: self._restarted(output.task.name, number))
            case RefreshConfigs():
                self._later(self._latency_ms(), lambda: self.worker.refreshed(self._configs(), self._heap.now_ms))
            case WorkerDown() | LeaveResult():
                self.failure = output.message if isinstance(output, WorkerDown) else None
                self.is_up, self._life = False, self._life + 1

    # Tasks

    def _start_task(self, name: str) -> None:
        """Begin to start a task; it runs when that is done, unless it was stopped meanwhile."""
        is_warm = name in self._ran_here and self._ledger.last_runner(name) == self.name
        takes_ms = self._times.warm_start_ms if is_warm else self._times.cold_start_ms
        self._starting[name] = number = next(self._tokens)
        self._heap.after(takes_ms, self._task_runs, self._life, name, number)

    def _task_runs(self, life: int, name: str, number: int) -> None:
        if life == self._life and self._starting.get(name) == number:
            self._ran_here.add(name)
            self._ledger.started(name, self.name, self._heap.now_ms)

    def _stop_task(self, name: str) -> None:
        self._starting.pop(name, None)
        self._restarting.pop(name, None)
        self._ledger.stopped(name, self.name, self._heap.now_ms)

    def _restarted(self, name: str, number: int) -> list[Output]:
        """Start a task that has stopped for its restart, unless it was stopped or started by a rebalance meanwhile."""
        if self._restarting.get(name) == number and name in self.worker.running and name not in self._starting:
            self._start_task(name)
        return []

    # The network

    def _send(self, sent: Send) -> None:
        node = self._random.randrange(2) if sent.to is None else sent.to.node_id
        if not self.is_cut:
            self._heap.after(self._latency_ms(), self._arrive, node, sent, self._life)

    def _arrive(self, node: int, sent: Send, life: int) -> None:
        arrival = Arrival(token=(self.name, life, sent.request_id), api_version=VERSION, client_id=self.name, client_host="/virtual")
        self._managers.arrive(node, sent.message, arrival, lambda message: self._answer(sent, message, life))

    def _answer(self, sent: Send, message: GroupResponse | None, life: int) -> None:
        """Bring an answer back, or (None) word that the connection is gone; nothing comes through a network that is cut."""
        if not self.is_cut:
            self._heap.after(self._latency_ms(), self._if_alive, life, lambda: self._answered(sent.request_id, message))

    def _answered(self, request_id: int, message: GroupResponse | None) -> list[Output]:
        now_ms = self._heap.now_ms
        return self.worker.unanswered(request_id, now_ms) if message is None else self.worker.response(request_id, message, now_ms)

    def _latency_ms(self) -> int:
        return self._random.randint(1, 5)

"""The tasks that a worker runs and their configurations: it starts, stops and restarts them."""

from __future__ import annotations

from collections.abc import Iterable

from groupproof.clients.relatives.datalink.tasks import Configs
from groupproof.clients.relatives.datalink.worker_outputs import Output, RestartTask, StartTasks, StopTasks
from groupproof.clients.relatives.datalink.worker_settings import WorkerSettings
from groupproof.protocol.relatives.datalink_messages import WorkerStatus

__all__ = ["WorkerTasks"]


class WorkerTasks:
    """The tasks of one worker. `running` maps each running task to its revision. `configs` are in use, `newest` were polled last.

    `held` are the tasks of the last assignment, `traffic` the measured costs of the running ones.
    """

    def __init__(self, out: list[Output]) -> None:
        self._out = out
        self.running: dict[str, int] = {}
        self.stopping: tuple[str, ...] = ()
        self.configs = self.newest = Configs()
        self.held: tuple[str, ...] = ()
        self.traffic: dict[str, float] = {}

    def status(self, settings: WorkerSettings, generation: int) -> WorkerStatus:
        """Return the worker's status for JoinGroup: DataLink's two fields, or also those that the planned assignors need."""
        version = self.configs.version
        if settings.assignor == "round-robin" and settings.hand_over == "stop-everything":
            return WorkerStatus(url=settings.name, config_version=version)
        return WorkerStatus(
            url=settings.name, config_version=version, generation=generation, held=self.held, running=tuple(sorted(self.running)),
            capacity=settings.capacity, resources=settings.resources, traffic=self.traffic, version=1,
        )  # fmt: skip

    def stop(self, names: Iterable[str]) -> bool:
        """Request the stop of these tasks. Return whether there is anything to wait for."""
        self.stopping = tuple(sorted(names))
        if self.stopping:
            self._out.append(StopTasks(names=self.stopping))
        return bool(self.stopping)

    def stopped(self) -> None:
        for name in self.stopping:
            self.running.pop(name, None)
        self.stopping = ()

    def start(self, names: Iterable[str]) -> None:
        """Request the start of tasks that do not run. A task deleted meanwhile has no configuration and is skipped."""
        tasks = tuple(self.configs.tasks[name] for name in names if name not in self.running and name in self.configs.tasks)
        if tasks:
            self._out.append(StartTasks(tasks=tasks))
            self.running.update((task.name, task.revision) for task in tasks)

    def restart_changed(self) -> None:
        """Request the restart of tasks whose configuration changed (WTASK-08)."""
        for name, revision in self.running.items():
            task = self.configs.tasks.get(name)
            if task is not None and task.revision != revision:
                self.running[name] = task.revision
                self._out.append(RestartTask(task=task))

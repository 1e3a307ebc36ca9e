"""The tasks that a worker runs, and by which configurations: what is started, stopped and started again."""

from __future__ import annotations

from collections.abc import Iterable

from groupproof.clients.relatives.datalink.tasks import Configs
from groupproof.clients.relatives.datalink.worker_outputs import Output, RestartTask, StartTasks, StopTasks
from groupproof.clients.relatives.datalink.worker_settings import WorkerSettings
from groupproof.protocol.relatives.datalink_messages import WorkerStatus

__all__ = ["Bench"]


class Bench:
    """`running` are the tasks here, each with the revision that it runs by; `configs` those gone by, `newest` those last polled.

    `held` are the tasks of the last assignment, `traffic` what those here were measured to cost.
    """

    def __init__(self, out: list[Output]) -> None:
        self._out = out
        self.running: dict[str, int] = {}
        self.stopping: tuple[str, ...] = ()
        self.configs = self.newest = Configs()
        self.held: tuple[str, ...] = ()
        self.traffic: dict[str, float] = {}

    def status(self, settings: WorkerSettings, generation: int) -> WorkerStatus:
        """Return what the worker says of itself as it joins: DataLink's two fields, or what the planned assignors need besides."""
        version = self.configs.version
        if settings.assignor == "round-robin" and settings.hand_over == "stop-everything":
            return WorkerStatus(url=settings.name, config_version=version)
        return WorkerStatus(
            url=settings.name, config_version=version, generation=generation, held=self.held, running=tuple(sorted(self.running)),
            capacity=settings.capacity, resources=settings.resources, traffic=self.traffic, version=1,
        )  # fmt: skip

    def stop(self, names: Iterable[str]) -> bool:
        """Have these tasks stopped; return whether there is anything to wait for."""
        self.stopping = tuple(sorted(names))
        if self.stopping:
            self._out.append(StopTasks(names=self.stopping))
        return bool(self.stopping)

    def stopped(self) -> None:
        for name in self.stopping:
            self.running.pop(name, None)
        self.stopping = ()

    def start(self, names: Iterable[str]) -> None:
        """Have those started that do not run; one that has been deleted meanwhile has no configuration to run by."""
        tasks = tuple(self.configs.tasks[name] for name in names if name not in self.running and name in self.configs.tasks)
        if tasks:
            self._out.append(StartTasks(tasks=tasks))
            self.running.update((task.name, task.revision) for task in tasks)

    def restart_changed(self) -> None:
        """Have those started again whose configuration is another one (WTASK-08)."""
        for name, revision in self.running.items():
            task = self.configs.tasks.get(name)
            if task is not None and task.revision != revision:
                self.running[name] = task.revision
                self._out.append(RestartTask(task=task))

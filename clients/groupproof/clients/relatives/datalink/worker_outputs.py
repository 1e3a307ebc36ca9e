"""The outputs of a worker, for the code that drives it, beside the requests of `clients.outputs`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from groupproof.clients.outputs import Drop, Send
from groupproof.clients.relatives.datalink.tasks import Task

__all__ = ["LeaveResult", "Output", "RefreshConfigs", "RestartTask", "StartTasks", "StopTasks", "WorkerDown", "WorkerState"]


class WorkerState(Enum):
    """The five states of the design (WORKER-01): an abstraction of where the worker stands, kept in no field."""

    DOWN = "Down"
    PREPARING_JOIN = "PreparingJoin"
    JOINING = "Joining"
    SYNCING = "Syncing"
    STABLE = "Stable"


@dataclass(frozen=True, slots=True, kw_only=True)
class StopTasks:
    """Stop these tasks, then call `stopped`; there is never more than one such wish at a time."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StartTasks:
    """Start these tasks; they run from now on as far as the worker is concerned."""

    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartTask:
    """Stop and start one task, whose configuration changed; nobody waits for it (WTASK-08)."""

    task: Task


@dataclass(frozen=True, slots=True)
class RefreshConfigs:
    """Read the configurations anew, then call `refreshed`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerDown:
    """There is no way on: the worker is Down."""

    message: str


@dataclass(frozen=True, slots=True)
class LeaveResult:
    """The goodbye is over."""


Output = Send | Drop | StopTasks | StartTasks | RestartTask | RefreshConfigs | WorkerDown | LeaveResult

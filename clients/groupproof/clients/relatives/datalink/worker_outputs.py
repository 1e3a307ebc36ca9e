"""The outputs of a worker, which the driver performs, beside the requests of `clients.outputs`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from groupproof.clients.outputs import Drop, Send
from groupproof.clients.relatives.datalink.tasks import Task

__all__ = ["LeaveResult", "Output", "RefreshConfigs", "RestartTask", "StartTasks", "StopTasks", "WorkerDown", "WorkerState"]


class WorkerState(Enum):
    """The five states of the design (WORKER-01). They are derived; no field stores them."""

    DOWN = "Down"
    PREPARING_JOIN = "PreparingJoin"
    JOINING = "Joining"
    SYNCING = "Syncing"
    STABLE = "Stable"


@dataclass(frozen=True, slots=True, kw_only=True)
class StopTasks:
    """Stop these tasks, then call `stopped`. At most one such output is open at a time."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StartTasks:
    """Start these tasks. The worker treats them as running from now on."""

    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartTask:
    """Restart one task, because its configuration changed. The worker does not wait for it (WTASK-08)."""

    task: Task


@dataclass(frozen=True, slots=True)
class RefreshConfigs:
    """Read the configurations again, then call `refreshed`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerDown:
    """The worker cannot continue and is Down."""

    message: str


@dataclass(frozen=True, slots=True)
class LeaveResult:
    """The worker has left the group."""


Output = Send | Drop | StopTasks | StartTasks | RestartTask | RefreshConfigs | WorkerDown | LeaveResult

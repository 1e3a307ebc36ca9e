"""The tasks of a group, their versioned configurations, and the board where an operator adds, changes and deletes them.

In DataLink the configurations are rows of a database that every worker polls. The version is that of the newest row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

__all__ = ["Board", "Configs", "Task"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task. `revision` counts changes of its configuration, `cost` is its use of a worker's capacity.

    `bound_to` names the worker that it is bound to (PLAN-03).
    """

    name: str
    cost: float = 1.0
    revision: int = 1
    bound_to: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Configs:
    """The tasks of a group at one version."""

    version: int = 0
    tasks: Mapping[str, Task] = field(default_factory=dict)


class Board:
    """The configurations of each group. Every change increases the group's version by one."""

    def __init__(self) -> None:
        self._groups: dict[str, Configs] = {}

    def configs(self, group: str) -> Configs:
        """Return the group's current configurations."""
        return self._groups.get(group, Configs())

    def add(self, group: str, *tasks: Task) -> None:
        """Add tasks. Raise `ValueError` if a task exists already."""
        now = self.configs(group)
        twice = [task.name for task in tasks if task.name in now.tasks]
        if twice:
            raise ValueError(f"group {group} has task {twice[0]} already")
        self._changed(group, {**now.tasks, **{task.name: task for task in tasks}})

    def delete(self, group: str, *names: str) -> None:
        """Delete tasks. Raise `KeyError` if a task does not exist."""
        left = dict(self.configs(group).tasks)
        for name in names:
            del left[name]
        self._changed(group, left)

    def update(self, group: str, name: str, *, cost: float | None = None) -> None:
        """Change a task's configuration. Raise `KeyError` if the task does not exist."""
        tasks = self.configs(group).tasks
        before = tasks[name]
        after = replace(before, revision=before.revision + 1, cost=before.cost if cost is None else cost)
        self._changed(group, {**tasks, name: after})

    def _changed(self, group: str, tasks: Mapping[str, Task]) -> None:
        self._groups[group] = Configs(version=self.configs(group).version + 1, tasks=tasks)

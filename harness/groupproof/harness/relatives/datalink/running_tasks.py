"""Who runs which task, from when to when: what is lost while nobody does, and what overlaps while two do. Pure.

A task that is wanted and that nobody runs loses a task-second each second; one that two workers run overlaps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

__all__ = ["Overlap", "TaskLedger"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """A task ran on several workers at once, from `from_ms` to `to_ms`."""

    task: str
    workers: tuple[str, ...]
    from_ms: int
    to_ms: int

    @property
    def ms(self) -> int:
        return self.to_ms - self.from_ms


@dataclass(slots=True)
class _Account:
    """One task; `since_ms` is when what holds now began."""

    since_ms: int
    is_wanted: bool = True
    was_started: bool = False
    runners: list[str] = field(default_factory=list)
    lost_ms: int = 0
    last_runner: str | None = None


class TaskLedger:
    """The accounts of all tasks. Reports come in the order of time. A task's first start costs nothing: it was never up before."""

    def __init__(self) -> None:
        self._accounts: dict[str, _Account] = {}
        self.overlaps: list[Overlap] = []
        self.starts: Counter[str] = Counter()
        self.moves = 0
        """Starts of a task on another worker than the one that ran it last."""

    def wanted(self, task: str, now_ms: int) -> None:
        self._accounts.setdefault(task, _Account(now_ms)).is_wanted = True

    def unwanted(self, task: str, now_ms: int) -> None:
        self._settle(task, now_ms).is_wanted = False

    def started(self, task: str, worker: str, now_ms: int) -> None:
        account = self._settle(task, now_ms)
        self.moves += account.last_runner not in (None, worker)
        account.runners.append(worker)
        account.was_started, account.last_runner = True, worker
        self.starts[task] += 1

    def stopped(self, task: str, worker: str, now_ms: int) -> None:
        """Take it that `worker` runs the task no more; where it never did, nothing happens."""
        account = self._settle(task, now_ms)
        if worker in account.runners:
            account.runners.remove(worker)

    def lost_ms(self, now_ms: int) -> int:
        """Return the task-milliseconds lost up to now."""
        return sum(self._settle(task, now_ms).lost_ms for task in tuple(self._accounts))

    def overlap_ms(self, now_ms: int) -> int:
        """Return the task-milliseconds up to now in which a task ran more than once."""
        for task in tuple(self._accounts):
            self._settle(task, now_ms)
        return sum(overlap.ms for overlap in self.overlaps)

    def runners(self, task: str) -> tuple[str, ...]:
        account = self._accounts.get(task)
        return () if account is None else tuple(account.runners)

    def last_runner(self, task: str) -> str | None:
        account = self._accounts.get(task)
        return None if account is None else account.last_runner

    def not_run_once(self, tasks: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return the tasks that do not run exactly once, with those who run them; of `tasks`, and of any other that runs."""
        wrong = {task: self.runners(task) for task in tasks if len(self.runners(task)) != 1}
        return wrong | {task: tuple(account.runners) for task, account in self._accounts.items() if task not in tasks and account.runners}

    def _settle(self, task: str, now_ms: int) -> _Account:
        """Account for the time since the last change."""
        account = self._accounts.setdefault(task, _Account(now_ms))
        if account.is_wanted and account.was_started and not account.runners:
            account.lost_ms += now_ms - account.since_ms
        if len(account.runners) > 1 and now_ms > account.since_ms:
            self._overlapped(task, account, now_ms)
        account.since_ms = now_ms
        return account

    def _overlapped(self, task: str, account: _Account, now_ms: int) -> None:
        workers = tuple(account.runners)
        last = next((index for index in range(len(self.overlaps) - 1, -1, -1) if self.overlaps[index].task == task), None)
        if last is not None and self.overlaps[last].to_ms == account.since_ms and self.overlaps[last].workers == workers:
            self.overlaps[last] = Overlap(task=task, workers=workers, from_ms=self.overlaps[last].from_ms, to_ms=now_ms)
        else:
            self.overlaps.append(Overlap(task=task, workers=workers, from_ms=account.since_ms, to_ms=now_ms))

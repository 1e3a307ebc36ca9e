"""The display of a running load: a changing table on a terminal, otherwise a line every few seconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from rich.console import Console
from rich.live import Live
from rich.table import Table

from groupproof.chaos.spark.load.task_channel import Task

__all__ = ["Figures", "LoadDisplay", "figures_of", "watched"]

_LINE_EVERY_S: Final = 5.0
_ERRORS_SHOWN: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The load at one instant: `rebalances` counts the generations with members, or the epochs that members were given, and `steps` is the word for
    them; rates are since the previous figures."""

    at_s: float
    members: int = 0
    wanted: int = 0
    groups: int = 0
    stable: int = 0
    rebalances: int = 0
    joins: int = 0
    heartbeats: int = 0
    commits: int = 0
    rows: int = 0
    segments: int = 0
    tasks_lost: int = 0
    errors: Mapping[str, int] = field(default_factory=dict)
    heartbeats_per_s: float = 0.0
    steps: str = "rebalances"

    def line(self) -> str:
        """Return the figures as one line."""
        worst = ", ".join(f"{name} {count}" for name, count in _worst(self.errors)) or "none"
        lost = f", tasks lost {self.tasks_lost}" if self.tasks_lost else ""
        return (
            f"{self.at_s:6.1f} s  members {self.members}, groups stable {self.stable}/{self.groups}, {self.steps} {self.rebalances}, "
            f"heartbeats {self.heartbeats_per_s:.0f}/s, commits {self.commits}, rows {self.rows}, errors: {worst}{lost}"
        )

    def to_json(self) -> dict[str, Any]:
        names = ("members", "groups", "stable", "rebalances", "joins", "heartbeats", "commits", "rows", "segments", "tasks_lost")
        return {"at_s": round(self.at_s, 3), **{name: getattr(self, name) for name in names}, "errors": dict(self.errors)}


class LoadDisplay(Protocol):
    """Receives the progress of a load."""

    def figures(self, now: Figures) -> None: ...

    def line(self, text: str) -> None: ...


@dataclass(slots=True)
class _Group:
    """A group in all tasks: its newest generation, its present members, those settled in it, and the partitions of members without frames."""

    generation: int = 0
    up: int = 0
    settled: int = 0
    assigned: int = 0

    def add(self, generation: int, up: int, settled: int, assigned: int, *, is_there: bool) -> None:
        """Add what a task counted; the members of one that is not there are gone."""
        if is_there:
            if generation >= self.generation:
                self.settled = settled + (self.settled if self.generation == generation else 0)
            self.up += up
            self.assigned += assigned
        self.generation = max(self.generation, generation)

    def is_stable(self, partitions: int) -> bool:
        """Return whether all members are settled or, by members without frames, which are not called for an empty assignment, all partitions assigned."""
        return self.up > 0 and (self.up == self.settled or 0 < partitions == self.assigned)


def figures_of(tasks: Iterable[Task], at_s: float, before: Figures | None = None, *, partitions: int = 0) -> Figures:
    """Add up the tasks' last counters. A lost task's counts still count, but its members are gone. `partitions` are those of the load's topics."""
    tasks = list(tasks)
    groups: dict[str, _Group] = {}
    for task in tasks:
        for name, counts in task.counts.get("groups", {}).items():
            groups.setdefault(name, _Group()).add(*counts, is_there=task.is_there)
    every = [counts for task in tasks for counts in (task.counts, *task.past)]
    sums = {name: sum(int(counts.get(name, 0)) for counts in every) for name in ("joins", "heartbeats", "commits", "rows", "segments")}
    errors: Counter[str] = Counter()
    for counts in every:
        errors.update(counts.get("errors", {}))
    passed_s = at_s - before.at_s if before is not None else 0.0
    return Figures(
        at_s=at_s,
        members=sum(group.up for group in groups.values()),
        groups=len(groups),
        stable=sum(group.is_stable(partitions) for group in groups.values()),
        rebalances=sum(group.generation for group in groups.values()),
        tasks_lost=sum(task.lost for task in tasks),
        errors=dict(errors),
        steps="rebalances" if before is None else before.steps,
        heartbeats_per_s=max(0.0, (sums["heartbeats"] - before.heartbeats) / passed_s) if before is not None and passed_s > 0 else 0.0,
        **sums,
    )


@contextmanager
def watched(console: Console) -> Iterator[LoadDisplay]:
    """Show a load on `console` while the context lasts."""
    if not console.is_terminal:
        yield _Lines(console)
        return
    with Live(console=console, refresh_per_second=4, transient=True) as live:
        yield _Table(live)


class _Lines:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._last_s: float | None = None

    def figures(self, now: Figures) -> None:
        if self._last_s is None or now.at_s - self._last_s >= _LINE_EVERY_S:
            self._last_s = now.at_s
            self.line(now.line())

    def line(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


class _Table:
    def __init__(self, live: Live) -> None:
        self._live = live

    def figures(self, now: Figures) -> None:
        table = Table.grid(padding=(0, 2))
        rows = {
            "time": f"{now.at_s:.0f} s", "members": str(now.members), "groups stable": f"{now.stable} of {now.groups}",
            "rebalances": str(now.rebalances), "heartbeats": f"{now.heartbeats_per_s:.0f}/s", "commits": str(now.commits),
            "observations": f"{now.rows} in {now.segments} segments", "tasks lost": str(now.tasks_lost),
        }  # fmt: skip
        for name, value in rows.items():
            table.add_row(f"[dim]{name}", value)
        for error, count in _worst(now.errors):
            table.add_row(f"[yellow]{error}", str(count))
        self._live.update(table)

    def line(self, text: str) -> None:
        self._live.console.print(text, markup=False, highlight=False)


def _worst(errors: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(errors.items(), key=lambda partition: (-partition[1], partition[0]))[:_ERRORS_SHOWN]

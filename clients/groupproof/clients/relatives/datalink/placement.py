"""Assigns tasks to workers: DataLink's round robin, and the assignors that its design only plans (PLAN-01, PLAN-03). Pure functions.

An assignor takes the workers, the tasks and a random generator, and assigns every task to exactly one worker (WTASK-02). `ASSIGNORS` is
open: add another assignor under its own name, without changing a Manager (PLAN-08).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from groupproof.clients.relatives.datalink.task_balance import balanced
from groupproof.clients.relatives.datalink.tasks import Task
from groupproof.protocol.relatives.datalink_messages import WorkerStatus

if TYPE_CHECKING:
    from random import Random

__all__ = ["ASSIGNORS", "Assignor", "Candidate", "Placement", "by_resources", "round_robin", "sticky"]

Placement = dict[str, tuple[str, ...]]
"""The tasks of each worker, by member id. It includes workers without tasks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A worker that can run tasks, as its JoinGroup described it."""

    member_id: str
    status: WorkerStatus

    @property
    def name(self) -> str:
        return self.status.url


Assignor = Callable[[Sequence[Candidate], Sequence[Task], "Random"], Placement]


def round_robin(workers: Sequence[Candidate], tasks: Sequence[Task], random: Random) -> Placement:
    """Assign shuffled tasks in turn to the workers, ordered by member id (WTASK-01, WTASK-03)."""
    names = sorted(worker.member_id for worker in workers)
    shuffled = sorted(task.name for task in tasks)
    random.shuffle(shuffled)
    return {member_id: tuple(shuffled[place :: len(names)]) for place, member_id in enumerate(names)}


def by_resources(workers: Sequence[Candidate], tasks: Sequence[Task], random: Random) -> Placement:
    """Assign tasks so that the highest load relative to capacity is as small as possible (PLAN-01).

    A task's cost is the cost that a worker measured (`traffic`), otherwise the one in its configuration.
    """
    measured = {name: value for worker in workers for name, value in worker.status.traffic.items()}
    costs = {task.name: measured.get(task.name, task.cost) for task in tasks}
    return balanced({worker.member_id: worker.status.capacity for worker in workers}, costs)


def sticky(workers: Sequence[Candidate], tasks: Sequence[Task], random: Random) -> Placement:
    """Keep tasks on their workers while task counts differ by at most one. A bound task goes to its worker if that is present (PLAN-03)."""
    bound = _bound(workers, tasks)
    free = [task.name for task in tasks if task.name not in bound]
    placed: dict[str, list[str]] = {worker.member_id: [] for worker in sorted(workers, key=lambda worker: worker.member_id)}
    _keep(placed, _held(workers, free), len(free))
    left = [name for name in free if not any(name in own for own in placed.values())]
    for name in sorted(left):
        min(placed.values(), key=len).append(name)
    for name, member_id in bound.items():
        placed[member_id].append(name)
    return {member_id: tuple(own) for member_id, own in placed.items()}


def _bound(workers: Iterable[Candidate], tasks: Iterable[Task]) -> dict[str, str]:
    """Return the member for each task that is bound to a present worker."""
    members = {worker.name: worker.member_id for worker in workers}
    return {task.name: members[task.bound_to] for task in tasks if task.bound_to in members}


def _held(workers: Iterable[Candidate], names: Iterable[str]) -> dict[str, list[str]]:
    """Return the last tasks of each worker. Of several claims the running one wins, then the one of the latest generation."""
    present = frozenset(names)
    claims: dict[str, tuple[bool, int, str]] = {}
    for worker in workers:
        for name in present.intersection((*worker.status.held, *worker.status.running)):
            claim = name in worker.status.running, worker.status.generation, worker.member_id
            claims[name] = max(claims.get(name, claim), claim)
    held: dict[str, list[str]] = {}
    for name in sorted(claims):
        held.setdefault(claims[name][2], []).append(name)
    return held


def _keep(placed: dict[str, list[str]], held: Mapping[str, Sequence[str]], tasks: int) -> None:
    """Let each worker keep its share of its tasks: t tasks // n workers, and one more for those that hold most."""
    share, more = divmod(tasks, len(placed))
    for member_id in sorted(placed, key=lambda member: (-len(held.get(member, ())), member)):
        mine = held.get(member_id, ())
        room = share + (more > 0 and len(mine) > share)
        more -= room > share
        placed[member_id].extend(mine[:room])


ASSIGNORS: Final[dict[str, Assignor]] = {"round-robin": round_robin, "resources": by_resources, "sticky": sticky}

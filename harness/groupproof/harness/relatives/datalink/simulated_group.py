"""A group of DataLink's workers and a pair of Managers in virtual time, from one seed. The invariants are checked after each event and at the end. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from groupproof.clients.relatives.datalink.tasks import Board, Configs, Task
from groupproof.clients.relatives.datalink.worker_outputs import WorkerState
from groupproof.clients.relatives.datalink.worker_settings import HandOver, WorkerSettings
from groupproof.coordinator.machine.variant import REFERENCE
from groupproof.coordinator.planted.variants import variant_named
from groupproof.harness.relatives.datalink.churn import Event
from groupproof.harness.relatives.datalink.managers import ManagerPair
from groupproof.harness.relatives.datalink.running_tasks import Overlap, TaskLedger
from groupproof.harness.relatives.datalink.thread_drift import drifting
from groupproof.harness.relatives.datalink.worker_process import TaskTimes, WorkerProcess
from groupproof.harness.simulation.heap import Heap
from groupproof.harness.simulation.random_streams import Streams

__all__ = ["GROUP", "Outcome", "SimulatedWorkers", "WorkerRun", "run"]

GROUP: Final = "g"
_LOOK_MS: Final = 250
_STARTS_WITHIN_MS: Final = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRun:
    """One run. `costs` are drawn for the tasks where they are not all 1; the run settles before the first event and after each."""

    seed: int = 1
    workers: int = 8
    tasks: int = 40
    assignor: str = "round-robin"
    hand_over: HandOver = "stop-everything"
    fences: bool = False
    profile: str = "datalink"
    reading: str | None = None
    events: tuple[Event, ...] = ()
    times: TaskTimes = field(default_factory=TaskTimes)
    unequal: bool = False
    without_manager_ms: int = 1_000
    settles_within_ms: int = 180_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a run came to. Times are virtual milliseconds; `settled_ms` is what each event's settling took, -1 where it never did."""

    course: WorkerRun
    virtual_ms: int
    events: int
    generations: int
    lost_ms: int
    overlap_ms: int
    overlaps: tuple[Overlap, ...]
    moves: int
    starts: int
    settled_ms: tuple[int, ...]
    violations: tuple[str, ...]

    @property
    def lost_s_per_event(self) -> float:
        """Return the task-seconds lost for each thing that happened."""
        return self.lost_ms / 1_000 / max(len(self.course.events), 1)


def run(course: WorkerRun) -> Outcome:
    """Run a course to its end, or to the first event after which the group does not settle. Raise `UnknownProfile` and `UnknownVariant`."""
    return SimulatedWorkers(course).go()


class SimulatedWorkers:
    """One course, made ready."""

    def __init__(self, course: WorkerRun) -> None:
        self.course = course
        self.heap, self.board, self.ledger = Heap(), Board(), TaskLedger()
        self._streams = Streams(course.seed)
        variant = REFERENCE if course.reading is None else variant_named(course.reading)
        self.managers = ManagerPair(self.heap, self._streams, profile=course.profile, variant=variant)
        self._tasks = 0
        for _ in range(course.tasks):
            self.add_task()
        self.bays = [self._worker_process(number) for number in range(course.workers)]
        self.violations: list[str] = []
        self._settled_ms: list[int] = []

    def _worker_process(self, number: int) -> WorkerProcess:
        course = self.course
        settings = WorkerSettings(
            group=GROUP, bootstrap=(("manager-0", 8899), ("manager-1", 8899)), name=f"w{number}", assignor=course.assignor, hand_over=course.hand_over,
            fences=course.fences, **drifting(self._streams.named("pace", number)),
        )  # fmt: skip
        random = self._streams.named("worker", number)
        return WorkerProcess(settings, heap=self.heap, managers=self.managers, ledger=self.ledger, random=random, times=course.times, read=self._read)

    def _read(self) -> Configs:
        return self.board.configs(GROUP)

    def add_task(self) -> None:
        name = f"t{self._tasks}"
        cost = float(self._streams.named("cost", self._tasks).choice((1, 1, 2, 3, 5, 8))) if self.course.unequal else 1.0
        self._tasks += 1
        self.board.add(GROUP, Task(name=name, cost=cost))
        self.ledger.wanted(name, self.heap.now_ms)

    # The course

    def go(self) -> Outcome:
        starts = self._streams.named("starts")
        for worker in self.bays:
            self.heap.at(starts.randrange(_STARTS_WITHIN_MS), worker.start)
        self.heap.run(_STARTS_WITHIN_MS)
        if self._settles("the start"):
            self._happen()
        now_ms, ledger = self.heap.now_ms, self.ledger
        return Outcome(
            course=self.course, virtual_ms=now_ms, events=self.heap.events, generations=self.managers.generations(), lost_ms=ledger.lost_ms(now_ms),
            overlap_ms=ledger.overlap_ms(now_ms), overlaps=tuple(ledger.overlaps), moves=ledger.moves, starts=ledger.starts.total(),
            settled_ms=tuple(self._settled_ms), violations=tuple(self.violations),
        )  # fmt: skip

    def _happen(self) -> None:
        began_ms = self.heap.now_ms
        for event in self.course.events:
            self.heap.run(max(began_ms + event.at_ms, self.heap.now_ms))
            at_ms = self.heap.now_ms
            _HAPPENS[event.kind](self, event)
            self.heap.run(at_ms + max(event.for_ms, 1))
            self._heal(event)
            healed_ms = self.heap.now_ms
            if not self._settles(f"{event.kind} at {at_ms} ms"):
                return
            self._settled_ms.append(self.heap.now_ms - healed_ms)

    def _heal(self, event: Event) -> None:
        self.managers.restore()
        for worker in self.bays:
            worker.is_cut = False
            worker.start()

    # The invariants

    def _settles(self, after: str) -> bool:
        """Run until every worker is Stable in one generation and each task runs exactly once, then see that it stays so; note where it does not."""
        until_ms = self.heap.now_ms + self.course.settles_within_ms
        while (wrong := self.unsettled()) and self.heap.now_ms < until_ms:
            self.heap.run(self.heap.now_ms + _LOOK_MS)
        if not wrong:
            self.heap.run(self.heap.now_ms + 2 * _LOOK_MS)
            wrong = self.unsettled()
        if wrong:
            self.violations.append(f"{self.course.settles_within_ms} ms after {after} {wrong}")
        return not wrong

    def unsettled(self) -> str:
        """Return what keeps the group from being settled, empty where nothing does."""
        if failed := next((f"{worker.name} failed: {worker.failure}" for worker in self.bays if worker.failure is not None), ""):
            return failed
        up = [worker for worker in self.bays if worker.is_up]
        if waiting := [f"{worker.name} is {worker.worker.state.value}" for worker in up if worker.worker.state is not WorkerState.STABLE]:
            return ", ".join(waiting)
        if len({worker.worker.generation for worker in up}) > 1:
            return "the workers are of different generations"
        wrong = self.ledger.not_run_once(self.board.configs(GROUP).tasks.keys())
        return f"task {min(wrong)} runs on {', '.join(wrong[min(wrong)]) or 'nobody'}" if wrong else ""


def _add(workers: SimulatedWorkers, event: Event) -> None:
    workers.add_task()


def _chosen(workers: SimulatedWorkers, event: Event) -> str | None:
    names = sorted(workers.board.configs(GROUP).tasks)
    return names[event.who % len(names)] if names else None


def _delete(workers: SimulatedWorkers, event: Event) -> None:
    gone = _chosen(workers, event)
    if gone is not None:
        workers.ledger.unwanted(gone, workers.heap.now_ms)
        workers.board.delete(GROUP, gone)


def _update(workers: SimulatedWorkers, event: Event) -> None:
    changed = _chosen(workers, event)
    if changed is not None:
        workers.board.update(GROUP, changed)


def _cut(workers: SimulatedWorkers, event: Event) -> None:
    workers.bays[event.who].is_cut = True


_HAPPENS: Final[dict[str, Callable[[SimulatedWorkers, Event], None]]] = {
    "leave": lambda workers, event: workers.bays[event.who].leave(),
    "kill": lambda workers, event: workers.bays[event.who].kill(),
    "cut": _cut,
    "add": _add,
    "delete": _delete,
    "update": _update,
    "force": lambda workers, event: workers.managers.force(GROUP),
    "switch": lambda workers, event: workers.managers.switch(workers.course.without_manager_ms),
}

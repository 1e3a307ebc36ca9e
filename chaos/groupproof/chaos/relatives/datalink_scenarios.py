"""Fault scenarios of DataLink's workers and Managers: the faults, and what must hold after they are healed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from groupproof.clients.relatives.datalink.worker_settings import HandOver
from groupproof.harness.relatives.datalink.churn import Event
from groupproof.harness.relatives.datalink.manager_switch import Switching, play
from groupproof.harness.relatives.datalink.simulated_group import WorkerRun, run

__all__ = ["SCENARIOS", "Scenario", "Verdict", "scenario_named"]

WORKERS: Final = 6
TASKS: Final = 30
_BEGINS_MS: Final = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The result of a run; `broken` names the failed expectations, and is empty if there are none. Times are task-milliseconds."""

    scenario: str
    seed: int
    broken: tuple[str, ...]
    lost_ms: int
    overlap_ms: int
    longest_overlap_ms: int


PlayScenario = Callable[[str, int, str, HandOver], Verdict]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """`play` takes the scenario's name, a seed, an assignor and a hand-over mode."""

    name: str
    title: str
    story: str
    requirements: tuple[str, ...]
    play: PlayScenario

    def run(self, seed: int, assignor: str, hand_over: HandOver) -> Verdict:
        return self.play(self.name, seed, assignor, hand_over)


def _over_the_wire(name: str, seed: int, assignor: str, hand_over: HandOver) -> Verdict:
    found = play(Switching(seed=seed, workers=WORKERS, tasks=TASKS, assignor=assignor, hand_over=hand_over))
    broken = [f"task {task} runs on {', '.join(workers) or 'nobody'}" for task, workers in found.wrong.items()]
    broken += [f"{found.rejoined} of {WORKERS} workers came back"] * (found.rejoined != WORKERS)
    return Verdict(
        scenario=name,
        seed=seed,
        broken=tuple(broken),
        lost_ms=found.lost_ms,
        overlap_ms=found.overlap_ms,
        longest_overlap_ms=found.longest_overlap_ms,
    )


def _simulated(*events: Event, fences: bool = False, without_manager_ms: int = 1_000) -> PlayScenario:
    def played(name: str, seed: int, assignor: str, hand_over: HandOver) -> Verdict:
        course = WorkerRun(
            seed=seed,
            workers=WORKERS,
            tasks=TASKS,
            assignor=assignor,
            hand_over=hand_over,
            fences=fences,
            events=events,
            without_manager_ms=without_manager_ms,
        )
        found = run(course)
        doubled = found.overlap_ms if fences else 0
        broken = (*found.violations, *(f"tasks ran on two workers for {doubled} task-ms" for _ in range(doubled > 0)))
        longest_ms = max((overlap.ms for overlap in found.overlaps), default=0)
        return Verdict(scenario=name, seed=seed, broken=broken, lost_ms=found.lost_ms, overlap_ms=found.overlap_ms, longest_overlap_ms=longest_ms)

    return played


def _at(number: int, kind: str, who: int = 0, for_ms: int = 30_000) -> Event:
    return Event(at_ms=_BEGINS_MS * (number + 1), kind=kind, who=who, for_ms=for_ms)


_ROLLING: Final = tuple(_at(who, "leave", who, 10_000) for who in range(WORKERS))
_CRASHES: Final = tuple(_at(who, "kill", who, 10_000) for who in range(0, WORKERS, 2))
_TASKS_MOVE: Final = (_at(0, "add"), _at(1, "delete", 3), _at(2, "update", 1), _at(3, "kill", 2), _at(4, "add"), _at(5, "force"))

SCENARIOS: Final[tuple[Scenario, ...]] = (
    Scenario(
        name="manager-switch", title="The active Manager ends under load", requirements=("MGR-33", "MGR-05", "WTASK-02"), play=_over_the_wire,
        story="The standby becomes active and knows no group. Every worker comes back, over the wire, and each task runs exactly once.",
    ),
    Scenario(
        name="no-manager", title="There is no Manager for a while", requirements=("MGR-33", "WORKER-10"),
        play=_simulated(_at(0, "switch"), without_manager_ms=25_000),
        story="Both Managers are gone for longer than a session. Workers look for one, go on working meanwhile, and join the first that is there.",
    ),
    Scenario(
        name="worker-cut-off", title="A worker is cut off", requirements=("MGR-21", "WORKER-11", "WORKER-18"), play=_simulated(_at(0, "cut", 1, 40_000)),
        story="The Managers cannot be reached for longer than a session. Its tasks are given to others, and it goes on running them until it is told.",
    ),
    Scenario(
        name="fenced-worker-cut-off", title="A worker that fences itself is cut off", requirements=("WORKER-18", "WTASK-02"),
        play=_simulated(_at(0, "cut", 1, 40_000), fences=True),
        story="The same, of a worker that stops its tasks when its session is over by its own clock: no task runs twice.",
    ),
    Scenario(
        name="rolling-restart-of-workers", title="Each worker is restarted in turn", requirements=("MGR-05", "DISC-17"), play=_simulated(*_ROLLING),
        story="One worker after the other leaves in good order and comes back.",
    ),
    Scenario(
        name="crash-of-workers", title="Half of the workers crash, one after the other", requirements=("MGR-07", "MGR-21"), play=_simulated(*_CRASHES),
        story="A process ends at once; its session ends later, and its tasks go to others until it is back.",
    ),
    Scenario(
        name="tasks-move-about", title="Tasks come, go and change while a worker crashes", requirements=("WORKER-08", "WTASK-07", "WTASK-08", "TR-128"),
        play=_simulated(*_TASKS_MOVE),
        story="An operator adds, deletes and changes tasks, and forces a rebalance.",
    ),
)  # fmt: skip


def scenario_named(name: str) -> Scenario | None:
    return next((scenario for scenario in SCENARIOS if scenario.name == name), None)

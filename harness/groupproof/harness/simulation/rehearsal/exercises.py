"""The exercises of a rehearsal, as data: the events of the group, and their times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from groupproof.harness.simulation.rehearsal.rehearsed_settings import RehearsedSettings
from groupproof.harness.simulation.simulator_faults import FaultTargets

if TYPE_CHECKING:
    from groupproof.harness.simulation.heap import Heap

__all__ = ["ACTS", "EXERCISES", "Exercise", "Step"]

_BETWEEN_MS: Final = 15_000
"""A deployment restarts the next member this long after the last one is back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One act, `at_ms` after the exercise begins. Its effect on `who` ends after `for_ms`."""

    at_ms: int
    act: str
    who: str = ""
    for_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Exercise:
    """One exercise. `is_static` makes members static or dynamic, whatever the settings say. `newcomers` returns how many extra members come.

    If partitions still have no owner at the end, the exercise waits up to `patience_ms`.
    """

    name: str
    says: str
    steps: Callable[[RehearsedSettings], list[Step]]
    is_static: bool | None = None
    newcomers: Callable[[RehearsedSettings], int] = lambda _: 0
    patience_ms: int = 3_600_000

    def applied(self, settings: RehearsedSettings) -> RehearsedSettings:
        """Return the settings for the exercise."""
        return settings if self.is_static is None else settings.changed({"group.instance.id": "rehearsed" if self.is_static else ""})

    def is_as_set(self, settings: RehearsedSettings) -> bool:
        """Return whether the settings themselves make the members as the exercise has them."""
        return self.is_static in (None, settings.is_static)


def _names(settings: RehearsedSettings) -> list[str]:
    return [f"m{number}" for number in range(settings.number("rehearse.members"))]


def _half(settings: RehearsedSettings) -> int:
    return settings.number("rehearse.members") // 2


def _rolling(settings: RehearsedSettings) -> list[Step]:
    away_ms = settings.number("rehearse.restart.ms")
    return [Step(at_ms=index * (away_ms + _BETWEEN_MS), act="restart", who=name, for_ms=away_ms) for index, name in enumerate(_names(settings))]


def _at_once(settings: RehearsedSettings) -> list[Step]:
    names, spread_ms, away_ms = _names(settings), settings.number("rehearse.start.spread.ms"), settings.number("rehearse.restart.ms")
    return [Step(at_ms=0, act="restart", who=name, for_ms=away_ms + index * spread_ms // len(names)) for index, name in enumerate(names)]


def _out(settings: RehearsedSettings) -> list[Step]:
    first, count, spread_ms = settings.number("rehearse.members"), _half(settings), settings.number("rehearse.start.spread.ms")
    return [Step(at_ms=index * spread_ms // count, act="start", who=f"m{first + index}") for index in range(count)]


def _in(settings: RehearsedSettings) -> list[Step]:
    return [Step(at_ms=0, act="leave", who=name) for name in _names(settings)[-_half(settings) :]]


EXERCISES: Final = {
    exercise.name: exercise
    for exercise in (
        Exercise(name="rolling-restart-dynamic", says="One member after the other is restarted; none has an instance id.", steps=_rolling, is_static=False),
        Exercise(name="rolling-restart-static", says="One member after the other is restarted; all have instance ids.", steps=_rolling, is_static=True),
        Exercise(name="deploy-at-once", says="All members are closed at once and come back.", steps=_at_once),
        Exercise(name="slow-poll", says="The records of one member take long.",
                 steps=lambda settings: [Step(at_ms=0, act="slow", who="m0", for_ms=settings.number("rehearse.slow.for.ms"))]),
        Exercise(name="node-lost", says="The machine of one member is gone, for good.", steps=lambda _: [Step(at_ms=0, act="crash", who="m0")]),
        Exercise(name="gc-pause", says="Garbage collection stops one member.",
                 steps=lambda settings: [Step(at_ms=0, act="pause", who="m0", for_ms=settings.number("rehearse.pause.ms"))]),
        Exercise(name="coordinator-move", says="The group's coordinator moves to another broker.", steps=lambda _: [Step(at_ms=0, act="move")]),
        Exercise(name="scale-out", says="Half as many members come in addition.", steps=_out, newcomers=_half),
        Exercise(name="scale-in", says="Half of the members leave.", steps=_in),
    )
}  # fmt: skip


# The acts ------------------------------------------------------------------------------------------------------------------------


Act = Callable[[FaultTargets, "Heap", RehearsedSettings, Step], None]


def _process(targets: FaultTargets, step: Step) -> Any:
    return targets.processes[step.who]


def _restart(targets: FaultTargets, heap: Heap, _: RehearsedSettings, step: Step) -> None:
    process = _process(targets, step)
    process.leave()
    heap.after(step.for_ms, process.start)


def _pause(targets: FaultTargets, heap: Heap, _: RehearsedSettings, step: Step) -> None:
    process = _process(targets, step)
    process.freeze()
    heap.after(step.for_ms, process.thaw)


def _slow(targets: FaultTargets, heap: Heap, settings: RehearsedSettings, step: Step) -> None:
    process = _process(targets, step)
    process.slow_record_ms = settings.number("rehearse.slow.record.ms")
    heap.after(step.for_ms, lambda: setattr(process, "slow_record_ms", 0))


def _move(targets: FaultTargets, _: Heap, settings: RehearsedSettings, __: Step) -> None:
    brokers = targets.brokers
    assert brokers.owner is not None, "one broker has the group when an exercise begins"
    brokers.move((brokers.owner + 1) % brokers.count, drops=False, after_ms=settings.number("rehearse.load.ms"))


def _hang(targets: FaultTargets, heap: Heap, _: RehearsedSettings, step: Step) -> None:
    owner = targets.brokers.owner
    assert owner is not None, "one broker has the group when an exercise begins"
    targets.brokers.stop(owner)
    heap.after(step.for_ms, targets.brokers.go_on, owner)


def _end_broker(targets: FaultTargets, _: Heap, settings: RehearsedSettings, __: Step) -> None:
    owner = targets.brokers.owner
    assert owner is not None, "one broker has the group when its host is ended"
    targets.brokers.crash(owner, failover_ms=_FAILOVER_MS, load_ms=settings.number("rehearse.load.ms"))


def _for_a_while(name: str, value: int) -> Act:
    """Return an act that sets an attribute of a process until the step ends. A step without duration sets it permanently."""

    def act(targets: FaultTargets, heap: Heap, _: RehearsedSettings, step: Step) -> None:
        process = _process(targets, step)
        setattr(process, name, value)
        if step.for_ms:
            heap.after(step.for_ms, lambda: setattr(process, name, 0))

    return act


_ASSIGNING_MS: Final = 12_000
_FAILOVER_MS: Final = 6_000

ACTS: Final[Mapping[str, Act]] = {
    "restart": _restart,
    "pause": _pause,
    "slow": _slow,
    "move": _move,
    "start": lambda targets, heap, settings, step: _process(targets, step).start(),
    "leave": lambda targets, heap, settings, step: _process(targets, step).leave(),
    "hang": _hang,
    "end-broker": _end_broker,
    "starve": _for_a_while("is_starved", 1),
    "assign-slowly": _for_a_while("assigning_ms", _ASSIGNING_MS),
    "wait": lambda targets, heap, settings, step: None,
    "crash": lambda targets, heap, settings, step: _process(targets, step).crash(),
}

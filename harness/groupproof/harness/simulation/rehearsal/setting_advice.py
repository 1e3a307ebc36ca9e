"""Advice on settings: candidate changes as data, each run through the same exercise. Only a change that costs less is advice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from groupproof.harness.simulation.rehearsal.exercises import EXERCISES, Exercise
from groupproof.harness.simulation.rehearsal.rehearsal_run import rehearse
from groupproof.harness.simulation.rehearsal.rehearsed_settings import BadSetting, RehearsedSettings
from groupproof.harness.simulation.rehearsal.work_meter import Cost
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.vocabulary import COOPERATIVE_STICKY

__all__ = ["CANDIDATES", "Advice", "Candidate", "Rehearsal", "is_better"]

Changes = Mapping[str, int | str | bool]
_OTHER_SEEDS: Final = (1, 2)
"""Advice must also hold with these seeds, so that chance in one run makes no advice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A change that may cost less in some exercises. `changes` returns the new values, empty if it does not apply."""

    changes: Callable[[RehearsedSettings], Changes]
    exercises: tuple[str, ...]


def _classic(changes: Callable[[RehearsedSettings], Changes]) -> Callable[[RehearsedSettings], Changes]:
    return lambda settings: {} if settings.is_consumer else changes(settings)


def _consumer(changes: Callable[[RehearsedSettings], Changes]) -> Callable[[RehearsedSettings], Changes]:
    return lambda settings: changes(settings) if settings.is_consumer else {}


def _short_session(settings: RehearsedSettings) -> Changes:
    return {"session.timeout.ms": 10_000} if settings.heartbeat_interval_ms < 10_000 else {}


def _long_poll(settings: RehearsedSettings) -> Changes:
    """Extend the poll interval for a whole slow batch."""
    return {"max.poll.interval.ms": settings.number("max.poll.records") * settings.number("rehearse.slow.record.ms") * 6 // 5}


def _few_records(settings: RehearsedSettings) -> Changes:
    """Poll at most the records that can be processed in half the poll interval."""
    return {"max.poll.records": max(1, settings.number("max.poll.interval.ms") // (2 * settings.number("rehearse.slow.record.ms")))}


_REBALANCING: Final = ("rolling-restart-dynamic", "deploy-at-once", "slow-poll", "gc-pause", "scale-out", "scale-in")
_LOST: Final = ("node-lost", "rolling-restart-static", "scale-in")
_READ_AGAIN: Final = ("node-lost", "gc-pause", "slow-poll")

CANDIDATES: Final = (
    Candidate(changes=_classic(lambda _: {"partition.assignment.strategy": COOPERATIVE_STICKY}), exercises=_REBALANCING),
    Candidate(changes=_classic(lambda _: {"group.protocol": CONSUMER.name}), exercises=_REBALANCING),
    Candidate(changes=lambda settings: {} if settings.is_static else {"group.instance.id": "one-for-each-member"}, exercises=("rolling-restart-dynamic", "deploy-at-once", "slow-poll")),
    Candidate(changes=lambda settings: {"group.instance.id": ""} if settings.is_static else {}, exercises=("rolling-restart-static", "scale-in", "deploy-at-once")),
    Candidate(changes=_classic(_short_session), exercises=_LOST),
    Candidate(changes=_classic(lambda settings: {"session.timeout.ms": settings.number("rehearse.pause.ms") * 3 // 2}), exercises=("gc-pause",)),
    Candidate(changes=_classic(lambda settings: {"session.timeout.ms": settings.number("rehearse.restart.ms") * 3 // 2}), exercises=("rolling-restart-static", "deploy-at-once")),
    Candidate(changes=_classic(lambda _: {"heartbeat.interval.ms": 1_000}), exercises=_REBALANCING),
    Candidate(changes=_consumer(lambda _: {"group.consumer.session.timeout.ms": 10_000, "group.consumer.min.session.timeout.ms": 10_000}), exercises=_LOST),
    Candidate(changes=_consumer(lambda _: {"group.consumer.heartbeat.interval.ms": 1_000, "group.consumer.min.heartbeat.interval.ms": 1_000}), exercises=_REBALANCING),
    Candidate(changes=_long_poll, exercises=("slow-poll",)),
    Candidate(changes=_few_records, exercises=("slow-poll",)),
    Candidate(changes=lambda settings: {"auto.commit.interval.ms": 1_000} if settings.values["enable.auto.commit"] else {}, exercises=_READ_AGAIN),
    Candidate(
        changes=_classic(lambda settings: {"group.initial.rebalance.delay.ms": settings.number("rehearse.start.spread.ms") + 1_000}), exercises=("deploy-at-once",)
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """A change that measured better. `elsewhere` has the costs of other exercises that it changes, before and after, by name."""

    exercise: str
    changes: Changes
    before: Cost
    after: Cost
    elsewhere: Mapping[str, tuple[Cost, Cost]]

    def to_json(self) -> dict[str, Any]:
        elsewhere = {name: {"before": before.to_json(), "after": after.to_json()} for name, (before, after) in self.elsewhere.items()}
        return {
            "exercise": self.exercise,
            "set": dict(self.changes),
            "before": self.before.to_json(),
            "after": self.after.to_json(),
            "elsewhere": elsewhere,
        }


_UNITS: Final = (1_000, 1_000, 1, 1)


def _figures(cost: Cost) -> tuple[int, int, int, int]:
    return cost.unowned_worst_ms, cost.unowned_ms, cost.rebalances, cost.reread


def _falls(before: Cost, after: Cost) -> bool:
    """Return whether a figure falls by a tenth, and by at least a second, a rebalance or a record."""
    return any(old - new >= max(unit, old / 10) for old, new, unit in zip(_figures(before), _figures(after), _UNITS, strict=True))


def is_better(before: Cost, after: Cost) -> bool:
    """Return whether a figure falls and none rises."""
    return _falls(before, after) and not _falls(after, before)


class Rehearsal:
    """One set of settings in exercises. No combination runs twice."""

    def __init__(self, settings: RehearsedSettings, exercises: Iterable[str], seed: int) -> None:
        self.settings, self.seed = settings, seed
        self.exercises = tuple(EXERCISES[name] for name in exercises)
        self._costs: dict[tuple[str, tuple[tuple[str, object], ...], int], Cost] = {}

    def cost(self, exercise: Exercise, changes: Changes | None = None, seed: int | None = None) -> Cost:
        """Return the cost of an exercise with the settings, or with some changes. Raise `BadSetting` if they are not allowed."""
        changes, seed = changes or {}, self.seed if seed is None else seed
        key = exercise.name, tuple(sorted(changes.items())), seed
        if key not in self._costs:
            self._costs[key] = rehearse(exercise.applied(self.settings).changed(changes), exercise, seed)
        return self._costs[key]

    def advice(self) -> Iterator[Advice]:
        """Yield the better changes by exercise, the cheapest first. Exercises that override the settings get none."""
        for exercise in self.exercises:
            if exercise.is_as_set(self.settings):
                yield from sorted(self._advice_on(exercise), key=lambda advice: _figures(advice.after))

    def _advice_on(self, exercise: Exercise) -> Iterator[Advice]:
        for candidate in CANDIDATES:
            changes = self._changes(candidate)
            if exercise.name in candidate.exercises and changes and self._is_proven(exercise, changes):
                before, after = self.cost(exercise), self.cost(exercise, changes)
                yield Advice(exercise=exercise.name, changes=changes, before=before, after=after, elsewhere=self._elsewhere(exercise, changes))

    def _changes(self, candidate: Candidate) -> Changes:
        """Return a candidate's changes, empty if the settings have them already or do not allow them."""
        changes = {name: value for name, value in candidate.changes(self.settings).items() if self.settings.current(name) != value}
        try:
            self.settings.changed(changes)
        except BadSetting:
            return {}
        return changes

    def _is_proven(self, exercise: Exercise, changes: Changes) -> bool:
        seeds = (self.seed, *(self.seed + more for more in _OTHER_SEEDS))
        return all(is_better(self.cost(exercise, seed=seed), self.cost(exercise, changes, seed)) for seed in seeds)

    def _elsewhere(self, exercise: Exercise, changes: Changes) -> dict[str, tuple[Cost, Cost]]:
        others = [other for other in self.exercises if other.name != exercise.name and other.is_as_set(self.settings)]
        costs = {other.name: (self.cost(other), self.cost(other, changes)) for other in others}
        return {name: pair for name, pair in costs.items() if _falls(*pair) or _falls(pair[1], pair[0])}

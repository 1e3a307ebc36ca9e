"""Runs one exercise with one set of settings in virtual time, and returns its cost. The same arguments give the same cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from groupproof.clients.member.policy import REFERENCE, Policy
from groupproof.clients.outputs import Callback
from groupproof.harness.simulation.invariants.epoch_owners import EpochOwners
from groupproof.harness.simulation.invariants.simulated_invariants import SimulatedInvariants
from groupproof.harness.simulation.rehearsal.exercises import ACTS, Exercise, Step
from groupproof.harness.simulation.rehearsal.rehearsed_settings import RehearsedSettings
from groupproof.harness.simulation.rehearsal.work_meter import Cost, WorkMeter
from groupproof.harness.simulation.rehearsal.working_process import PolicyOf, working_processes
from groupproof.harness.simulation.run import Run
from groupproof.harness.simulation.settings import TOPIC, Simulation
from groupproof.harness.simulation.simulation_registry import simulation_of
from groupproof.harness.simulation.trace_writer import MakeRecorder

__all__ = ["rehearse", "warm_up_ms"]

_WARM_UP_MS: Final = 90_000
_AFTER_MS: Final = 60_000
_LOOK_MS: Final = 1_000


def rehearse(
    settings: RehearsedSettings, exercise: Exercise, seed: int, recorder: MakeRecorder | None = None, *, policy_of: PolicyOf | None = None,
    prepare: Callable[[Run], None] = lambda _: None,
) -> Cost:  # fmt: skip
    """Start the group, run the exercise, and continue until every partition has an owner again and a minute has passed.

    The exercise limits that wait. Members behave as `policy_of` says. Without it, all are reference members, and every invariant is checked.
    `prepare` is called with the run before it begins.
    """
    meter, members = WorkMeter(settings.number("rehearse.partitions"), TOPIC), settings.number("rehearse.members")
    run = _run(settings, exercise, seed, meter, recorder, policy_of)
    prepare(run)
    run.start(f"m{number}" for number in range(members))
    heap, began_ms = run.heap, warm_up_ms(settings)
    heap.run(began_ms)
    meter.begin(began_ms)
    before = len(run.record.transitions)
    steps = exercise.steps(settings)
    for step in steps:
        heap.after(step.at_ms, partial(_act, run, settings, step))
    over_ms = began_ms + max(step.at_ms + step.for_ms for step in steps)
    heap.run(over_ms + _AFTER_MS)
    while not meter.is_whole and heap.now_ms < over_ms + exercise.patience_ms:
        heap.run(heap.now_ms + _LOOK_MS)
    return meter.cost(heap.now_ms, _generations(run, before))


def _run(
    settings: RehearsedSettings, exercise: Exercise, seed: int, meter: WorkMeter, recorder: MakeRecorder | None, policy_of: PolicyOf | None
) -> Run:
    count = settings.number("rehearse.members") + exercise.newcomers(settings)
    part = simulation_of(settings.profile, settings.dialect)
    part = replace(part, processes=partial(working_processes, settings, meter, count, policy_of or _reference))
    if policy_of is not None:
        part = replace(part, invariants=lambda simulation, heap: Unjudged())
    return Run(_simulation(settings, seed, count), None, recorder, part=part)


def _reference(_: str) -> Policy:
    return REFERENCE


class _Nobody(EpochOwners):
    """Checks no owner."""

    def __init__(self) -> None:
        super().__init__(live=tuple)

    def synced(self, name: str, generation: int) -> None:
        pass

    def called(self, name: str, callback: Callback) -> None:
        pass


class Unjudged(SimulatedInvariants):
    """Checks nothing: misbehaving members break invariants, and incidents consist of that."""

    def __init__(self) -> None:
        self.ownership = _Nobody()


def _simulation(settings: RehearsedSettings, seed: int, members: int) -> Simulation:
    return Simulation(
        seed=seed, members=members, profile=settings.profile, faults=(), partitions=settings.number("rehearse.partitions"), dialect=settings.dialect,
        static_members=members if settings.is_static else 0, assignors=settings.assignors, session_timeout_ms=settings.session_timeout_ms,
        heartbeat_interval_ms=settings.heartbeat_interval_ms, max_poll_interval_ms=settings.number("max.poll.interval.ms"),
        starts_within_ms=settings.number("rehearse.start.spread.ms"), coordinator_settings=settings.broker,  # type: ignore[arg-type]  # assignors are names
    )  # fmt: skip


def warm_up_ms(settings: RehearsedSettings) -> int:
    """Return when the group is up and works, in ms. The broker delays the first join phase."""
    return _WARM_UP_MS + settings.number("rehearse.start.spread.ms") + 2 * settings.of_broker("group.initial.rebalance.delay.ms")


def _act(run: Run, settings: RehearsedSettings, step: Step) -> None:
    ACTS[step.act](run.targets, run.heap, settings, step)


def _generations(run: Run, before: int) -> int:
    """Return the number of new generations, or group epochs, in the transitions from `before` on."""
    newest, count = run.record.transitions[before - 1][4], 0
    for transition in run.record.transitions[before:]:
        if transition[4] > newest:
            newest, count = transition[4], count + 1
    return count

"""Shrinks a failing random scenario: leaves out phases, faults, actions, members and time while the same failure shows.

It shrinks the scenario and not the plan, so that each smaller plan still heals everything and waits for the group.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import trio

from groupproof.chaos.scenarios.scenario import Phase, RunMode, Scenario
from groupproof.harness.running.fuzzing.shrink import shrink

__all__ = ["SmallerScenario", "lesser", "shrunk", "size_of"]

_MEMBERS_MIN: Final = 2
_SHORTER: Final = {"past-session": "while", "while": "moment"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallerScenario:
    """A scenario with the number of its members."""

    scenario: Scenario
    members: int


Shows = Callable[[SmallerScenario], Awaitable[bool]]
"""Returns whether a scenario still shows the failure."""


async def shrunk(found: SmallerScenario, shows: Shows, *, at_once: int, within_s: float) -> SmallerScenario:
    """Return the smallest scenario found that still shows the failure, within `within_s` seconds, with `at_once` attempts side by side."""
    smallest = [found]
    with trio.move_on_after(within_s):
        await shrink(found, [_smallest_first], partial(_first, shows, at_once), size_of, keep=smallest.append)
    return smallest[-1]


def _smallest_first(smaller: SmallerScenario) -> list[SmallerScenario]:
    return sorted(lesser(smaller), key=size_of)


async def _first(shows: Shows, at_once: int, candidates: Sequence[SmallerScenario]) -> list[bool]:
    """Return for each candidate whether it shows the failure, up to the first batch with one; the rest is not tried."""
    answers = [False] * len(candidates)

    async def ask(index: int) -> None:
        answers[index] = await shows(candidates[index])

    for start in range(0, len(candidates), at_once):
        async with trio.open_nursery() as nursery:
            for index in range(start, min(start + at_once, len(candidates))):
                nursery.start_soon(ask, index)
        if any(answers):
            break
    return answers


def size_of(smaller: SmallerScenario) -> tuple[int, ...]:
    """Return the size of a scenario: faults, members, actions and phases, time, in this order of importance."""
    phases = smaller.scenario.phases
    faults, actions = sum(len(phase.faults) for phase in phases), sum(len(phase.actions) for phase in phases)
    ms = sum(smaller.scenario.durations[str(phase.lasts)].in_mode(RunMode.VIRTUAL) for phase in phases if phase.lasts is not None)
    return (faults, smaller.members, actions + len(phases), ms)


def lesser(smaller: SmallerScenario) -> Iterator[SmallerScenario]:
    """Yield the scenarios that are smaller by one part."""
    phases = smaller.scenario.phases
    for index, phase in enumerate(phases):
        for made in _lesser_phases(phase):
            yield _with(smaller, (*phases[:index], made, *phases[index + 1 :]))
        if len(phases) > 1:
            yield _with(smaller, (*phases[:index], *phases[index + 1 :]))
    if smaller.members > _MEMBERS_MIN:
        yield replace(smaller, members=smaller.members - 1)


def _lesser_phases(phase: Phase) -> Iterator[Phase]:
    for fault in phase.faults:
        yield replace(phase, faults=tuple(other for other in phase.faults if other is not fault))
    for index in range(len(phase.actions)):
        yield replace(phase, actions=(*phase.actions[:index], *phase.actions[index + 1 :]))
    if (shorter := _SHORTER.get(str(phase.lasts))) is not None:
        yield replace(phase, lasts=shorter)


def _with(smaller: SmallerScenario, phases: tuple[Phase, ...]) -> SmallerScenario:
    return replace(smaller, scenario=replace(smaller.scenario, phases=phases))

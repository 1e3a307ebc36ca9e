"""A drawn scenario that fails made small: phases, faults, actions, members and time are left out for as long as the same failure shows.

What is shrunk is the scenario, not its plan: whatever is left out, the plan that is made of the rest still heals everything and waits for the group.
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
"""Tells whether a scenario still shows the failure."""


async def shrunk(found: SmallerScenario, shows: Shows, *, at_once: int, within_s: float) -> SmallerScenario:
    """Return the smallest that was found to show the failure still, `at_once` so many tried side by side, in that time (s)."""
    smallest = [found]
    with trio.move_on_after(within_s):
        await shrink(found, [_smallest_first], partial(_first, shows, at_once), size_of, keep=smallest.append)
    return smallest[-1]


def _smallest_first(smaller: SmallerScenario) -> list[SmallerScenario]:
    return sorted(lesser(smaller), key=size_of)


async def _first(shows: Shows, at_once: int, candidates: Sequence[SmallerScenario]) -> list[bool]:
    """Tell which candidates show the failure, of the first few in which there is one; the rest is not tried."""
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
    """Return what makes one smaller than another: fewer faults, fewer members, fewer actions and phases, less time."""
    phases = smaller.scenario.phases
    faults, actions = sum(len(phase.faults) for phase in phases), sum(len(phase.actions) for phase in phases)
    ms = sum(smaller.scenario.durations[str(phase.lasts)].in_mode(RunMode.VIRTUAL) for phase in phases if phase.lasts is not None)
    return (faults, smaller.members, actions + len(phases), ms)


def lesser(smaller: SmallerScenario) -> Iterator[SmallerScenario]:
    """Yield what is smaller by one thing."""
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

"""A drawn scenario that fails made small: phases, faults, actions, members and time are left out for as long as the same failure shows.

What is shrunk is the scenario, not its plan: whatever is left out, the plan that is made of the rest still heals everything and waits for the group.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import trio

from groupproof.chaos.scenarios.scenario import Ground, Phase, Scenario

__all__ = ["Lesser", "lesser", "shrunk", "size_of"]

_MEMBERS_MIN: Final = 2
_SHORTER: Final = {"past-session": "while", "while": "moment"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesser:
    """A scenario with the number of its members."""

    scenario: Scenario
    members: int


Shows = Callable[[Lesser], Awaitable[bool]]
"""Tells whether a scenario still shows the failure."""


async def shrunk(found: Lesser, shows: Shows, *, at_once: int, within_s: float) -> Lesser:
    """Return the smallest that was found to show the failure still, `at_once` so many tried side by side, in that time (s)."""
    with trio.move_on_after(within_s):
        while (less := await _first(sorted(lesser(found), key=size_of), shows, at_once)) is not None:
            found = less
    return found


async def _first(candidates: Sequence[Lesser], shows: Shows, at_once: int) -> Lesser | None:
    """Return the smallest candidate that shows the failure, of the first few in which there is one."""
    for start in range(0, len(candidates), at_once):
        few = candidates[start : start + at_once]
        told = [False] * len(few)

        async def ask(index: int, each: Lesser, told: list[bool] = told) -> None:
            told[index] = await shows(each)

        async with trio.open_nursery() as nursery:
            for index, each in enumerate(few):
                nursery.start_soon(ask, index, each)
        if any(told):
            return few[told.index(True)]
    return None


def size_of(each: Lesser) -> tuple[int, ...]:
    """Return what makes one smaller than another: fewer faults, fewer members, fewer actions and phases, less time."""
    phases = each.scenario.phases
    faults, actions = sum(len(phase.faults) for phase in phases), sum(len(phase.actions) for phase in phases)
    ms = sum(each.scenario.durations[str(phase.lasts)].on(Ground.VIRTUAL) for phase in phases if phase.lasts is not None)
    return (faults, each.members, actions + len(phases), ms)


def lesser(each: Lesser) -> Iterator[Lesser]:
    """Yield what is smaller by one thing."""
    phases = each.scenario.phases
    for index, phase in enumerate(phases):
        for made in _lesser_phases(phase):
            yield _with(each, (*phases[:index], made, *phases[index + 1 :]))
        if len(phases) > 1:
            yield _with(each, (*phases[:index], *phases[index + 1 :]))
    if each.members > _MEMBERS_MIN:
        yield replace(each, members=each.members - 1)


def _lesser_phases(phase: Phase) -> Iterator[Phase]:
    for fault in phase.faults:
        yield replace(phase, faults=tuple(other for other in phase.faults if other is not fault))
    for index in range(len(phase.actions)):
        yield replace(phase, actions=(*phase.actions[:index], *phase.actions[index + 1 :]))
    if (shorter := _SHORTER.get(str(phase.lasts))) is not None:
        yield replace(phase, lasts=shorter)


def _with(each: Lesser, phases: tuple[Phase, ...]) -> Lesser:
    return replace(each, scenario=replace(each.scenario, phases=phases))

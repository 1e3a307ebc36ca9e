"""Churn: the actions on a load's members over time, as data, and each member's own actions, which follow from it and a seed. Pure.

A phase applies one action to a share of the members: in waves, at equal distances, or all at once. The seed draws these members
among those to whom the action can happen: no member dies twice.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

__all__ = ["Action", "Churn", "MemberAction", "OutsideFault", "Phase", "Span", "actions_of", "outside_faults_of"]


class Action(Enum):
    """An action on a member."""

    START = "start"
    LEAVE = "leave"
    DIE = "die"
    RESTART = "restart"
    CRASH = "crash"
    STALL = "stall"
    FREEZE = "freeze"


ENDING: Final = (Action.LEAVE, Action.DIE)
"""After these a member is gone until its next start."""

LASTING: Final = (Action.RESTART, Action.CRASH, Action.STALL, Action.FREEZE)
"""These end by themselves; after a restart or a crash the member returns."""


@dataclass(frozen=True, slots=True)
class Span:
    """A length of time: seconds, or a share of the whole run."""

    value: float
    is_share: bool = False

    def seconds(self, duration_s: float) -> float:
        return self.value * duration_s if self.is_share else self.value


NOTHING: Final = Span(0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """`action` happens to a `share` of the members from `at` on, spread over `spread`, in `waves` batches if set, and lasts for `lasts`.

    With `every` the phase repeats at that distance until `until`.
    """

    action: Action
    at: Span
    share: float = 1.0
    spread: Span = NOTHING
    lasts: Span = NOTHING
    waves: int = 0
    every: Span | None = None
    until: Span | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideFault:
    """An outside fault during the load: `fault` in the tap's words, or a Toxiproxy fault's fields, from `at_s` for `lasts_s` seconds."""

    at_s: float
    lasts_s: float
    fault: str | None = None
    impair: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Churn:
    """A plan; `member` has the members' settings, `coordinator` the reference's by Kafka's names; `outside_faults` are (at, for, fault)."""

    name: str
    title: str
    story: str
    phases: tuple[Phase, ...]
    member: Mapping[str, Any] = field(default_factory=dict)
    coordinator: Mapping[str, Any] = field(default_factory=dict)
    outside_faults: tuple[tuple[Span, Span, Mapping[str, Any]], ...] = ()

    @property
    def actions(self) -> frozenset[Action]:
        return frozenset(phase.action for phase in self.phases)


@dataclass(frozen=True, slots=True)
class MemberAction:
    """One member's action, `at_s` seconds after the run's start; `lasts_s` is 0 for an instant one."""

    at_s: float
    action: Action
    lasts_s: float = 0.0


def outside_faults_of(churn: Churn, duration_s: float) -> list[OutsideFault]:
    """Return the outside faults, in order of time."""
    made = [
        OutsideFault(at_s=at.seconds(duration_s), lasts_s=lasts.seconds(duration_s), fault=fields.get("fault"), impair=fields.get("impair", {}))
        for at, lasts, fields in churn.outside_faults
    ]
    return sorted(made, key=lambda outside_fault: outside_fault.at_s)


def actions_of(churn: Churn, *, members: int, duration_s: float, seed: int) -> list[tuple[MemberAction, ...]]:
    """Return each member's actions in order of time; deterministic. A member that no phase starts never runs."""
    draw = random.Random(f"{churn.name}/{members}/{seed}")
    states = [_DrawnMember(number) for number in range(members)]
    for at_s, phase in _in_time(churn.phases, duration_s):
        _happen(phase, at_s, states, duration_s, draw)
    return [tuple(sorted(state.actions, key=lambda action: action.at_s)) for state in states]


@dataclass(slots=True)
class _DrawnMember:
    """One member while the plan is drawn: up or down, and the time until which a lasting action keeps it busy."""

    number: int
    is_up: bool = False
    free_at_s: float = 0.0
    actions: list[MemberAction] = field(default_factory=list)

    def can(self, action: Action, at_s: float) -> bool:
        return self.free_at_s <= at_s and self.is_up is not (action is Action.START)

    def add_action(self, action: MemberAction) -> None:
        self.actions.append(action)
        self.is_up = action.action not in ENDING
        self.free_at_s = action.at_s + action.lasts_s


def _in_time(phases: Iterable[Phase], duration_s: float) -> list[tuple[float, Phase]]:
    """Return every occurrence of every phase, in order of time."""
    found: list[tuple[float, Phase]] = []
    for phase in phases:
        at_s = phase.at.seconds(duration_s)
        found.append((at_s, phase))
        if phase.every is not None:
            every_s = max(phase.every.seconds(duration_s), 0.001)
            until_s = duration_s if phase.until is None else phase.until.seconds(duration_s)
            found += [(at_s + repetition * every_s, phase) for repetition in range(1, int((until_s - at_s) / every_s + 1e-9) + 1)]
    return sorted(found, key=lambda item: item[0])


def _happen(phase: Phase, at_s: float, states: Sequence[_DrawnMember], duration_s: float, draw: random.Random) -> None:
    free = [state for state in states if state.can(phase.action, at_s)]
    count = min(len(free), round(phase.share * len(states)))
    # In the order of their numbers: a rolling restart goes through a deployment in order.
    chosen = sorted(draw.sample(range(len(free)), count))
    lasts_s = phase.lasts.seconds(duration_s) if phase.action in LASTING else 0.0
    spread_s = phase.spread.seconds(duration_s)
    steps = min(phase.waves, count) or count
    for place, index in enumerate(chosen):
        step = place * steps // count
        free[index].add_action(MemberAction(round(at_s + spread_s * step / steps, 6), phase.action, lasts_s))

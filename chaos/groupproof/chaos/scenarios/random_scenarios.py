"""Draws a scenario from a seed.

Some kinds of faults are left out and the others get very different weights: a run with every fault at its mean rate visits the same few states
each time.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from groupproof.chaos.scenarios.scenario import DURATIONS, SETTINGS, Action, Duration, Fault, Healing, Phase, Scenario
from groupproof.chaos.scenarios.scenario_faults import KINDS
from groupproof.protocol.vocabulary import COOPERATIVE_STICKY

__all__ = ["FAULTS", "drawn"]

_PHASES_MAX: Final = 5
_OF_ONE: Final = ("one", "leader", "half", "minority", "followers")

# Errors of a coordinator in normal operation, by API.
_ERRORS: Final[Mapping[str, Sequence[str]]] = {
    "Heartbeat": ("REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE"),
    "JoinGroup": ("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR", "UNKNOWN_MEMBER_ID"),
    "SyncGroup": ("REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "NOT_COORDINATOR"),
    "OffsetCommit": ("REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "COORDINATOR_LOAD_IN_PROGRESS"),
    "FindCoordinator": ("COORDINATOR_NOT_AVAILABLE",),
}
_FRAMES: Final = ("JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit", "LeaveGroup")

FAULTS: Final[Mapping[str, Mapping[str, Sequence[Any]]]] = {
    "answer": {"count": (1, 1, 2, 4)},
    "hold": {"api": _FRAMES, "direction": ("request", "response"), "count": (1, 1, 3), "for": ("moment", "while", "past-session")},
    "silence": {"api": _FRAMES, "direction": ("request", "response")},
    "cut": {"api": _FRAMES, "direction": ("request", "response"), "reset": (False, True), "count": (1, 2)},
    "duplicate": {"api": ("JoinGroup", "SyncGroup", "Heartbeat")},
    "move": {"api": ("JoinGroup", "SyncGroup", "Heartbeat"), "parked": ("answer", "drop")},
    "partition": {},
    "mute": {},
    "deaf": {},
    "slow": {"latency": ("beat", 200, 50), "jitter": (0, 40)},
    "trickle": {"size": (5, 60), "delay_us": (100, 1_000)},
    "reset": {},
    "down": {},
}
"""The kinds that can be drawn, with the possible values of their fields."""

_ENDING: Final = frozenset({"kill", "close", "freeze"})
_ACTIONS: Final = ("kill", "restart", "freeze", "pause", "commit", "close", "start", "move")


def drawn(seed: int, *, members: int) -> Scenario:
    """Return the scenario of a seed; it is deterministic."""
    chance = random.Random(f"{seed}/swarm")
    kinds, actions = _weights(FAULTS, chance), _weights(_ACTIONS, chance)
    assignors = chance.choice((["range"], ["range"], ["roundrobin"], ["sticky"], [COOPERATIVE_STICKY]))
    numbers = iter(range(1, 1_000))
    phases = _without_deaths(_phase(chance, f"phase-{number}", kinds, actions, numbers) for number in range(1, chance.randint(2, _PHASES_MAX) + 1))
    return Scenario(
        name=f"swarm-{seed:x}",
        title="A plan drawn from a seed",
        story=f"Seed {seed:#x} drew faults of the kinds {', '.join(kinds)}, and lets members {', '.join(actions)}.",
        requirements=("ASSIGN-09", "TRIG-03", "INV-09"),
        members=members,
        partitions=2 * members,
        joiners=1,
        settings={**SETTINGS, "assignors": assignors},
        durations={**DURATIONS, "bound": Duration(virtual_ms=600_000, wire_ms=30_000)},
        phases=phases,
        healing=Healing(name="healed", within="bound", members="all+joiner"),
    )


def _without_deaths(phases: Iterable[Phase]) -> tuple[Phase, ...]:
    """Return the phases with toxics for all members once one may be down: the links of a member that is down cannot be impaired."""
    made: list[Phase] = []
    for phase in phases:
        may_be_down = any(action.do in _ENDING for phase in made for action in phase.actions)
        faults = (replace(fault, who=None) if may_be_down and KINDS[fault.kind].of == "bytes" else fault for fault in phase.faults)
        made.append(replace(phase, faults=tuple(faults)))
    return tuple(made)


def _weights(kinds: Mapping[str, Any] | Sequence[str], chance: random.Random) -> dict[str, int]:
    chosen = chance.sample(sorted(kinds), k=chance.randint(1, max(1, len(kinds) // 2)))
    return {kind: chance.randint(1, 100) for kind in chosen}


def _phase(chance: random.Random, name: str, kinds: Mapping[str, int], actions: Mapping[str, int], numbers: Iterator[int]) -> Phase:
    faults = [_fault(chance, _pick(chance, kinds), next(numbers)) for _ in range(chance.randint(0, 2))]
    done = [_action(chance, _pick(chance, actions)) for _ in range(chance.randint(0 if faults else 1, 2))]
    return Phase(name=name, faults=tuple(faults), actions=tuple(done), lasts=chance.choice(("moment", "while", "while", "past-session")))


def _pick(chance: random.Random, weights: Mapping[str, int]) -> str:
    return chance.choices(list(weights), weights=list(weights.values()))[0]


def _fault(chance: random.Random, kind: str, number: int) -> Fault:
    how = {field: chance.choice(values) for field, values in FAULTS[kind].items()}
    if kind == "answer":
        how["api"] = chance.choice(sorted(_ERRORS))
        how["error"] = chance.choice(_ERRORS[how["api"]])
    return Fault(name=f"{kind}-{number}", kind=kind, who=chance.choice(_OF_ONE), how=how, optional=True)


def _action(chance: random.Random, do: str) -> Action:
    if do == "move":
        return Action(do=do, how={"state": chance.choice(("kept", "kept", "lost"))})
    if do == "start":
        return Action(do=do, who="joiner")
    how = {"by": chance.choice(("close", "kill")), "down": "moment"} if do == "restart" else {}
    return Action(do=do, who=chance.choice(("one", "leader", "minority")), how=how)

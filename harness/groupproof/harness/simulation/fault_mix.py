"""Draws the faults of a run from its seed: the kinds, some left out at random, and their times."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from groupproof.harness.simulation.fault_schedule import Schedule, ScheduledFault
from groupproof.harness.simulation.random_streams import Streams
from groupproof.harness.simulation.settings import BOUNCES, SWARM, Simulation, policy_of
from groupproof.harness.simulation.simulator_faults import FAULTS

if TYPE_CHECKING:
    import random

__all__ = ["drawn"]

_PAUSES_MS: Final = (20_000, 80_000, 300_000)
"""The average time between two faults of a kind. It is drawn for each kind."""


def drawn(simulation: Simulation) -> Schedule:
    """Return the schedule of a simulation with complete settings: in a swarm about half of all kinds of faults, otherwise the named ones."""
    streams = Streams(simulation.seed)
    kinds = _kinds(streams) if simulation.faults == SWARM else simulation.faults
    found = [fault for kind in kinds for fault in _of_kind(kind, simulation, streams)]
    return Schedule(faults=tuple(sorted(found, key=lambda fault: fault.at_ms)))


def _kinds(streams: Streams) -> Collection[str]:
    chance = streams.named("faults")
    return [kind for kind in FAULTS if chance.random() < 0.5]


def _of_kind(kind: str, simulation: Simulation, streams: Streams) -> list[ScheduledFault]:
    chance = streams.named("faults", kind)
    if FAULTS[kind].dialect not in (None, simulation.dialect):
        return []
    return _rolling(simulation, chance) if kind == "upgrade" else _now_and_then(kind, simulation, chance)


def _rolling(simulation: Simulation, chance: random.Random) -> list[ScheduledFault]:
    """Draw both bounces of an upgrade. No member drops range before every member has the new assignor. Only members with range alone upgrade.

    In a group that mixes two protocols, each bounce switches the protocol instead.
    """
    switches = simulation.dialect is not None and simulation.classic_members is not None
    if not switches and (simulation.assignors != ("range",) or not policy_of(simulation).can_cooperate):
        return []
    names = [f"m{number}" for number in range(simulation.members)]
    turns = [(bounce, name) for bounce in BOUNCES for name in chance.sample(names, len(names))]
    begins = sorted(chance.randrange(1, simulation.duration_ms) for _ in turns)
    away_ms = FAULTS["upgrade"].lasts_ms
    return [
        ScheduledFault(at_ms=at_ms, kind="upgrade", who=(name,), for_ms=chance.randint(*away_ms), how={"bounce": bounce})
        for at_ms, (bounce, name) in zip(begins, turns, strict=True)
    ]


def _now_and_then(kind: str, simulation: Simulation, chance: random.Random) -> list[ScheduledFault]:
    pause_ms = chance.choice(_PAUSES_MS)
    found: list[ScheduledFault] = []
    at_ms = 0
    while (at_ms := at_ms + 1 + int(chance.expovariate(1 / pause_ms))) < simulation.duration_ms:
        found.append(FAULTS[kind].drawn(chance, simulation, at_ms))
    return found

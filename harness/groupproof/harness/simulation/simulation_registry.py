"""The dialects that can be simulated. Register a new dialect's part here."""

from __future__ import annotations

from typing import Final

from groupproof.harness.model.dialect_parts import PartRegistry
from groupproof.harness.simulation.classic_simulation import CLASSIC_SIMULATION
from groupproof.harness.simulation.consumer_simulation import CONSUMER_SIMULATION
from groupproof.harness.simulation.dialect_simulation import DialectSimulation
from groupproof.protocol.rules.profiles import profile

__all__ = ["SIMULATIONS", "Unsimulated", "simulation_of"]

SIMULATIONS: Final = PartRegistry(DialectSimulation, CLASSIC_SIMULATION, CONSUMER_SIMULATION)


class Unsimulated(ValueError):
    """Groups of a dialect cannot be simulated, or a profile does not speak it. `str()` names both."""


def simulation_of(profile_name: str, dialect: str | None) -> DialectSimulation:
    """Return the simulation of a dialect on a profile. None: the profile's first dialect that can be simulated, the classic one first."""
    spoken = [part for part in SIMULATIONS.all() if part.dialect in profile(profile_name).dialects]
    found = next((part for part in spoken if dialect in (None, part.dialect.name)), None)
    if found is None:
        raise Unsimulated(f"no members of {dialect or 'any dialect'} can be simulated on {profile_name}{_others(spoken)}")
    return found


def _others(spoken: list[DialectSimulation]) -> str:
    return f"; those of {', '.join(part.dialect.name for part in spoken)} can" if spoken else ""

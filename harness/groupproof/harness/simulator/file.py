"""A simulation as a file: what was asked for, what happened, and what was found; for `groupproof replay FILE`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from groupproof.harness.simulator.schedule import Schedule
from groupproof.harness.simulator.simulation import Outcome, Simulation
from groupproof.harness.troubles import WrongUsage

__all__ = ["SCHEMA", "Recorded", "is_simulation", "load", "to_json"]

SCHEMA: Final = "groupproof.simulation/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A simulation with its schedule; `requirement` is the law that was broken, None where none was."""

    simulation: Simulation
    plan: Schedule
    requirement: str | None = None


def to_json(outcome: Outcome, plan: Schedule) -> dict[str, Any]:
    """Return the file's content."""
    found = [{"requirement": each.requirement, "at_ms": each.at_ms, "what": each.what} for each in outcome.violations]
    return {"schema": SCHEMA, "simulation": outcome.simulation.to_json(), "violations": found, "happenings": plan.to_json()}


def is_simulation(path: Path) -> bool:
    """Tell whether the file says that it is a simulation's; one that cannot be read does not."""
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(value, dict) and value.get("schema") == SCHEMA


def load(path: Path) -> Recorded:
    """Raise `WrongUsage` for a file that is missing or no simulation's."""
    try:
        value = json.loads(path.read_text("utf-8"))
        simulation, plan = Simulation.from_json(value["simulation"]), Schedule.from_json(value["happenings"])
        found = value.get("violations") or []
        return Recorded(simulation=simulation, plan=plan, requirement=found[0]["requirement"] if found else None)
    except OSError as error:
        raise WrongUsage(f"can't read the simulation {path}: {error.strerror}") from error
    except (ValueError, TypeError, KeyError) as error:
        raise WrongUsage(f"{path} is no simulation's file: {error}") from error

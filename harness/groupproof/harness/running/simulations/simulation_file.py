"""A simulation as a file: its configuration, its faults and its findings; for `groupproof replay FILE`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.simulation.fault_schedule import Schedule
from groupproof.harness.simulation.settings import Outcome, Simulation

__all__ = ["SCHEMA", "RecordedSimulation", "is_simulation", "load", "to_json"]

SCHEMA: Final = "groupproof.simulation/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedSimulation:
    """A simulation with its schedule; `requirement` is the broken one, None where none was.

    It comes from the judges, which read every engine's trace. Where they found nothing, it is the invariant that only the simulator checks.
    """

    simulation: Simulation
    plan: Schedule
    requirement: str | None = None


def to_json(outcome: Outcome, plan: Schedule, judged: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the file's content; `judged` are the requirements that the judges found broken, with their observations."""
    violations = [{"requirement": violation.requirement, "at_ms": violation.at_ms, "what": violation.observed} for violation in outcome.violations]
    found = [{"requirement": requirement, "observed": observed} for requirement, observed in (judged or {}).items()]
    document = {"schema": SCHEMA, "simulation": outcome.simulation.to_json(), "violations": violations}
    return {**document, **({"judged": found} if found else {}), "happenings": plan.to_json()}


def is_simulation(path: Path) -> bool:
    """Return whether the file claims to be a simulation's; False for one that cannot be read."""
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(value, dict) and value.get("schema") == SCHEMA


def load(path: Path) -> RecordedSimulation:
    """Raise `WrongUsage` for a file that is missing or no simulation's."""
    try:
        value = json.loads(path.read_text("utf-8"))
        simulation, plan = Simulation.from_json(value["simulation"]), Schedule.from_json(value["happenings"])
        found = [*(value.get("judged") or ()), *(value.get("violations") or ())]
        return RecordedSimulation(simulation=simulation, plan=plan, requirement=found[0]["requirement"] if found else None)
    except OSError as error:
        raise WrongUsage(f"can't read the simulation {path}: {error.strerror}") from error
    except (ValueError, TypeError, KeyError) as error:
        raise WrongUsage(f"{path} is no simulation's file: {error}") from error

"""Short simulations for tests: a few members, half a minute of faults, timeouts of seconds, so that a run costs a tenth of a second."""

from __future__ import annotations

from typing import Any

from groupproof.harness.simulation.run import Run
from groupproof.harness.simulation.settings import Simulation

__all__ = ["calm", "ran", "short"]


def short(seed: int = 1, **options: Any) -> Simulation:
    """Return a short simulation with faults."""
    return Simulation(**{"seed": seed, "members": 4, "duration_ms": 30_000, "session_timeout_ms": 6_000, "max_poll_interval_ms": 10_000, **options})


def calm(seed: int = 1, **options: Any) -> Simulation:
    """Return a short simulation without faults."""
    return short(seed, **{"faults": (), **options})


def ran(simulation: Simulation, until_ms: int) -> Run:
    """Return a run that has got so far."""
    run = Run(simulation)
    for number, process in enumerate(run.targets.processes.values()):
        run.heap.at(number, process.start)
    run.heap.run(until_ms)
    return run

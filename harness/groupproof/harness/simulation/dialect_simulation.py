"""A dialect's part of the simulator: how its groups are simulated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from groupproof.harness.model.dialect_parts import DialectPart

if TYPE_CHECKING:
    from groupproof.harness.simulation.heap import Heap
    from groupproof.harness.simulation.invariants.simulated_invariants import SimulatedInvariants
    from groupproof.harness.simulation.liveness import Settlement
    from groupproof.harness.simulation.random_streams import Streams
    from groupproof.harness.simulation.record import Digest, Record
    from groupproof.harness.simulation.settings import Simulation
    from groupproof.harness.simulation.simulated_network import Network
    from groupproof.harness.simulation.simulated_process import SimulatedProcess
    from groupproof.harness.simulation.simulator_faults import FaultTargets

__all__ = ["DialectSimulation", "SimulationGround"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationGround:
    """The objects that the processes of a run need. `invariants` are those that the dialect made for this run."""

    simulation: Simulation
    heap: Heap
    network: Network
    streams: Streams
    record: Record
    invariants: Any


def _as_it_is(simulation: Simulation) -> Simulation:
    return simulation


def _as_asked(simulation: Simulation) -> Mapping[str, Any]:
    return simulation.coordinator_settings


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DialectSimulation(DialectPart):
    """The members of a dialect and its invariants, in virtual time.

    `versions` are the request types of its members, each with the newest version that they know (None: every version of the kit). `digest` selects
    the parts of an answer that count when two runs are compared. `invariants` makes the invariants of a run, `processes` its members by name,
    `settlement` the check that the group has settled after the faults. `settled` fills in settings that only this dialect draws, `broker_settings`
    are the settings of its brokers by dotted name. `heartbeat_interval_ms` is Kafka's default.
    """

    versions: Mapping[type[Any], int | None]
    digest: Digest
    invariants: Callable[[Simulation, Heap], SimulatedInvariants]
    processes: Callable[[SimulationGround], Mapping[str, SimulatedProcess]]
    settlement: Callable[[Simulation, FaultTargets, Any], Settlement]
    settled: Callable[[Simulation], Simulation] = _as_it_is
    heartbeat_interval_ms: int = 3_000
    broker_settings: Callable[[Simulation], Mapping[str, Any]] = _as_asked

"""How groups of a dialect are simulated: the part that the dialect brings for the simulator."""

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
    """What the processes of a run stand on. `invariants` are those that the dialect made for this run."""

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
    """The members of a dialect, and its invariants, in virtual time.

    `versions` are the types of the requests that its members send, each with the newest version that they know (None: whatever the kit knows). `digest` says what of
    an answer counts when two runs are compared. `invariants` makes the laws of a run, `processes` its members by name, `settlement` what tells whether the group has
    settled when the faults are over. `settled` fills in what the dialect draws beside the settings that all have, `broker_settings` are those of its brokers, by their dotted names.
    `heartbeat_interval_ms` is Kafka's own default.
    """

    versions: Mapping[type[Any], int | None]
    digest: Digest
    invariants: Callable[[Simulation, Heap], SimulatedInvariants]
    processes: Callable[[SimulationGround], Mapping[str, SimulatedProcess]]
    settlement: Callable[[Simulation, FaultTargets, Any], Settlement]
    settled: Callable[[Simulation], Simulation] = _as_it_is
    heartbeat_interval_ms: int = 3_000
    broker_settings: Callable[[Simulation], Mapping[str, Any]] = _as_asked

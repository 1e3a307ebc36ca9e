"""A run: first faults, then healing, then the group has to settle and to stay settled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from groupproof.harness.simulation.dialect_simulation import DialectSimulation, SimulationGround
from groupproof.harness.simulation.fault_mix import drawn
from groupproof.harness.simulation.fault_schedule import Schedule, ScheduledFault
from groupproof.harness.simulation.heap import Heap
from groupproof.harness.simulation.liveness import settles_within_ms
from groupproof.harness.simulation.random_streams import Streams
from groupproof.harness.simulation.record import Record
from groupproof.harness.simulation.resting_exchanges import RestingExchanges
from groupproof.harness.simulation.settings import OTHER_TOPIC, TOPIC, InvariantBroken, Outcome, Simulation, Violation, policy_of, settled
from groupproof.harness.simulation.simulated_brokers import Brokers, spoken_versions
from groupproof.harness.simulation.simulated_network import Network
from groupproof.harness.simulation.simulation_registry import simulation_of
from groupproof.harness.simulation.simulator_faults import FAULTS, FaultTargets
from groupproof.harness.simulation.trace_writer import MakeRecorder, Observer
from groupproof.protocol.rules import profile

__all__ = ["Run", "run"]

_LOOK_MS: Final = 500


def run(simulation: Simulation, *, plan: Schedule | None = None, recorder: MakeRecorder | None = None) -> Outcome:
    """Run a simulation with `plan`, or with the schedule drawn from its seed. The same arguments give the same outcome, event by event.

    `recorder` makes the writer of the trace, if one is wanted. Raise `UnknownProfile`, `UnknownSetting` or `UnknownVariant`.
    """
    return Run(simulation, plan, recorder).go()


class Run:
    """One run, prepared."""

    def __init__(
        self, simulation: Simulation, plan: Schedule | None = None, recorder: MakeRecorder | None = None, *, part: DialectSimulation | None = None
    ) -> None:  # fmt: skip
        """Prepare a run. `part` replaces the registered simulation of the dialect."""
        release = profile(simulation.profile)
        part = part or simulation_of(simulation.profile, simulation.dialect)
        self.simulation = simulation = part.settled(settled(simulation, release.release, part.heartbeat_interval_ms))
        self.plan = drawn(simulation) if plan is None else plan
        streams = Streams(simulation.seed)
        self.heap = Heap()
        versions = spoken_versions(simulation.profile, part.versions, policy_of(simulation).versions)
        observer = None if recorder is None else Observer(recorder(lambda: self.heap.now_ms * 1_000_000), versions, timers=release.timers)
        self.record = Record(self.heap, observer, part.digest)
        # Any: only the tests of the dialect know its invariants.
        self.invariants: Any = part.invariants(simulation, self.heap)
        brokers = Brokers(simulation, self.heap, streams, self.invariants, self.record, versions, part.broker_settings(simulation))
        brokers.make_topics({TOPIC: _number(simulation.partitions), OTHER_TOPIC: 2})
        network = brokers.network = Network(self.heap, streams.named("network"), simulation.latency_ms, brokers.arrive, brokers.is_up)
        if observer is None:
            network.resting = RestingExchanges(self.heap, network, brokers)
        else:
            network.opened, network.closed = observer.opened, observer.closed
        ground = SimulationGround(
            simulation=simulation, heap=self.heap, network=network, streams=streams, record=self.record, invariants=self.invariants
        )
        self.targets = FaultTargets(processes=part.processes(ground), network=network, brokers=brokers)
        self._settlement = part.settlement(simulation, self.targets, self.invariants)
        self._injected: dict[int, ScheduledFault] = {}
        self._converged_at_ms: int | None = None

    # The phases

    def go(self) -> Outcome:
        """Run to the end, or to the first violation."""
        violations: tuple[Violation, ...] = ()
        try:
            self._break_things()
            self._heal_everything()
            self._settle()
        except InvariantBroken as broken:
            violations = (Violation(requirement=broken.requirement, at_ms=self.heap.now_ms, observed=broken.observed),)
        record = self.record
        return Outcome(
            simulation=self.simulation, events=self.heap.events, virtual_ms=self.heap.now_ms, trace_hash=record.trace_hash(),
            transitions=tuple(record.transitions), violations=violations, converged_at_ms=self._converged_at_ms,
            requests=Counter({kind.__name__.removesuffix("Request"): count for kind, count in record.requests.items()}), injected=record.injected, restarts=record.restarts,
        )  # fmt: skip

    def start(self, names: Iterable[str]) -> None:
        """Start these programs, each at its own random time."""
        starts = Streams(self.simulation.seed).named("starts")
        for name in names:
            self.heap.at(starts.randint(0, self.simulation.starts_within_ms), self.targets.processes[name].start)

    def _break_things(self) -> None:
        self.start(self.targets.processes)
        for index, fault in enumerate(self.plan.faults):
            self.heap.at(fault.at_ms, self._inject, index, fault)
        self.heap.run(self.simulation.duration_ms)

    def _inject(self, index: int, fault: ScheduledFault) -> None:
        kind = FAULTS[fault.kind]
        if not kind.inject(self.targets, fault):
            return
        self.record.fault(index, fault)
        if kind.heal is not None:
            self._injected[index] = fault
            self.heap.after(max(1, fault.for_ms), self._heal, index)

    def _heal(self, index: int) -> None:
        fault = self._injected.pop(index, None)
        if fault is not None:
            heal = FAULTS[fault.kind].heal
            assert heal is not None, "only faults that can be healed are stored"
            self.record.fault(index, fault, is_over=True)
            heal(self.targets, fault)

    def _heal_everything(self) -> None:
        for index in sorted(self._injected):
            self._heal(index)

    def _settle(self) -> None:
        """Run until the group has settled, within the bound. Then run for a while in which nothing may change.

        A member that was silent until the healing may still be evicted: its next request can come after its session has ended.
        """
        session_ms = _number(self.simulation.session_timeout_ms)
        bound_ms, silent_until_ms = self.heap.now_ms + settles_within_ms(self.simulation), self.heap.now_ms + session_ms
        while True:
            self._await_settlement(bound_ms)
            before = len(self.record.transitions)
            self.heap.run(self.heap.now_ms + 2 * session_ms)
            if len(self.record.transitions) == before:
                break
            at_ms, _, state, after, _, rule = self.record.transitions[before]
            if not self._settlement.may_disturb(rule, at_ms, silent_until_ms):
                raise InvariantBroken(
                    "COMMIT-22", f"the group was settled, and at {at_ms} ms it went from {state} to {after} by {rule} without cause"
                )
        self._settlement.check("the group was settled, and is so no more")

    def _await_settlement(self, bound_ms: int) -> None:
        while (missing := self._settlement.unsettled()) is not None:
            if self.heap.now_ms >= bound_ms:
                raise InvariantBroken(missing[0], f"{settles_within_ms(self.simulation)} ms after the healing {missing[1]}")
            self.heap.run(self.heap.now_ms + _LOOK_MS)
        self._converged_at_ms = self.heap.now_ms


def _number(value: int | None) -> int:
    assert value is not None, "all settings have a value"
    return value

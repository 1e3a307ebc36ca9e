"""The toy dialect in virtual time: a program that asks for the lease and keeps it for a while, and the invariant that one member holds it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from tests.harness.toy_dialect.lease_dialect import LEASE, REQUIREMENT, LeaseRequest, LeaseResponse, LeaseState
from tests.harness.toy_dialect.lease_functions import SESSION_MS

from groupproof.coordinator.machine.coordinator import Coordinator, Reply, Transition
from groupproof.harness.simulation.dialect_simulation import DialectSimulation, SimulationGround
from groupproof.harness.simulation.heap import Heap
from groupproof.harness.simulation.invariants.simulated_invariants import SimulatedInvariants
from groupproof.harness.simulation.liveness import Settlement
from groupproof.harness.simulation.pending_request import PendingRequest
from groupproof.harness.simulation.settings import GROUP, InvariantBroken, Simulation
from groupproof.harness.simulation.simulated_network import Answer, Connection
from groupproof.harness.simulation.simulated_process import SimulatedProcess
from groupproof.harness.simulation.simulator_faults import FaultTargets
from groupproof.protocol.rules.cells import State
from groupproof.protocol.wire.messages import FindCoordinatorRequest, FindCoordinatorResponse

__all__ = ["LEASE_SIMULATION", "OneHolder"]

_BEAT_MS: Final = SESSION_MS // 4
_LANE: Final = "lease"


class OneHolder(SimulatedInvariants):
    """An epoch of the lease is one member's, whoever coordinates the group: what was lent is stored."""

    def __init__(self, simulation: Simulation, heap: Heap) -> None:
        self._holders: dict[int, str] = {}
        self.state: State = None

    def led_by(self, machine: Coordinator) -> None:
        progress = machine.progress(GROUP)
        self.state = None if progress is None else progress.state

    def moved(self, move: Transition) -> None:
        self.state = move.after

    def answered(self, reply: Reply, pending: PendingRequest | None) -> None:
        message: Any = reply.message
        if isinstance(message, LeaseResponse) and not message.error_code and message.member_epoch > 0 and message.member_id:
            holder = self._holders.setdefault(message.member_epoch, message.member_id)
            if holder != message.member_id:
                raise InvariantBroken(REQUIREMENT, f"epoch {message.member_epoch} is {holder}'s, and was given to {message.member_id}")


class LeaseProcess(SimulatedProcess):
    """A program that asks for the lease a few times a second, and keeps what it is given."""

    def __init__(self, name: str, ground: SimulationGround) -> None:
        super().__init__(name, network=ground.network, record=ground.record)
        self._heap, self._brokers = ground.heap, ground.simulation.brokers
        self._begin()

    def _begin(self) -> None:
        self.epoch, self._node, self._asked = 0, 0, 0

    def _run(self) -> None:
        self._beat(self._life)

    def leave(self) -> None:
        self.is_wanted = False
        self._end()

    def _beat(self, life: int) -> None:
        if life != self._life or not self.is_up:
            return
        if not self.is_frozen:
            self._ask(cast(Any, LeaseRequest(group_id=GROUP, member_id=f"id-{self.name}", member_epoch=self.epoch)))
        self._heap.after(_BEAT_MS, self._beat, life)

    def _ask(self, message: Any) -> None:
        self._asked += 1
        self._network.send(self, self._node, _LANE, self._asked, message)

    def answered(self, connection: Connection, request_id: int, answer: Answer) -> None:
        self._whenever_running(lambda: self._take(answer))

    def _take(self, answer: Any) -> None:
        if isinstance(answer, FindCoordinatorResponse):
            node = answer.coordinators[0].node_id
            self._node = self._node if node < 0 else node
            return
        self.epoch = 0 if answer.error_code else answer.member_epoch
        if answer.error_code:
            self._ask(FindCoordinatorRequest(coordinator_keys=(GROUP,)))

    def lost(self, connection: Connection, unanswered: list[int]) -> None:
        self.epoch, self._node = 0, (self._node + 1) % self._brokers


class _Lent(Settlement):
    """The lease is held, and by somebody who knows."""

    def __init__(self, simulation: Simulation, targets: FaultTargets, invariants: OneHolder) -> None:
        self._targets, self._invariants = targets, invariants

    def unsettled(self) -> tuple[str, str] | None:
        if self._invariants.state is not LeaseState.HELD:
            return REQUIREMENT, f"the lease is {self._invariants.state}"
        holders = [name for name, process in self._targets.processes.items() if process.epoch > 0]
        return None if len(holders) == 1 else (REQUIREMENT, f"{len(holders)} members hold the lease")


def _processes(ground: SimulationGround) -> Mapping[str, LeaseProcess]:
    return {name: LeaseProcess(name, ground) for number in range(ground.simulation.members) for name in (f"m{number}",)}


LEASE_SIMULATION: Final = DialectSimulation(
    dialect=LEASE,
    versions={LeaseRequest: None},
    digest={LeaseResponse: lambda asked, answer: (asked.member_epoch, int(answer.error_code), answer.member_epoch)},
    invariants=OneHolder,
    processes=_processes,
    settlement=_Lent,
)

"""What one member more, or less, costs a group under a coordinator, by simulation: the same churns as those of `simulator.zookeeper.growth`."""

from __future__ import annotations

from typing import Final

from groupproof.harness.model.errors import KitFailure
from groupproof.harness.relatives.zookeeper.growth import CHURNS
from groupproof.harness.relatives.zookeeper_comparison.comparison import COORDINATOR, Row
from groupproof.harness.simulation.fault_schedule import Schedule
from groupproof.harness.simulation.random_streams import Streams
from groupproof.harness.simulation.run import Run
from groupproof.harness.simulation.settings import Simulation

__all__ = ["SIMULATED", "grow_coordinated"]

SIMULATED: Final = "simulated"
_STEP_MS: Final = 10
_LIMIT_MS: Final = 3_600_000
_PAUSE_MS: Final = 5_000
_SESSION_MS: Final = 6_000  # ZooKeeper's and Kafka's of the time alike; heartbeats go each third of it
_APIS: Final = frozenset({"FindCoordinator", "JoinGroup", "SyncGroup", "LeaveGroup", "OffsetCommit", "OffsetFetch"})


def grow_coordinated(members: int, seed: int, *, churn: str = "join", partitions: int | None = None) -> Row:
    """Form a group, let one join, leave or crash, and count until it is stable again; pure: the same arguments give the same row.

    There are two partitions for each member unless said otherwise. Heartbeats are left out: they go whether there is a rebalance or not.
    Raises `ValueError` for a churn that is none of `CHURNS`, or no members.
    """
    if churn not in CHURNS or members < 1:
        raise ValueError(f"a group has a member at least, and the churn is {', '.join(CHURNS)}: not {members}, {churn!r}")
    partitions = 2 * members if partitions is None else partitions
    simulation = Simulation(seed=seed, members=members + 1, partitions=partitions, faults=(), session_timeout_ms=_SESSION_MS)
    group = _Group(Run(simulation, Schedule(faults=())), partitions)
    group.form(_PAUSE_MS + Streams(seed).named("coordinator", members, churn).randrange(_PAUSE_MS))
    return group.churned(churn, members)


class _Group:
    """The simulator's members, the last of which waits for its turn to join."""

    def __init__(self, run: Run, partitions: int) -> None:
        self._run, self._partitions = run, partitions
        self._late = list(run.targets.processes.values())[-1]

    def form(self, pause_ms: int) -> None:
        for process in self._run.targets.processes.values():
            if process is not self._late:
                process.start()
        self._settle(_PAUSE_MS)
        self._run.heap.run(self._run.heap.now_ms + pause_ms)

    def churned(self, churn: str, members: int) -> Row:
        run, record = self._run, self._run.record
        record.requests.clear()
        first = len(record.transitions)
        began_ms = run.heap.now_ms
        one = next(iter(run.targets.processes.values()))
        {"join": self._late.start, "leave": one.leave, "crash": one.crash}[churn]()
        while len(record.transitions) == first:
            run.heap.run(run.heap.now_ms + _STEP_MS)
        self._settle(_STEP_MS)
        counted = {kind.__name__.removesuffix("Request"): count for kind, count in record.requests.items()}
        return Row(
            design=COORDINATOR, engine=SIMULATED, members=members, partitions=self._partitions, churn=churn,
            requests={api: count for api, count in sorted(counted.items()) if api in _APIS}, events=0,
            rebalances=sum(after == "PreparingRebalance" for _, _, _, after, _, _ in record.transitions[first:]), failures=0,
            stable_ms=run.heap.now_ms - began_ms,
        )  # fmt: skip

    def _settle(self, step_ms: int) -> None:
        limit_ms = self._run.heap.now_ms + _LIMIT_MS
        while not self._is_settled():
            if self._run.heap.now_ms > limit_ms:
                raise KitFailure(f"a simulated group did not settle within {_LIMIT_MS} ms")
            self._run.heap.run(self._run.heap.now_ms + step_ms)

    def _is_settled(self) -> bool:
        transitions = self._run.record.transitions
        if not transitions or transitions[-1][3] != "Stable":
            return False
        up = [process.member for process in self._run.targets.processes.values() if process.is_up]
        return all(member.is_settled for member in up) and sum(len(member.owned) for member in up) == self._partitions

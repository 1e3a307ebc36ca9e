"""A switch of the Managers under load, over the wire: workers whose tasks really run, the active Manager killed, and who runs what until all is well again.

In virtual time over streams in memory, or on real ports by the clock on the wall; everything but time and sockets is the same.
"""

from __future__ import annotations

import math
from collections import Counter
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

import trio

from groupproof.clients.relatives.datalink.tasks import Board, Task
from groupproof.clients.relatives.datalink.worker_main import WorkerMain
from groupproof.clients.relatives.datalink.worker_outputs import WorkerState
from groupproof.clients.relatives.datalink.worker_settings import HandOver, WorkerSettings
from groupproof.coordinator.broker.reference_cluster import Cluster
from groupproof.coordinator.machine.variant import REFERENCE
from groupproof.coordinator.planted.variants import variant_named
from groupproof.harness.relatives.datalink.running_tasks import Overlap, TaskLedger
from groupproof.harness.relatives.datalink.thread_drift import drifting
from groupproof.harness.simulation.random_streams import Streams
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.harness.subjects.networks.network import Entrance, LoopbackNetwork, MemoryNetwork
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.protocol.trace import Recorder, Trace

__all__ = ["GROUP", "SwitchResult", "Switching", "play"]

GROUP: Final = "g"
_LOOK_S: Final = 0.05
_ITEM_S: Final = 0.05
_TASK_STARTS_S: Final = 0.3
_TASK_STOPS_S: Final = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Switching:
    """What is played: the workers come one after the other, work for `before_s`, then the active Manager is killed; it is back after `away_s`."""

    seed: int = 1
    workers: int = 6
    tasks: int = 30
    assignor: str = "round-robin"
    hand_over: HandOver = "stop-everything"
    fences: bool = False
    profile: str = "datalink"
    reading: str | None = None
    before_s: float = 60.0
    away_s: float = 5.0
    after_s: float = 10.0
    settles_within_s: float = 90.0
    is_real: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchResult:
    """The result; times in milliseconds from the switch. `rejoined` are the workers that are Stable at the end, of one generation.

    `items` is what the tasks did in all, `items_doubled` what was done while a task ran on two workers.
    """

    switching: Switching
    rejoined: int
    settled_ms: int | None
    lost_ms: int
    overlap_ms: int
    longest_overlap_ms: int
    overlaps: tuple[Overlap, ...]
    wrong: dict[str, tuple[str, ...]]
    generation_before: int
    generation_after: int
    items: int
    items_doubled: int
    trace: Trace

    @property
    def is_well(self) -> bool:
        """Tell whether all workers came back and each task runs exactly once."""
        return self.rejoined == self.switching.workers and not self.wrong and self.settled_ms is not None


class _Network(Protocol):
    def opened(self, brokers: Cluster) -> AbstractAsyncContextManager[list[Address]]: ...

    async def entrance(self, member: str) -> Entrance: ...


def play(switching: Switching) -> SwitchResult:
    """Play it to the end. Raise `UnknownProfile`, `UnknownVariant`, and `BrokenEnvironment` where no port can be had."""
    played: list[SwitchResult] = []

    async def main() -> None:
        played.append(await _SwitchRun(switching).run())

    if switching.is_real:
        trio.run(main)
    else:
        run_virtually(main, seed=switching.seed)
    return played[0]


class _SwitchRun:
    def __init__(self, switching: Switching) -> None:
        self._switching = switching
        self._ledger, self._board, self._items = TaskLedger(), Board(), Counter[str]()
        self._workers: list[WorkerMain] = []
        self._streams = Streams(switching.seed)
        self._began_s = 0.0

    async def run(self) -> SwitchResult:
        switching = self._switching
        self._began_s = trio.current_time()
        recorder = Recorder(
            lambda: round((trio.current_time() - self._began_s) * 1e9), run="manager-switch", seed=switching.seed, clock="monotonic" if switching.is_real else "virtual"
        )  # fmt: skip
        variant = REFERENCE if switching.reading is None else variant_named(switching.reading)
        cluster = self._cluster = Cluster(profile=switching.profile, brokers=2, seed=switching.seed, recorder=recorder, variant=variant)
        for number in range(switching.tasks):
            self._board.add(GROUP, Task(name=f"t{number}"))
            self._ledger.wanted(f"t{number}", 0)
        network: _Network = LoopbackNetwork() if switching.is_real else MemoryNetwork()
        async with network.opened(cluster) as addresses, trio.open_nursery() as nursery:
            await nursery.start(cluster.run)
            for number in range(switching.workers):
                await self._start(number, network, addresses, nursery)
            outcome = await self._course(cluster, recorder)
            nursery.cancel_scope.cancel()
        return outcome

    async def _start(self, number: int, network: _Network, addresses: list[Address], nursery: trio.Nursery) -> None:
        switching, name = self._switching, f"w{number}"
        settings = WorkerSettings(
            group=GROUP, bootstrap=tuple(addresses), name=name, assignor=switching.assignor, hand_over=switching.hand_over, fences=switching.fences,
            **drifting(self._streams.named("pace", number)),
        )  # fmt: skip
        entrance = await network.entrance(name)
        keeper = WorkerMain(
            settings, connect=entrance.connect, read=lambda: self._board.configs(GROUP), work=partial(self._work, name),
            random=self._streams.named("worker", number),
        )  # fmt: skip
        self._workers.append(keeper)
        await nursery.start(keeper.run)
        await trio.sleep(self._streams.named("starts", number).random())

    async def _course(self, cluster: Cluster, recorder: Recorder) -> SwitchResult:
        switching = self._switching
        await self._settled()
        await trio.sleep(switching.before_s)
        generation, switch_ms = self._workers[0].worker.generation, self._now_ms()
        lost_ms, active = self._ledger.lost_ms(switch_ms), cluster.coordinator_node(GROUP)
        cluster.kill(active)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._mend, cluster, active)
            settled_ms = await self._settled()
        await trio.sleep(switching.after_s)
        now_ms = self._now_ms()
        overlaps = self._overlaps(now_ms, switch_ms)
        up = [keeper for keeper in self._workers if keeper.worker.state is WorkerState.STABLE]
        generations = Counter(keeper.worker.generation for keeper in up)
        after, rejoined = generations.most_common(1)[0] if generations else (-1, 0)
        return SwitchResult(
            switching=switching, rejoined=rejoined, settled_ms=None if settled_ms is None else settled_ms - switch_ms,
            lost_ms=self._ledger.lost_ms(now_ms) - lost_ms, overlap_ms=sum(overlap.ms for overlap in overlaps),
            longest_overlap_ms=max((overlap.ms for overlap in overlaps), default=0), overlaps=overlaps, wrong=self._wrong(),
            generation_before=generation, generation_after=after, items=self._items["done"], items_doubled=self._items["doubled"], trace=recorder.trace,
        )  # fmt: skip

    async def _mend(self, cluster: Cluster, node: int) -> None:
        await trio.sleep(self._switching.away_s)
        cluster.mend(node)

    def _overlaps(self, now_ms: int, since_ms: int) -> tuple[Overlap, ...]:
        self._ledger.overlap_ms(now_ms)
        return tuple(overlap for overlap in self._ledger.overlaps if overlap.from_ms >= since_ms)

    def _wrong(self) -> dict[str, tuple[str, ...]]:
        return self._ledger.not_run_once(self._board.configs(GROUP).tasks.keys())

    async def _settled(self) -> int | None:
        """Wait until every worker is Stable in one generation that the active Manager knows, and each task runs once; return when that was, None where it does not come."""
        with trio.move_on_after(self._switching.settles_within_s):
            while not self._is_settled():  # noqa: ASYNC110  # of three machines together nobody tells
                await trio.sleep(_LOOK_S)
            return self._now_ms()
        return None

    def _is_settled(self) -> bool:
        workers = [keeper.worker for keeper in self._workers]
        view = self._cluster.view(GROUP)
        knows_all = view is not None and {member.member_id for member in view.members} == {worker.member_id for worker in workers}
        is_one = len({worker.generation for worker in workers}) == 1
        return knows_all and is_one and all(worker.state is WorkerState.STABLE for worker in workers) and not self._wrong()

    # Tasks

    async def _work(self, worker: str, task: Task) -> None:
        """Find the task's place, do one item after the other until cancelled, and put things away."""
        is_up = False
        try:
            await trio.sleep(_TASK_STARTS_S)
            is_up = True
            self._ledger.started(task.name, worker, self._now_ms())
            while True:
                await trio.sleep(_ITEM_S)
                self._items["done"] += 1
                self._items["doubled"] += len(self._ledger.runners(task.name)) > 1
        finally:
            if is_up:
                self._ledger.stopped(task.name, worker, self._now_ms())
            with trio.CancelScope(shield=True):
                await trio.sleep(_TASK_STOPS_S)

    def _now_ms(self) -> int:
        return math.floor((trio.current_time() - self._began_s) * 1000 + 1e-6)

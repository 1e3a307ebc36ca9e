"""`groupproof compare`: runs both designs with the same churn, by real and by simulated members, and both under the same partial failures."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import trio

from groupproof.chaos.relatives.split_brain import DESIGNS, FAULTS, split
from groupproof.chaos.wire.toxiproxy import Toxiproxy
from groupproof.chaos.wire.toxiproxy_server import provision_toxiproxy, running_toxiproxy
from groupproof.clients.registry.install_cache import Say
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.relatives.zookeeper.growth import CHURNS, grow
from groupproof.harness.relatives.zookeeper_comparison.churn_run import churned
from groupproof.harness.relatives.zookeeper_comparison.comparison import COORDINATOR, ZOOKEEPER, Comparison, Row, Split
from groupproof.harness.relatives.zookeeper_comparison.coordinator_growth import SIMULATED, grow_coordinated
from groupproof.harness.relatives.zookeeper_comparison.coordinator_members import CoordinatorSide
from groupproof.harness.relatives.zookeeper_comparison.read_ledger import ReadLedger
from groupproof.harness.relatives.zookeeper_comparison.side import TOPIC, Common, Side
from groupproof.harness.relatives.zookeeper_comparison.zookeeper_members import ZooKeeperSide, registered_brokers
from groupproof.harness.running.error_search import trouble_in
from groupproof.harness.running.run_clock import clock_from_now
from groupproof.harness.subjects.brokers.apache.zookeeper import RunningZooKeeper, provision_zookeeper, running_zookeeper
from groupproof.harness.subjects.brokers.cluster import BrokerSubject, RunningCluster
from groupproof.harness.subjects.brokers.topic_admin import fill_topics
from groupproof.protocol.trace import Recorder, Trace, write_trace

__all__ = ["ComparisonConfig", "compare", "simulated"]

_AT_ONCE: Final = 4
_LARGE: Final = 64
_MANY: Final = 1_000
_RECORDS: Final = 20
_TRIES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonConfig:
    """The sizes of real and of simulated groups, and the number of runs of each partial failure; 0 for none. `broker` keeps the log.

    Traces of members on ZooKeeper go to the folder `traces`, for `groupproof trace explain`.
    """

    real: tuple[int, ...]
    simulated: tuple[int, ...]
    runs: int
    seed: int
    broker: BrokerSubject
    cache: Path
    say: Say
    logs: Path | None = None
    traces: Path | None = None


def compare(config: ComparisonConfig) -> Comparison:
    """Run the whole comparison; raise `BrokenEnvironment` where a part cannot be started. Call it outside trio."""
    work = _Work(config)
    if config.real or config.runs:
        trio.run(work.go)
    rows = simulated(config.simulated, config.seed, config.say)
    parts = {**work.parts, "processors": str(os.cpu_count() or 1)}
    return Comparison(seed=config.seed, parts=parts, rows=(*work.rows, *rows), splits=tuple(work.splits), notes=(*_notes(config), *work.notes))


def simulated(sizes: Iterable[int], seed: int, say: Say) -> Iterator[Row]:
    """Yield the simulated rows; above a thousand members only for a leaving member, because each takes a while."""
    for members in sizes:
        for churn in CHURNS if members <= _MANY else ("leave",):
            say(f"simulating {members:,} members, of whom one more or less: {churn}")
            figures = grow(members, seed, churn=churn)
            yield Row(
                design=ZOOKEEPER, engine=SIMULATED, members=members, partitions=figures.partitions, churn=churn, requests=figures.operations,
                events=figures.watch_events, rebalances=figures.rebalances, failures=figures.failures, stable_ms=figures.stable_ms,
            )  # fmt: skip
            yield grow_coordinated(members, seed, churn=churn)


def _notes(config: ComparisonConfig) -> Iterator[str]:
    yield "Requests that only say that a member lives (pings of ZooKeeper, heartbeats without news) and fetches are not counted."
    if config.real:
        yield f"Real members run in one process beside ZooKeeper, their sessions 6 s long, above {_LARGE} members 30 s: time includes the wait for processors."
    if config.simulated:
        yield f"Simulated time is ZooKeeper's own work and the way to it, without what clients take to think; above {_MANY:,} members one leaves, and that is all."


class _Work:
    """The part of the comparison that needs processes."""

    def __init__(self, config: ComparisonConfig) -> None:
        self.rows: list[Row] = []
        self.splits: list[Split] = []
        self.parts: dict[str, str] = {}
        self.notes: list[str] = []
        self._order = config

    async def go(self) -> None:
        config = self._order
        provided = await trio.to_thread.run_sync(provision_zookeeper, config.cache, config.say)
        self.parts["zookeeper"] = provided.provided_by
        async with running_zookeeper(provided, cache=config.cache, logs=config.logs) as zookeeper:
            for members in config.real:
                for design in DESIGNS:
                    config.say(f"{members} real members, design {design}")
                    await self._churn(design, members, zookeeper)
            if config.runs:
                await self._split(zookeeper)

    async def _churn(self, design: str, members: int, zookeeper: RunningZooKeeper) -> None:
        partitions = 2 * members
        common = Common(partitions=partitions, session_ms=6_000 if members <= _LARGE else 30_000, pace_ms=200 if members < _LARGE else 1_000)
        ledger = ReadLedger((TOPIC, number) for number in range(partitions))
        async with AsyncExitStack() as stack:
            running = await stack.enter_async_context(self._order.broker.cluster(settings={}, brokers=1, topics={TOPIC: partitions}))
            self.parts["brokers"] = f"{self._order.broker.spec} ({running.provided_by})"
            await fill_topics(running.connect, running.addresses[0], {TOPIC: partitions}, _RECORDS)
            hosts = f"{zookeeper.address[0]}:{zookeeper.address[1]}/{design}-{members}"
            if design == ZOOKEEPER:
                await stack.enter_async_context(registered_brokers(hosts, dict(enumerate(running.addresses)), partitions))
            nursery = await stack.enter_async_context(trio.open_nursery())
            recorder = Recorder(clock_from_now())
            side = _side(design, common, nursery, ledger, hosts, running, recorder)
            async for row in churned(side, members, partitions, self._order.seed):
                self.rows.append(row)
            nursery.cancel_scope.cancel()
        self._keep(f"{design}-{members}", recorder.trace)

    async def _try_to_split(self, design: str, fault: str, seed: int, zookeeper: RunningZooKeeper, toxiproxy: Toxiproxy) -> None:
        """Try again where the group does not even form: on ZooKeeper that happens, and nobody repairs such a group."""
        for number in range(_TRIES):
            recorder = Recorder(clock_from_now())
            try:
                found = await split(
                    design, fault, seed, zookeeper=zookeeper.address, toxiproxy=toxiproxy, recorder=recorder, key=f"{design}-{fault}-{seed}-{number}"
                )
            except (BrokenEnvironment, BaseExceptionGroup) as error:
                trouble = trouble_in(error)
                if not isinstance(trouble, BrokenEnvironment):
                    raise
                self.notes.append(f"{fault}, seed {seed}, design {design}: {trouble}; it was begun anew.")
                continue
            self.splits.append(found)
            self._keep(f"{design}-{fault}-{seed}", recorder.trace)
            return

    def _keep(self, name: str, trace: Trace) -> None:
        if self._order.traces is not None and trace:
            self._order.traces.mkdir(parents=True, exist_ok=True)
            (self._order.traces / f"{name}.ndjson").write_text("".join(f"{line}\n" for line in write_trace(trace)), "utf-8")

    async def _split(self, zookeeper: RunningZooKeeper) -> None:
        config = self._order
        program = await trio.to_thread.run_sync(provision_toxiproxy, config.cache, config.say)
        self.parts["toxiproxy"] = program.provided_by
        at_once = trio.CapacityLimiter(_AT_ONCE)
        async with running_toxiproxy(program, cache=config.cache, logs=config.logs, seed=config.seed) as toxiproxy, trio.open_nursery() as nursery:

            async def one(design: str, fault: str, seed: int) -> None:
                async with at_once:
                    config.say(f"members are {'cut off' if fault == 'cut' else 'late'}, seed {seed}, design {design}")
                    await self._try_to_split(design, fault, seed, zookeeper, toxiproxy)

            for seed in range(config.seed, config.seed + config.runs):
                for fault in FAULTS:
                    for design in DESIGNS:
                        nursery.start_soon(one, design, fault, seed)
        self.splits.sort(key=lambda item: (item.fault, item.seed, item.design))


def _side(design: str, common: Common, nursery: trio.Nursery, ledger: ReadLedger, hosts: str, running: RunningCluster, recorder: Recorder) -> Side:
    if design == COORDINATOR:
        return CoordinatorSide(common, nursery, ledger, connect_of=lambda _: (running.connect, running.addresses))
    return ZooKeeperSide(
        common, nursery, ledger, hosts_of=lambda _: hosts, connect_of=lambda _: (running.connect, running.addresses), recorder=recorder
    )

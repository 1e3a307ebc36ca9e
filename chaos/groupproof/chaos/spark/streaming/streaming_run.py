"""Runs one scenario of Spark's Kafka source: starts and stops queries, injects faults, and collects each query's reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, Protocol

import trio

from groupproof.chaos.spark.load.spark_job import in_a_thread
from groupproof.chaos.spark.streaming.streaming_cluster import StreamingCluster
from groupproof.chaos.spark.streaming.streaming_query import QueryConfig
from groupproof.chaos.spark.streaming.streaming_reads import QueryReads
from groupproof.chaos.spark.streaming.streaming_scenarios import Scenario
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.tap.fault_syntax import faults_of
from groupproof.protocol.faults import Fault
from groupproof.protocol.trace import Trace

__all__ = ["Pace", "Query", "Start", "StreamingResult", "StreamingRun"]

_UP_S: Final = 120.0
_LOOK_S: Final = 0.2


class Query(Protocol):
    """A running query; all calls block."""

    @property
    def batches(self) -> int: ...

    @property
    def positions(self) -> Mapping[int, int]:
        """Return its position in each partition of its last batch."""
        ...

    @property
    def failed(self) -> str | None: ...

    def stop(self) -> None: ...

    def read(self, began_s: float, due: Mapping[int, int]) -> QueryReads: ...


Start = Callable[[QueryConfig], Query]
"""Starts a query; blocks until it has a name and is running."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The waits of a course: the batches in each part, and the extra seconds before a query at the end of its partitions is stopped."""

    batches: int = 4
    quiet_s: float = 2.0
    trigger_ms: int = 500


@dataclass(slots=True, kw_only=True)
class StreamingResult:
    """The result of a course: its trace and reads, the starts and stops of queries (`at_s`, text), and how often each fault took effect."""

    scenario: Scenario
    reads: list[QueryReads] = field(default_factory=list)
    trace: Trace = field(default_factory=list)
    marks: list[tuple[float, str]] = field(default_factory=list)
    delivered: dict[str, int] = field(default_factory=dict)
    ended_s: float = 0.0


@dataclass(slots=True, kw_only=True)
class StreamingRun:
    """One scenario on one cluster. `words` are the user's faults, armed with the scenario's own."""

    scenario: Scenario
    cluster: StreamingCluster
    start: Start
    folder: Path
    words: Sequence[str] = ()
    pace: Pace = field(default_factory=Pace)
    _queries: dict[str, Query] = field(default_factory=dict)
    _began: float = field(default_factory=trio.current_time)
    _played: StreamingResult = field(init=False)

    async def play(self) -> StreamingResult:
        """Run the scenario; raise `BrokenEnvironment` where Spark or the brokers fail."""
        self._played = StreamingResult(scenario=self.scenario)
        faults = faults_of([*self.scenario.faults, *self.words])
        try:
            if self.scenario.from_start:
                self._arm(faults)
            await self._begin("a")
            if self.scenario.is_shared:
                await self._begin("b")
            if not self.scenario.from_start:
                self._arm(faults)
            await self._batches(self.pace.batches)
            if faults and self.scenario.expects.joins:
                await self._until_delivered([fault.name for fault in faults])
            if "b" in self._queries:
                await self._end("b")
                self.cluster.topic.go_on()
                await self._batches(self.pace.batches)
            await self._end("a")
        finally:
            await self._stop_all()
        result = self._played
        result.trace = list(self.cluster.trace)
        result.delivered = {fault.name: self.cluster.delivered(fault.name) for fault in faults}
        result.ended_s = trio.current_time() - self._began
        return result

    def _mark(self, label: str) -> None:
        self._played.marks.append((trio.current_time() - self._began, label))

    def _arm(self, faults: Sequence[Fault]) -> None:
        for fault in faults:
            self.cluster.interception.arm(fault)
            self._mark("fault")

    async def _begin(self, name: str) -> None:
        scenario = self.scenario
        order = QueryConfig(
            name=name, bootstrap=self.cluster.bootstrap, topic=self.cluster.topic.name, group=scenario.name,
            is_deprecated=scenario.is_deprecated, fails_on_loss=scenario.fails_on_loss, folder=self.folder, trigger_ms=self.pace.trigger_ms,
        )  # fmt: skip
        self._mark(f"{name} starts")
        query = await in_a_thread(partial(self.start, order))
        self._queries[name] = query
        await self._batches(self.pace.batches, only=name)

    async def _batches(self, wanted: int, only: str | None = None) -> None:
        """Wait until the queries have read `wanted` more batches; a failed query reads none."""
        for name, query in self._queries.items():
            if only in (None, name):
                before = 0 if only else await in_a_thread(partial(_batches_of, query))
                await self._until(partial(_has_read, query, before + wanted), name)

    async def _until(self, holds: Callable[[], bool], name: str) -> None:
        if not await _holds_within(holds, _UP_S):
            raise BrokenEnvironment(f"{self.scenario.name}: the query {name} read nothing for {_UP_S:g} s; what Spark says is on standard error")

    async def _until_delivered(self, names: Sequence[str]) -> None:
        """Wait for the faults on members. A fault that no frame matches lacks its receipts."""
        await _holds_within(lambda: all(self.cluster.delivered(name) for name in names), _UP_S / 4)
        await self._batches(self.pace.batches)

    async def _end(self, name: str) -> None:
        """Stop the topic until the query is at the end of its known partitions, and then stop the query."""
        due = await self.cluster.topic.stop()
        query = self._queries[name]
        if not await _holds_within(partial(_has_all, query, due), _UP_S):
            raise BrokenEnvironment(f"{self.scenario.name}: the query {name} did not come to the end of its partitions within {_UP_S:g} s")
        await trio.sleep(self.pace.quiet_s)
        self._mark(f"{name} ends")
        del self._queries[name]
        self._played.reads.append(await in_a_thread(partial(_ended, query, self.cluster.began_s, due)))

    async def _stop_all(self) -> None:
        with trio.CancelScope(shield=True):
            for query in self._queries.values():
                await in_a_thread(query.stop)


async def _holds_within(holds: Callable[[], bool], within_s: float) -> bool:
    """Wait until `holds` returns True; return whether it did in time."""
    with trio.move_on_after(within_s):
        while True:
            if await in_a_thread(holds):
                return True
            await trio.sleep(_LOOK_S)
    return False


def _batches_of(query: Query) -> int:
    return query.batches


def _has_read(query: Query, batches: int) -> bool:
    """Return whether the query has read enough batches or failed."""
    return query.batches >= batches or query.failed is not None


def _has_all(query: Query, due: Mapping[int, int]) -> bool:
    positions = query.positions
    return query.failed is not None or (bool(positions) and all(at >= due.get(partition, 0) for partition, at in positions.items()))


def _ended(query: Query, began_s: float, due: Mapping[int, int]) -> QueryReads:
    query.stop()
    return query.read(began_s, due)

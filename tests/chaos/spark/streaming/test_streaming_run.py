"""The course with queries that are played: what starts when, what is waited for, and that nothing is left running."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest
import trio
import trio.testing

from groupproof.chaos.spark.streaming import streaming_run
from groupproof.chaos.spark.streaming.streaming_cluster import StreamingCluster
from groupproof.chaos.spark.streaming.streaming_query import QueryConfig
from groupproof.chaos.spark.streaming.streaming_reads import QueryReads
from groupproof.chaos.spark.streaming.streaming_run import Pace, StreamingResult, StreamingRun
from groupproof.chaos.spark.streaming.streaming_scenarios import chosen
from groupproof.coordinator.broker.interception import Interception
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.protocol.faults import Fault
from groupproof.protocol.trace import Recorder

T = TypeVar("T")


@dataclass
class FakeQuery:
    """Reads a batch a second, and all that is there; `fails_at_s` after its start it ends, `is_deaf` it reads nothing."""

    order: QueryConfig
    topic: FakeTopic
    lines: list[str]
    fails_at_s: float = float("inf")
    is_deaf: bool = False
    started: float = field(default_factory=trio.current_time)

    @property
    def batches(self) -> int:
        return 0 if self.is_deaf else int(trio.current_time() - self.started)

    @property
    def positions(self) -> Mapping[int, int]:
        return dict.fromkeys(range(2), self.topic.produced)

    @property
    def failed(self) -> str | None:
        return "gone" if trio.current_time() - self.started > self.fails_at_s else None

    def stop(self) -> None:
        self.lines.append(f"stop {self.order.name}")

    def read(self, began_s: float, due: Mapping[int, int]) -> QueryReads:
        return QueryReads(query=self.order.name, batches=(), offsets={}, due=due, failed=self.failed)


class FakeTopic:
    name = "t"
    produced = 7

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines

    async def stop(self) -> dict[int, int]:
        self._lines.append("rest")
        return {0: self.produced, 1: self.produced}

    def go_on(self) -> None:
        self._lines.append("flow")


async def at_once(do: Callable[[], T]) -> T:
    await trio.lowlevel.checkpoint()
    return do()


def course_of(
    scenario: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lines: list[str], *, strikes: bool = True, **query: object
) -> Callable[[], StreamingResult]:
    """Return what plays a scenario with played queries, whose faults take effect as soon as they are armed."""
    monkeypatch.setattr(streaming_run, "in_a_thread", at_once)
    (named,) = chosen([scenario])
    topic = FakeTopic(lines)

    async def main() -> StreamingResult:
        recorder = Recorder(lambda: round(trio.current_time() * 1e9))
        interception = Interception(recorder)
        if strikes:
            recorder.listen(lambda obs: interception.receipt(_fault_of(obs.fault, interception), "delivered") if obs.detail == "armed" else None)
        cluster = StreamingCluster(bootstrap="x:1", topic=topic, interception=interception, trace=recorder.trace, began_s=0.0)  # type: ignore[arg-type]  # played, or of any type by nature

        def start(order: QueryConfig) -> FakeQuery:
            lines.append(f"start {order.name} {order.group} {order.is_deprecated}")
            return FakeQuery(order, topic, lines, **query)  # type: ignore[arg-type]  # played, or of any type by nature

        return await StreamingRun(scenario=named, cluster=cluster, start=start, folder=tmp_path, pace=Pace(batches=3)).play()

    return lambda: trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def _fault_of(name: str | None, interception: Interception) -> Fault:
    return interception._armed[name or ""]


def test_a_second_query_comes_when_the_first_is_at_work_and_goes_before_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lines: list[str] = []

    result = course_of("shared-group", monkeypatch, tmp_path, lines)()

    assert lines == ["start a shared-group True", "start b shared-group True", "rest", "stop b", "flow", "rest", "stop a"]
    assert [read_row.query for read_row in result.reads] == ["b", "a"]
    assert [mark for _, mark in result.marks] == ["a starts", "b starts", "b ends", "a ends"]
    assert result.marks[1][0] - result.marks[0][0] >= 3


def test_a_fault_acts_on_a_query_that_is_at_work_and_is_waited_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result = course_of("deprecated-path-evicted", monkeypatch, tmp_path, [])()

    assert [mark for _, mark in result.marks] == ["a starts", "fault", "a ends"]
    assert result.delivered == {"fault-1": 1}


def test_a_fault_from_the_start_is_armed_before_any_client_comes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result = course_of("default-path-without-coordinator", monkeypatch, tmp_path, [], strikes=False)()

    assert [mark for _, mark in result.marks] == ["fault", "a starts", "a ends"]
    assert result.delivered == {"fault-1": 0}


def test_a_query_that_ends_with_an_error_is_waited_for_no_longer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result = course_of("shared-group-by-default", monkeypatch, tmp_path, [], fails_at_s=1.0)()

    assert [read_row.failed for read_row in result.reads] == ["gone", "gone"]


def test_a_query_that_reads_nothing_is_stopped_and_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lines: list[str] = []

    with pytest.raises(BrokenEnvironment, match="default-path: the query a read nothing for 120 s"):
        course_of("default-path", monkeypatch, tmp_path, lines, is_deaf=True)()
    assert lines[-1] == "stop a"

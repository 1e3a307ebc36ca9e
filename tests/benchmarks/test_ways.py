"""The benchmark's own part, hardly timed: every way leads to the coordinator, and the direct one is what the others are held against."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import trio
from tests.benchmarks.coordinators import served
from tests.benchmarks.ways import Way, measure, report_of, tapping, ways

from groupproof.harness.model.errors import BrokenEnvironment


@pytest.mark.soak
@pytest.mark.skipif(sys.platform != "linux", reason="the load waits by epoll")
def test_heartbeats_are_answered_by_every_way(tmp_path: Path) -> None:
    async def run() -> None:
        with served() as upstream, tapping(upstream) as tap:
            async with ways(upstream, tap, tmp_path) as found:
                await trio.to_thread.run_sync(lambda: measure(found, sizes=(1, 2), rounds=1, seconds=0.05))

        report = report_of(found, (1, 2))
        assert list(report) == ["direct", "tap", "Toxiproxy", "Toxiproxy and tap"]
        assert report["direct"]["ratio"] == {1: 1.0, 2: 1.0}
        assert all(way.rate(size) > 0 for way in found for size in (1, 2))

    absent: list[BaseException] = []
    try:
        trio.run(run)
    except* BrokenEnvironment as group:
        absent.extend(group.exceptions)
    if absent:
        pytest.skip(str(absent[0]))


def test_a_ratio_is_how_many_times_as_long_a_heartbeat_takes() -> None:
    direct = Way("direct", ("127.0.0.1", 1), rates={1: [1_000, 500, 2_000]})
    tap = Way("tap", ("127.0.0.1", 2), rates={1: [500, 500, 400]})

    assert tap.ratio(direct, 1) == 2
    assert tap.added_ms(direct) == pytest.approx(1)

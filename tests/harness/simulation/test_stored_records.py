"""The records that a coordinator would have stored for a simulated group; `test_topic_history.py` compares what they tell with what was."""

from __future__ import annotations

from collections.abc import Callable

from groupproof.harness.simulation.run import run
from groupproof.harness.simulation.settings import Simulation
from groupproof.harness.simulation.stored_records import topic_of
from groupproof.protocol.trace import Recorder


def test_generations_and_commits_are_stored_in_order() -> None:
    kept: list[Recorder] = []

    def make(clock: Callable[[], int]) -> Recorder:
        kept.append(Recorder(clock, run="simulation", seed=3, clock="virtual"))
        return kept[0]

    run(Simulation(seed=3, members=2, duration_ms=60_000, faults=()), recorder=make)
    records = [obs.body["record"] for obs in topic_of(kept[0].trace)]
    times = [obs.body["timestamp_ms"] for obs in topic_of(kept[0].trace)]

    assert records[0] == "GroupMetadata"
    assert records.count("OffsetCommit") >= 4
    assert times == sorted(times)

from __future__ import annotations

from pathlib import Path

import pytest
from tests.clients.relatives.zookeeper.real_world import NEEDS_JAVA

from groupproof.chaos.relatives.zookeeper_comparison_run import ComparisonConfig, compare, simulated
from groupproof.clients.registry.install_cache import default_cache
from groupproof.harness.judging.diagnosis.zookeeper_group import waves_of
from groupproof.harness.subjects.brokers.broker_providers import subject_named
from groupproof.protocol.trace import read_trace


def test_simulated_rows_are_of_both_designs_and_for_each_churn() -> None:
    lines: list[str] = []
    rows = list(simulated([4], 1, lines.append))

    assert [(row.churn, row.design) for row in rows] == [
        (churn, design) for churn in ("join", "leave", "crash") for design in ("zookeeper", "coordinator")
    ]
    assert lines[0] == "simulating 4 members, of whom one more or less: join"
    assert all(row.total > 0 for row in rows)


def test_without_real_members_no_process_is_started(tmp_path: Path) -> None:
    config = ComparisonConfig(real=(), simulated=(4,), runs=0, seed=1, broker=subject_named("groupproof"), cache=tmp_path, say=lambda _: None)
    comparison = compare(config)
    assert list(comparison.parts) == ["processors"]
    assert len(comparison.rows) == 6


@pytest.mark.java
@pytest.mark.network
@pytest.mark.soak
@NEEDS_JAVA
@pytest.mark.parametrize("broker", ["groupproof", "apache-kafka@1.1.0"])
def test_real_members_of_both_designs_go_through_the_same_churn(tmp_path: Path, broker: str) -> None:
    config = ComparisonConfig(
        real=(3,),
        simulated=(),
        runs=0,
        seed=1,
        broker=subject_named(broker, logs=tmp_path),
        cache=default_cache(),
        say=print,
        logs=tmp_path,
        traces=tmp_path / "traces",
    )
    comparison = compare(config)
    assert [(row.design, row.churn) for row in comparison.rows] == [
        (design, churn) for design in ("zookeeper", "coordinator") for churn in ("join", "leave", "crash")
    ]
    assert all(row.stable_ms is not None for row in comparison.rows)
    assert comparison.parts["brokers"].startswith(broker)
    waves = waves_of(list(read_trace((tmp_path / "traces" / "zookeeper-3.ndjson").read_text("utf-8").splitlines())))
    assert any("m0003-late started" in wave.causes for wave in waves)
    assert any("left" in cause for wave in waves for cause in wave.causes)

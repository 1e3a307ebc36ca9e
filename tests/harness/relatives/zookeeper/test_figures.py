"""The figures of a churn as data."""

from __future__ import annotations

import msgspec

from groupproof.harness.relatives.zookeeper.figures import Figures

FIGURES = Figures(
    members=4,
    partitions=8,
    seed=1,
    churn="join",
    operations={"get": 30, "create": 8},
    watch_events=5,
    rebalances=5,
    attempts=7,
    conflicts=2,
    failures=0,
    stable_ms=2_012,
)


def test_requests_are_those_of_all_kinds() -> None:
    assert FIGURES.requests == 38


def test_figures_come_back_from_json() -> None:
    assert msgspec.convert(FIGURES.to_json(), Figures) == FIGURES
    assert FIGURES.to_json()["requests"] == 38

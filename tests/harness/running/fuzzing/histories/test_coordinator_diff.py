from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from groupproof.harness.cases.coordinator import CASES
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.running.fuzzing.histories.coordinator_diff import Comparison
from groupproof.harness.subjects.brokers.cluster import RunningCluster
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers

SOME = [case for case in CASES if case.id.startswith(("heartbeat/", "move/"))]


def compared(first: ReferenceBrokers, second: ReferenceBrokers, steps: int = 0) -> Comparison:
    comparison = Comparison((first, second), SOME, steps=steps, seed=1, jobs=40, say=lambda _: None)
    comparison.go()
    return comparison


@pytest.mark.slow
def test_a_release_does_not_diverge_from_itself() -> None:
    comparison = compared(ReferenceBrokers(profile="kafka-4.1"), ReferenceBrokers(profile="kafka-4.1", seed=7), steps=50)

    assert {result.contrast for result in comparison.compared} == {None}
    assert {result.trouble for result in comparison.compared} == {None}
    assert {result.case.id for result in comparison.compared} > {case.id for case in SOME}


@pytest.mark.slow
def test_two_releases_diverge_where_their_rules_do() -> None:
    comparison = compared(ReferenceBrokers(profile="kafka-1.1"), ReferenceBrokers(profile="kafka-4.1"))
    diverging = {result.case.id for result in comparison.compared if result.contrast is not None}

    assert diverging
    assert diverging < {case.id for case in SOME}


class Unstartable(ReferenceBrokers):
    @asynccontextmanager
    async def cluster(self, *, settings: Mapping[str, Any], brokers: int, topics: Mapping[str, int]) -> AsyncIterator[RunningCluster]:
        raise BrokenEnvironment("java is not here")
        yield  # a generator, as the context wants it


def test_a_subject_that_is_not_available_ends_the_comparison() -> None:
    with pytest.raises(BrokenEnvironment, match="java is not here"):
        compared(ReferenceBrokers(profile="kafka-4.1"), Unstartable(profile="kafka-4.1"))

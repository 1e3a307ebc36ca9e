from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from groupproof.harness.model.case import script_of
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.model.script import Ask
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.running.fuzzing.histories.coordinator_fuzz import KINDS, FuzzEffort, FuzzFinding, Fuzzing, kinds_of
from groupproof.harness.running.runs.whole_run import RunConfig
from groupproof.harness.subjects.brokers.cluster import RunningCluster
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers


def fuzzing(subject: ReferenceBrokers, *, profile: str = "kafka-4.1", steps: int = 60, goes_on: bool = False, seed: int = 1) -> Fuzzing:
    config = RunConfig(cases=(), profile=profile, level="info", seed=seed, jobs=10, command=["groupproof"])
    entries: list[FuzzFinding] = []
    run = Fuzzing(subject, config, FuzzEffort(steps=steps, length=6, goes_on=goes_on), say=lambda _: None, found=entries.append, prefix="groupproof-")
    run.go()
    assert entries == run.diverged
    return run


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["kafka-1.1", "kafka-4.1"])
def test_the_reference_keeps_its_own_rules(profile: str) -> None:
    run = fuzzing(ReferenceBrokers(profile=profile), profile=profile)

    assert run.answered >= 60
    assert run.diverged == []
    assert run.undecided == []


@pytest.mark.slow
def test_a_broker_of_another_release_diverges_and_the_history_is_shrunk_to_what_it_needs() -> None:
    run = fuzzing(ReferenceBrokers(profile="kafka-4.1"), profile="kafka-1.1", steps=50)

    (diverged,) = run.diverged
    assert diverged.ruling.verdict in (Verdict.FAILED, Verdict.NON_STRICT)
    assert len([step for step in script_of(diverged.case).steps if isinstance(step, Ask)]) <= 3
    assert not diverged.is_fleeting
    assert diverged.trace
    assert run.more.total() > 0
    assert run.divergences == 1 + run.more.total()


class Unstartable(ReferenceBrokers):
    @asynccontextmanager
    async def cluster(self, *, settings: Mapping[str, Any], brokers: int, topics: Mapping[str, int]) -> AsyncIterator[RunningCluster]:
        raise BrokenEnvironment("java is not here")
        yield  # a generator, as the context wants it


def test_a_subject_that_is_not_available_is_the_environments_fault() -> None:
    with pytest.raises(BrokenEnvironment, match="java is not here"):
        fuzzing(Unstartable(profile="kafka-4.1"))


def test_settings_that_a_release_lacks_are_left_out() -> None:
    assert kinds_of("kafka-3.9") == [dict(kind) for kind in KINDS]
    assert all(set(kind) <= set(full) for kind, full in zip(kinds_of("kafka-1.1"), KINDS, strict=True))


def test_a_dialect_brings_settings_for_all_histories_and_for_those_of_one_kind() -> None:
    first, second = kinds_of("kafka-4.4")

    assert {name: value for name, value in first.items() if name not in second} == {"group.consumer.assignment.interval.ms": 0}
    assert second["group.consumer.max.size"] == 3

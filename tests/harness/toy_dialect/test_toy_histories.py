"""Fuzzing a coordinator draws histories of the toy dialect, finds its planted bug and makes it small."""

from __future__ import annotations

import pytest
from tests.harness.toy_dialect.lease_dialect import LEASE_BROKER, LeaseGuard
from tests.power.coordinators import played

from groupproof.coordinator.machine.variant import Variant
from groupproof.harness.model.script import Ask, Script
from groupproof.harness.running.fuzzing.histories.coordinator_fuzz import drawn_case
from groupproof.harness.running.fuzzing.histories.divergence import answered_counts, divergences_in
from groupproof.harness.running.fuzzing.histories.history_registry import histories_on
from groupproof.harness.running.fuzzing.histories.history_source import Kind, histories
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import VERSIONS

HEARTBEAT = Api.SHARE_GROUP_HEARTBEAT


def _drawn(count: int = 30) -> list[Script]:
    return histories(Kind(profile=LEASE_BROKER, settings={}, ranges=VERSIONS, steps=10), seed=5, count=count)


def _apis(script: Script) -> set[Api]:
    return {step.api for step in script.steps if isinstance(step, Ask)}


def test_histories_are_of_either_dialect_and_some_of_both() -> None:
    kinds = [(HEARTBEAT in apis, bool(apis - {HEARTBEAT})) for apis in map(_apis, _drawn())]

    assert set(kinds) == {(True, False), (False, True), (True, True)}


def test_a_history_of_leases_is_a_case_of_its_dialect() -> None:
    script = next(script for script in _drawn() if _apis(script) == {HEARTBEAT})

    assert drawn_case("a", script).id == "fuzz/lease/a"


def test_the_releases_of_kafka_are_fuzzed_as_before() -> None:
    assert [part.dialect.name for part in histories_on("kafka-4.1")] == ["classic", "consumer"]
    assert [part.dialect.name for part in histories_on(LEASE_BROKER)] == ["classic", "lease"]


@pytest.mark.slow
def test_the_reference_gives_the_answers_that_its_rules_give_and_a_bug_does_not() -> None:
    cases = [drawn_case(f"d{number}", script) for number, script in enumerate(script for script in _drawn(60) if HEARTBEAT in _apis(script))]
    bug = Variant(name="lends-twice", says="", guards={LeaseGuard.HELD_BY_ANOTHER: lambda event: False})
    reference, wrong = (played(variant, cases, profile=LEASE_BROKER) for variant in (None, bug))

    assert sum(answered_counts(play.trace).total() for play in reference.values()) > 100
    assert [divergence for play in reference.values() for divergence in divergences_in(play.trace)] == []
    assert [divergence for play in wrong.values() for divergence in divergences_in(play.trace)] != []

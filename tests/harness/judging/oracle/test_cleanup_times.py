"""The periodic cleanup may come at any moment that the broker's setting allows, and must have come after a whole interval."""

from __future__ import annotations

import pytest
from tests.power.coordinators import played

from groupproof.coordinator.machine.coordinator_settings import Settings
from groupproof.coordinator.machine.timers import TimerKey
from groupproof.coordinator.machine.variant import Variant
from groupproof.harness.cases.coordinator import CASES
from groupproof.harness.judging.oracle.cleanup_times import last_sure_ms, leaves_a_mark, without_cleanup
from groupproof.harness.judging.oracle.tolerance import Tolerance
from groupproof.harness.judging.ruling import Judgement, rule_on
from groupproof.harness.judging.script_judgement import judge_script_run
from groupproof.harness.model.verdicts import Proof, Verdict
from groupproof.protocol.rules import ClassicEvent
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerState
from groupproof.protocol.vocabulary import GroupState

BY_ID = {case.id: case for case in CASES}
INTERVAL = "offsets.retention.check.interval.ms"
CLASSIC, CONSUMER = "describe/classic/empty", "topics/consumer/created-for-an-empty-group"


def settings(interval_ms: int = 10_000) -> Settings:
    return Settings.of({INTERVAL: interval_ms, "offsets.retention.minutes": 1})


def every(interval_ms: int, phase_ms: int) -> Variant:
    """Return the reference whose cleanup comes by a clock of its own."""

    def due(key: TimerKey, due_ms: int) -> int:
        return due_ms - (due_ms - phase_ms) % interval_ms if key.kind is ClassicEvent.CLEANUP else due_ms

    return Variant(name="own-clock", says="", due_ms=due)


def judged(case: str, interval_ms: int, phase_ms: int) -> Judgement:
    play = played(every(interval_ms, phase_ms), [BY_ID[case]], own={INTERVAL: interval_ms})[case]
    return judge_script_run(BY_ID[case], play.trace)


def test_after_a_whole_interval_a_cleanup_has_come() -> None:
    assert last_sure_ms(30_000, settings(10_000), Tolerance()) == 19_000
    assert last_sure_ms(30_000, settings(2_000), Tolerance()) == 27_500
    assert without_cleanup(settings()).offsets_retention_check_interval_ms > 1e12


@pytest.mark.parametrize(
    ("state", "lasted_ms", "interval_ms", "is_marked"),
    [
        (GroupState.EMPTY, 0, 10_000, True), (ConsumerState.EMPTY, 0, 10_000, True), (GroupState.STABLE, 59_999, 10_000, False),
        (GroupState.STABLE, 60_000, 10_000, True), (GroupState.EMPTY, 0, 60_001, False),
    ],
)  # fmt: skip
def test_what_is_empty_or_old_may_be_cleaned_up(state: GroupState | ConsumerState, lasted_ms: float, interval_ms: int, is_marked: bool) -> None:
    assert leaves_a_mark(state, lasted_ms, settings(interval_ms), Tolerance()) is is_marked
    assert not leaves_a_mark(None, lasted_ms, settings(interval_ms), Tolerance())
    assert leaves_a_mark(GroupState.EMPTY, 0, settings(600_000), Tolerance().with_any_cleanup())


@pytest.mark.parametrize("phase_ms", [200, 1_500, 2_900])
def test_where_it_comes_often_it_may_come_at_any_moment_in_groups_of_either_protocol(phase_ms: int) -> None:
    assert {judged(case, 3_000, phase_ms).verdict for case in (CLASSIC, CONSUMER)} == {Verdict.OK}


@pytest.mark.parametrize(("case", "phase_ms"), [(CLASSIC, 100), (CONSUMER, 1_500)])
def test_one_that_seldom_comes_is_no_failure_and_one_that_comes_into_each_run_is(case: str, phase_ms: int) -> None:
    cleaned, kept = judged(case, 600_000, phase_ms), judged(case, 600_000, 300_000)

    assert {finding.proof for finding in cleaned.findings if finding.verdict is Verdict.FAILED} == {Proof.LIVENESS}
    assert kept.verdict is Verdict.OK
    assert rule_on(BY_ID[case], [cleaned, kept, kept]).verdict is Verdict.INCONCLUSIVE
    assert rule_on(BY_ID[case], [cleaned] * 3).verdict is Verdict.FAILED

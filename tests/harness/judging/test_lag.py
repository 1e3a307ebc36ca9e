from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.harness.judging.judged import OK, finding, judged, says
from tests.traces import Story

from groupproof.harness.judging.lag import LAG_MS_MAX, LOST_MS_MAX, lost_ms, most_lag_ms
from groupproof.harness.model.evidence import Evidence, NotReached
from groupproof.harness.model.verdicts import Finding, Proof, Verdict, Wait


@pytest.mark.parametrize(
    ("lag_ms", "source_at", "verdict"),
    [(LAG_MS_MAX, 600, Verdict.INCONCLUSIVE), (LAG_MS_MAX - 1, 600, Verdict.FAILED), (LAG_MS_MAX, 9_000, Verdict.FAILED)],
)
def test_lateness_while_the_kit_itself_was_late_is_inconclusive(lag_ms: float, source_at: int, verdict: Verdict) -> None:
    story = Story().at(500)
    beat = story.beat()
    story.at(source_at).kit("lag", lag_ms=lag_ms, source="loop")

    late = judged(story, says(finding(Verdict.FAILED, proof=Proof.TIMING, seq=beat.seq)))
    assert late.verdict is verdict
    assert late.is_blurred == (verdict is Verdict.INCONCLUSIVE)
    assert judged(story, says(finding(Verdict.FAILED, seq=beat.seq))).verdict is Verdict.FAILED


@pytest.mark.parametrize(("lag_ms", "is_blurred"), [(LAG_MS_MAX, True), (LAG_MS_MAX - 1, False)])
def test_what_was_never_reached_while_the_kit_itself_was_late_must_be_repeated(lag_ms: float, is_blurred: bool) -> None:
    story = Story()
    story.kit("lag", lag_ms=lag_ms, source="child")

    unreached = judged(story, _never)
    assert (unreached.verdict, unreached.is_blurred) == (Verdict.INCONCLUSIVE, is_blurred)
    assert not judged(story, says(OK)).is_blurred


def test_a_lag_long_before_a_late_observation_has_not_caused_it() -> None:
    story = Story()
    story.kit("lag", lag_ms=500.0, source="child")
    late = story.at(30_000).beat()

    assert judged(story, says(finding(Verdict.FAILED, proof=Proof.TIMING, seq=late.seq))).verdict is Verdict.FAILED
    assert judged(story, says(finding(Verdict.FAILED, proof=Proof.TIMING))).verdict is Verdict.INCONCLUSIVE


def _never(evidence: Evidence) -> Iterator[Finding]:
    raise NotReached("the fault never came")


def lagging(*spans: tuple[float, float]) -> Story:
    """Return a story in which the machine was late, each time from one instant to the other; a beat stands at its start."""
    story = Story()
    story.beat()
    for begin, end in spans:
        story.at(end).kit("lag", lag_ms=end - begin, source="loop")
    story.at(max(20_000.0, *(end for _, end in spans))).kit("end")
    return story


def test_what_both_canaries_were_late_by_is_lost_once() -> None:
    assert lost_ms(lagging((1_000, 2_000), (1_500, 2_500)).trace, 0, 20_000) == 1_500


def test_what_was_lost_before_and_after_the_wait_is_not_counted() -> None:
    trace = lagging((0, 2_000), (9_000, 12_000)).trace
    assert lost_ms(trace, 1_000, 10_000) == 2_000
    assert lost_ms(trace, 3_000, 8_000) == 0


@pytest.mark.parametrize(("lost", "verdict"), [(2_000, Verdict.FAILED), (2_001, Verdict.INCONCLUSIVE)])
def test_a_wait_that_was_long_enough_without_what_the_machine_lost_stays_a_finding(lost: int, verdict: Verdict) -> None:
    waited = finding(Verdict.FAILED, "nothing came", proof=Proof.LIVENESS, seq=0, wait=Wait(since=0, ms=8_000, due_ms=6_000))

    found = judged(lagging((1_000, 1_000 + lost)), says(waited))
    assert (found.verdict, found.is_blurred) == (verdict, verdict is Verdict.INCONCLUSIVE)
    if verdict is Verdict.INCONCLUSIVE:
        assert found.reason == "nothing came But the machine lost 2001 ms of the 8000 ms that were waited, and 6000 ms were due."


@pytest.mark.parametrize(("lost", "verdict"), [(LOST_MS_MAX - 1, Verdict.FAILED), (LOST_MS_MAX, Verdict.INCONCLUSIVE)])
def test_absence_without_a_wait_has_only_a_deadlines_tolerance(lost: float, verdict: Verdict) -> None:
    absent = finding(Verdict.FAILED, "nothing came", proof=Proof.LIVENESS, seq=0)

    assert judged(lagging((1_000, 1_000 + lost)), says(absent)).verdict is verdict
    assert judged(lagging((6_000, 7_000)), says(absent)).verdict is Verdict.FAILED


def test_a_wait_that_was_too_short_by_itself_is_no_matter_of_lag() -> None:
    waited = finding(Verdict.FAILED, "nothing came", proof=Proof.LIVENESS, seq=0, wait=Wait(since=0, ms=100, due_ms=500))

    assert judged(lagging((9_000, 9_500)), says(waited)).verdict is Verdict.FAILED


def test_no_lag_takes_anything_from_what_is_proven_on_the_wire() -> None:
    assert judged(lagging((0, 9_000)), says(finding(Verdict.FAILED, seq=0))).verdict is Verdict.FAILED


def test_the_lag_that_was_looked_at_is_the_longest_in_the_time_a_finding_rests_on() -> None:
    trace = lagging((100, 400), (1_000, 1_200), (15_000, 19_000)).trace
    waited = finding(Verdict.FAILED, proof=Proof.LIVENESS, seq=0, wait=Wait(since=0, ms=8_000, due_ms=6_000))

    assert most_lag_ms(waited, trace) == 300
    assert most_lag_ms(finding(Verdict.FAILED), trace) == 4_000
    assert most_lag_ms(waited, Story().at(0).trace) == 0

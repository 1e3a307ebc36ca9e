from __future__ import annotations

import pytest
from tests.epoch_traces import EpochStory
from tests.traces import findings, verdict

from groupproof.harness.judging.case_checkers.consumer.epoch_rhythm import keeps_interval, never_two_in_flight, stays_alive
from groupproof.harness.model.evidence import NotReached
from groupproof.harness.model.verdicts import Proof, Verdict

INTERVAL = keeps_interval("m0", after="settled", ms=1_000)
ALIVE = stays_alive("m0", after="settled", session_ms=2_000)
ALONE = never_two_in_flight("m0")


def beating(every_ms: int, *, until: int = 10_000) -> EpochStory:
    story = EpochStory().settled()
    story.mark("settled")
    for ms in range(every_ms, until, every_ms):
        story.at(ms).hb(1)
    story.end(until)
    return story


@pytest.mark.parametrize(
    ("every_ms", "expected"), [(1_000, Verdict.OK), (900, Verdict.OK), (1_400, Verdict.OK), (300, Verdict.NON_STRICT), (1_700, Verdict.NON_STRICT)]
)
def test_the_interval_is_the_coordinators(every_ms: int, expected: Verdict) -> None:
    assert verdict(INTERVAL, beating(every_ms)) is expected


def test_two_heartbeats_show_no_rhythm() -> None:
    with pytest.raises(NotReached):
        verdict(INTERVAL, beating(1_000, until=2_500))


def test_silence_shows_one() -> None:
    assert verdict(INTERVAL, beating(20_000, until=10_000)) is Verdict.NON_STRICT


@pytest.mark.parametrize(("every_ms", "expected"), [(2_300, Verdict.OK), (2_700, Verdict.FAILED), (20_000, Verdict.FAILED)])
def test_a_silence_longer_than_the_session_loses_the_membership(every_ms: int, expected: Verdict) -> None:
    assert verdict(ALIVE, beating(every_ms)) is expected
    assert {finding.proof for finding in findings(ALIVE, beating(20_000))} == {Proof.LIVENESS}


def test_a_short_window_proves_no_silence() -> None:
    with pytest.raises(NotReached):
        verdict(ALIVE, beating(20_000, until=900))


def overlapping(epoch: int, *, connection: int = 1, closes: bool = False) -> EpochStory:
    story = EpochStory().settled()
    waiting = story.ask(1)
    if closes:
        story.see("event", who="link", connection=1, body={"name": "closed"})
    story.at(500).hb(epoch, connection=connection)
    story.at(900)
    if not closes:
        story.reply(waiting)
    story.end(2_000)
    return story


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        (beating(1_000), Verdict.OK),
        (overlapping(1), Verdict.FAILED),
        (overlapping(0), Verdict.FAILED),
        (overlapping(-1), Verdict.OK),  # a leave waits for nothing
        (overlapping(1, connection=2, closes=True), Verdict.OK),
        (overlapping(1, connection=2), Verdict.FAILED),
    ],
)
def test_one_heartbeat_waits_for_the_answer_to_another(story: EpochStory, expected: Verdict) -> None:
    assert verdict(ALONE, story) is expected


def test_one_that_was_given_up_is_no_longer_in_flight() -> None:
    assert verdict(never_two_in_flight("m0", patience_ms=400), overlapping(1)) is Verdict.OK
    with pytest.raises(NotReached):
        verdict(ALONE, EpochStory())

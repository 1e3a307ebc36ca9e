"""Heartbeats in storms: those that say nothing new, and come for no answer."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from operator import sub

import pytest
from tests.epoch_traces import BOTH, EpochStory
from tests.traces import ID, findings

from groupproof.harness.judging.checkers.consumer.consumer_storms import HeartbeatsDoNotStorm
from groupproof.harness.judging.checkers.shared.request_storms import STORM_PER_SECOND
from groupproof.harness.judging.checkers.steady import ALL_ROWS, NO_ROWS, Steady, SteadyRequests
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.vocabulary import ErrorCode

T0, T1 = BOTH
_MANY = 4 * STORM_PER_SECOND


def _blamed(story: EpochStory) -> list[tuple[str, Verdict]]:
    return [(finding.requirement, finding.verdict) for finding in findings(HeartbeatsDoNotStorm, story)]


@pytest.mark.requirement("CGC-24")
def test_heartbeats_that_say_nothing_come_in_a_storm_and_are_reported_once() -> None:
    story = EpochStory().settled()
    for number in range(_MANY):
        story.at(1_000 + 10 * number).hb(1)

    assert _blamed(story) == [("CGC-24", Verdict.NON_STRICT)]


@pytest.mark.requirement("CGC-24")
def test_a_client_that_says_everything_each_time_may_not_storm_either() -> None:
    """Each full heartbeat is answered with the whole assignment (CGC-12), which is nothing new."""
    story = EpochStory().settled()
    for number in range(_MANY):
        story.at(1_000 + 10 * number).hb(1, full=True, owns=BOTH, gives=BOTH)

    assert _blamed(story) == [("CGC-24", Verdict.NON_STRICT)]


@pytest.mark.requirement("CLIENT-75")
def test_a_refused_heartbeat_is_not_repeated_without_a_pause() -> None:
    story = EpochStory().settled()
    for number in range(_MANY):
        story.at(1_000 + 10 * number).hb(1, full=True, owns=BOTH, error=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

    assert _blamed(story) == [("CLIENT-75", Verdict.NON_STRICT)]


def test_the_limit_is_not_a_storm() -> None:
    story = EpochStory().settled()
    for number in range(_MANY):
        story.at(1_000 + (1_000 / STORM_PER_SECOND) * number).hb(1)

    assert _blamed(story) == []


def test_each_change_may_be_said_at_once() -> None:
    story = EpochStory().settled()
    for number in range(_MANY):
        story.at(1_000 + 10 * number)
        story.hb(1, body={"subscribed_topic_names": ["t", f"t{number}"]})

    assert _blamed(story) == []


def test_each_assignment_may_be_acknowledged_at_once() -> None:
    story = EpochStory().settled()
    for number in range(_MANY):
        story.at(1_000 + 10 * number)
        gives = BOTH if number % 2 else (T0,)
        story.hb(1 + number, gets=2 + number, gives=gives, owns=gives)

    assert _blamed(story) == []


def test_a_member_that_is_fenced_again_and_again_joins_at_once() -> None:
    story = EpochStory().settled()
    story.at(1_000).hb(1, error=ErrorCode.FENCED_MEMBER_EPOCH)
    for number in range(_MANY):
        story.at(1_010 + 10 * number).hb(0, error=ErrorCode.FENCED_MEMBER_EPOCH)

    assert _blamed(story) == []


def test_a_member_that_ignores_that_it_is_fenced_storms() -> None:
    story = EpochStory().settled()
    for number in range(_MANY):
        story.at(1_000 + 10 * number).hb(1, error=ErrorCode.FENCED_MEMBER_EPOCH)

    assert _blamed(story) == [("CLIENT-75", Verdict.NON_STRICT)]


def test_members_are_counted_apart() -> None:
    story = EpochStory()
    for number in range(4):
        story.settled(f"m{number}", gets=(("t", number),), member=f"{ID}{number}")
    for number in range(STORM_PER_SECOND * 4 - 4):
        story.at(1_000 + 10 * number).hb(1, f"m{number % 4}", member=f"{ID}{number % 4}")

    assert _blamed(story) == []


def _steady(*at_ms: float, epoch: int = 1) -> Steady:
    numbers = list(range(len(at_ms)))
    beats = SteadyRequests(
        places=numbers, answer_places=numbers, seqs=numbers, answer_seqs=numbers, at_ms=list(at_ms), correlations=numbers,
        burst_ms=min(map(sub, at_ms[STORM_PER_SECOND:], at_ms), default=inf),
    )  # fmt: skip
    return Steady(
        client="m0", wire_client="m0", member=ID, connection=1, generation=epoch, apis=frozenset({"ConsumerGroupHeartbeat"}),
        asked={"ConsumerGroupHeartbeat": beats},
    )  # fmt: skip


def test_no_row_is_needed_of_a_member_at_rest_and_all_of_one_that_may_storm() -> None:
    checker = HeartbeatsDoNotStorm()
    for obs in EpochStory().settled().trace:
        assert list(checker.step(obs)) == []

    assert checker.wants(_steady(5_000, 10_000)) == NO_ROWS
    assert checker.wants(_steady(*(5_000 + 10 * number for number in range(_MANY)))) is ALL_ROWS
    assert checker.wants(_steady(10_000, 5_000)) is ALL_ROWS, "the clock was set back"
    assert checker.wants(replace(_steady(5_000), member="unknown")) is ALL_ROWS
    assert checker.wants(_steady(5_000, epoch=2)) is ALL_ROWS


def test_what_was_absorbed_counts() -> None:
    story = EpochStory().settled()
    checker = HeartbeatsDoNotStorm()
    for obs in story.trace:
        assert list(checker.step(obs)) == []
    checker.absorb(_steady(*(5_000 + 50 * number for number in range(STORM_PER_SECOND))))
    story.at(5_960).hb(1)

    assert [finding.requirement for finding in checker.step(story.trace[-2])] == ["CGC-24"]

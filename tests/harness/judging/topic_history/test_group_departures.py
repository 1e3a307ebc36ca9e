"""Why a member of the consumer protocol went, by its commits, and who is the same process as one that went before."""

from __future__ import annotations

import pytest
from tests.harness.judging.topic_history.stories import Story

from groupproof.harness.judging.diagnosis.causes import Cause

AWAY = -2


def _two_members() -> Story:
    """Two members in epoch 2, who commit; the session is Kafka's default of 45 s, the poll interval 60 s."""
    story = Story()
    for number, name in enumerate(("a-1", "b-1"), 1):
        story.epoch_member(number, name)
        story.epoch(number, number)
        story.target(number, number)
    story.current(3, "a-1", 2, (0,))
    story.current(3, "b-1", 2, (1,))
    story.commit(100, 0, 1)
    return story


def _goes(story: Story, at_s: float, epoch: int = 3) -> Cause:
    story.epoch_member(at_s, "b-1", is_gone=True)
    story.epoch(at_s, epoch)
    assert not story.last.is_certain
    assert story.last.cause not in story.last.also
    return story.last.cause


@pytest.mark.parametrize(
    ("silent_s", "cause"),
    [(3, Cause.LEFT), (29, Cause.LEFT), (41, Cause.HEARTBEAT_TIMEOUT), (59, Cause.HEARTBEAT_TIMEOUT), (61, Cause.POLL_INTERVAL)],
)
def test_how_long_nothing_was_committed_tells_why_a_member_went(silent_s: float, cause: Cause) -> None:
    assert _goes(_two_members(), 100 + silent_s) is cause


def test_the_broker_s_own_session_timeout_is_what_silence_is_held_against() -> None:
    story = _two_members()
    story.history.consumer_session_ms = 9_000
    story.epoch_member(101, "b-1", topics=("t", "u"))
    story.epoch(101, 3)

    assert _goes(story, 107, 4) is Cause.HEARTBEAT_TIMEOUT


def test_a_commit_of_a_partition_that_was_given_up_since_counts() -> None:
    story = _two_members()
    story.current(101, "b-1", 2, (2,))
    assert _goes(story, 105) is Cause.LEFT

    story = _two_members()
    story.current(101, "b-1", 2, (2,))
    assert _goes(story, 145) is Cause.HEARTBEAT_TIMEOUT, "its new partition was never committed, its old one was"


def test_a_static_member_that_was_away_and_stayed_away_had_its_session_ended() -> None:
    story = _two_members()
    story.current(100, "b-1", AWAY, (1,))

    assert _goes(story, 102) is Cause.HEARTBEAT_TIMEOUT


def test_a_worker_that_was_lost_has_returned_and_one_that_left_is_new_and_neither_is_certain() -> None:
    crashed, left, other = _two_members(), _two_members(), _two_members()
    for story, gone_s in ((crashed, 145), (left, 103), (other, 145)):
        _goes(story, gone_s)
        story.epoch_member(150, "c-1" if story is other else "b-2")
        story.epoch(150, 4)

    assert (crashed.last.cause, crashed.last.also, crashed.last.is_certain) == (Cause.RETURNED, (Cause.NEW_MEMBER,), False)
    assert (left.last.cause, left.last.also, left.last.is_certain) == (Cause.NEW_MEMBER, (Cause.RETURNED,), False)
    assert (other.last.cause, other.last.also, other.last.is_certain) == (Cause.NEW_MEMBER, (), True)


def test_a_process_whose_twin_still_runs_is_not_treated_as_one_that_was_lost() -> None:
    story = _two_members()
    story.epoch_member(101, "b-2")
    story.epoch(101, 3)
    _goes(story, 145, 4)
    story.epoch_member(150, "b-3")
    story.epoch(150, 5)

    assert story.last.cause is Cause.NEW_MEMBER


def test_a_member_that_has_not_committed_since_it_came_is_silent_since_then_if_others_committed_before() -> None:
    for gone_s, cause in ((120, Cause.LEFT), (145, Cause.HEARTBEAT_TIMEOUT)):
        story = _two_members()
        story.epoch_member(101, "c-1")
        story.epoch(101, 3)
        story.current(101, "c-1", 3, (0,))
        story.epoch_member(gone_s, "c-1", is_gone=True)
        story.epoch(gone_s, 4)

        assert story.last.cause is cause

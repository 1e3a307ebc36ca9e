"""A commit for a partition that was taken away is counted; one within the callback is in time."""

from __future__ import annotations

import pytest
from tests.harness.judging.diagnosis.making import Story

from groupproof.harness.judging.meters.stale_commits import Commits

P0 = ("t", 0)


def _counted(story: Story) -> dict[str, float]:
    meter = Commits()
    for obs in story.trace:
        meter.feed(obs)
    return meter.result().totals


def _commit(story: Story, ms: float, error: int = 0) -> None:
    story.answer(ms + 1, story.ask(ms, "OffsetCommit", "m0", offsets=(("t", 0, 7),)), error=error)


def test_commits_after_revocation_are_counted_and_those_that_were_accepted() -> None:
    story = Story()
    story.client_event(0, "m0", "partitions_assigned", P0)
    _commit(story, 10)
    story.client_event(100, "m0", "partitions_revoked", P0)
    _commit(story, 110)
    story.client_event(120, "m0", "callback_done")
    _commit(story, 130)
    _commit(story, 140, error=22)

    assert _counted(story) == {"commits": 4, "commits_after_revocation": 2, "commits_after_revocation_accepted": 1}


def test_a_partition_that_came_back_is_committed_rightly() -> None:
    story = Story()
    story.client_event(0, "m0", "partitions_lost", P0)
    story.client_event(1, "m0", "callback_done")
    story.client_event(2, "m0", "partitions_assigned", P0)
    _commit(story, 10)

    assert _counted(story) == {"commits": 1}


@pytest.mark.requirement("CLIENT-62")
def test_an_assignment_that_replaces_another_takes_the_rest_away() -> None:
    story = Story()
    story.client_event(0, "m0", "partitions_assigned", P0)
    story.client_event(1, "m0", "partitions_assigned", ("t", 1))
    story.client_event(2, "m0", "callback_done")
    _commit(story, 10)

    assert _counted(story)["commits_after_revocation"] == 1

"""A recorded offsets topic is explained as any trace is: each of its rebalances, with its record as what shows it, and no more certain than the records are."""

from __future__ import annotations

from tests.harness.judging.topic_history.stories import Story, member

from groupproof.harness.judging.diagnosis.causes import Cause, Certainty
from groupproof.harness.judging.diagnosis.group_diagnosis import rebalances_of
from groupproof.harness.judging.topic_history.explained_topic import topic_rebalances
from groupproof.harness.reports.texts.rebalance_text import tell


def test_rebalances_of_a_classic_group_stand_where_their_join_phase_ended() -> None:
    story = Story()
    story.generation(1, 1, member("a-1"))
    story.generation(10, 2, member("a-1"), member("b-1"), joined_s=9.5)
    first, second = rebalances_of(story.observations)

    assert (first.cause, first.certainty, first.started_ms) == (Cause.FIRST_MEMBER, Certainty.TOLD, 1_000)
    assert (second.cause, second.certainty, second.started_ms, second.member) == (Cause.NEW_MEMBER, Certainty.INFERRED, 9_500, "b")
    assert second.evidence[0].text == "__consumer_offsets-0 offset 1: 2 members; joined: b"
    assert "  phases   join: the topic does not say when it began" in list(tell(second))


def test_epochs_have_their_times() -> None:
    story = Story()
    story.epoch_member(1, "a-1")
    story.epoch(1, 1)
    story.target(1.25, 1)
    assert topic_rebalances(story.observations)[0].ended == "still going on where the trace ends"
    story.current(3, "a-1", 1)
    (rebalance,) = topic_rebalances(story.observations)

    assert (rebalance.started_ms, rebalance.join_ms, rebalance.sync_ms, rebalance.ended) == (1_000, 250, 1_750, "settled")


def test_a_trace_without_records_tells_none() -> None:
    assert topic_rebalances([]) == []

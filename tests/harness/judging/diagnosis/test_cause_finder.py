"""Of several things that were seen the one that began it counts; what the coordinator says is sharpened, and only what is left is inferred."""

from __future__ import annotations

from tests.harness.judging.diagnosis.making import Story

from groupproof.harness.judging.diagnosis.causes import Cause, Certainty
from groupproof.harness.judging.diagnosis.group_diagnosis import rebalances_of

TWO = {"a-1": "m0", "b-1": "m1"}


def _begun(story: Story, ms: float = 1_000, generation: int = 1, reason: str = "") -> None:
    story.move(ms, "Stable", "PreparingRebalance", generation, reason)
    story.move(ms + 10, "PreparingRebalance", "CompletingRebalance", generation + 1)
    story.move(ms + 20, "CompletingRebalance", "Stable", generation + 1)


def _running() -> Story:
    """A group that was seen to settle: its first rebalance is told, and over."""
    story = Story()
    story.move(0, "Empty", "PreparingRebalance", 0)
    story.settle(1, TWO, 1, "a-1")
    story.move(12, "PreparingRebalance", "CompletingRebalance", 1)
    story.move(13, "CompletingRebalance", "Stable", 1)
    return story


def test_what_happened_just_before_counts_and_not_what_others_did_before_that() -> None:
    story = _running()
    story.join(400, "m1", "b-1")
    story.add(999, "event", who="coordinator", member="b-1", body={"name": "expired", "line": "Member b-1 has failed", "marks": "DIAG-04"})
    _begun(story)
    found = rebalances_of(story.trace)[1]

    assert (found.cause, found.certainty, found.member) == (Cause.HEARTBEAT_TIMEOUT, Certainty.SEEN, "b-1")
    assert found.evidence[0].marks == "DIAG-04"


def test_a_member_that_leaves_after_a_poll_was_closed_and_one_without_a_poll_for_its_interval_was_stuck() -> None:
    for fetched_ms, cause in ((59_000, Cause.CLOSED), (4_000, Cause.POLL_INTERVAL)):
        story = _running()
        story.ask(fetched_ms, "Fetch", "m1", group=None)
        story.ask(60_999, "LeaveGroup", "m1", body={"members": ({"member_id": "b-1"},)})
        _begun(story, 61_000)

        assert rebalances_of(story.trace)[1].cause is cause


def test_a_join_that_came_before_the_last_one_was_over_is_known_by_the_generation_that_it_came_into() -> None:
    """As a request log tells it of a busy broker: it arrived long before it was taken up."""
    story = _running()
    early = story.join(5, "m2", version=2)
    _begun(story)
    story.joined(1_011, early, "c-1", 2, "a-1")
    story.trace.sort(key=lambda obs: obs.at_ns)

    assert [(rebalance.cause, rebalance.member) for rebalance in rebalances_of(story.trace)[1:]] == [(Cause.NEW_MEMBER, "c-1")]


def test_a_leave_of_which_nothing_else_is_known_is_either() -> None:
    story = _running()
    _begun(story, reason="removing member b-1 on LeaveGroup")
    found = rebalances_of(story.trace)[1]

    assert (found.cause, found.certainty, found.also) == (Cause.LEFT, Certainty.INFERRED, (Cause.POLL_INTERVAL, Cause.CLOSED))


def test_the_client_s_own_reason_decides() -> None:
    story = _running()
    _begun(story, reason="Removing member b-1 on LeaveGroup; client reason: consumer poll timeout has expired.")
    found = rebalances_of(story.trace)[1]

    assert (found.cause, found.certainty, found.client_reason) == (Cause.POLL_INTERVAL, Certainty.TOLD, "consumer poll timeout has expired")


def test_a_worker_that_was_lost_and_comes_again_has_returned() -> None:
    story = _running()
    lost, back = "m1-0dfaaeb3-2a54-4f7c-9c1b-1f6e0d6a5a11", "m1-11111111-2a54-4f7c-9c1b-1f6e0d6a5a11"
    _begun(story, 1_000, 1, f"removing member {lost} on heartbeat expiration")
    _begun(story, 2_000, 2, f"Adding new member {back}")
    _begun(story, 3_000, 3, f"Adding new member {back.replace('m1', 'm7')}")

    assert [rebalance.cause for rebalance in rebalances_of(story.trace)[1:]] == [Cause.HEARTBEAT_TIMEOUT, Cause.RETURNED, Cause.NEW_MEMBER]


def test_a_leader_that_rejoins_after_a_topic_grew_does_so_for_its_partitions() -> None:
    story = _running()
    for ms, count in ((500, 3), (990, 10)):
        story.answer(ms + 1, story.ask(ms, "Metadata", "m0", group=None), body={"topics": [{"name": "t", "partitions": count}]})
    _begun(story, reason="leader a-1 re-joining group during Stable")
    found = rebalances_of(story.trace)[1]

    assert (found.cause, found.certainty) == (Cause.PARTITIONS, Certainty.INFERRED)
    assert "t has 10 partitions, 3 before" in found.evidence[0].text


def test_a_topic_that_the_group_has_not_subscribed_to_explains_nothing() -> None:
    story = _running()
    for ms, count in ((500, 3), (990, 10)):
        story.answer(ms + 1, story.ask(ms, "Metadata", "m0", group=None), body={"topics": [{"name": "another", "partitions": count}]})
    _begun(story, reason="leader a-1 re-joining group during Stable")

    assert rebalances_of(story.trace)[1].cause is Cause.LEADER_REJOINED


def test_a_settled_group_that_moves_is_no_cause_by_itself() -> None:
    """DISC-10: the new coordinator loads the group as it was."""
    story = _running()
    story.add(500, "event", who="coordinator", node=1, body={"name": "loaded"})
    _begun(story, 60_000, 1, "adding new member c-1")

    assert rebalances_of(story.trace)[1].cause is Cause.NEW_MEMBER


def test_a_member_that_does_not_follow_its_coordinator_in_time_is_lost_by_the_move() -> None:
    story = _running()
    story.add(500, "event", who="coordinator", node=1, body={"name": "loaded"})
    _begun(story, 6_600, 1, "removing member b-1 on heartbeat expiration")
    found = rebalances_of(story.trace)[1]

    assert (found.cause, found.also) == (Cause.MOVED, (Cause.HEARTBEAT_TIMEOUT,))


def test_what_a_member_sent_tells_more_than_the_reason_that_it_gave() -> None:
    """The kit's own member gives one reason for both."""
    story = _running()
    story.join(999, "m1", "b-1", topics=("t", "u"))
    _begun(story, reason="updating metadata of member b-1; client reason: the subscription or its partitions changed")

    assert rebalances_of(story.trace)[1].cause is Cause.SUBSCRIPTION

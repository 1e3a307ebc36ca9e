"""What is wrong with a group: each sentence is there when it is true, and not when it is not."""

from __future__ import annotations

from tests.harness.judging.topic_history.stories import Story, member

from groupproof.harness.judging.diagnosis.causes import Cause
from groupproof.harness.judging.topic_history.group_health import FLAPS, STORM, GroupHealth, health_of


def _health(story: Story, at_s: float) -> GroupHealth:
    return health_of(story.group, round(at_s * 1_000))


def test_so_many_rebalances_in_ten_minutes_are_a_storm_and_one_less_is_none() -> None:
    story = Story()
    for number in range(1, STORM):
        story.generation(number, number, member("a-1"))
    assert not _health(story, 10).in_storm
    story.generation(9, STORM, member("a-1"))

    assert _health(story, 10).in_storm
    assert _health(story, 10).problems == [f"storm: {STORM} rebalances"]
    assert not _health(story, 700).in_storm
    assert _health(story, 700).causes == {Cause.LEADER_REJOINED: STORM - 1, Cause.FIRST_MEMBER: 1}
    assert _health(story, 5_000).recent == ()


def test_a_member_that_is_lost_again_and_again_flaps_and_keeps_nothing() -> None:
    story = Story()
    for turn in range(FLAPS):
        story.generation(100 * turn, 2 * turn + 1, member("a-1"), member(f"b-{turn}", (1,), host="/10.0.0.9"))
        story.generation(100 * turn + 30, 2 * turn + 2, member("a-1", (0, 1)))
    (flap,) = _health(story, 400).flapping

    assert (flap.name, flap.host, flap.times, flap.keeps_nothing) == ("b", "10.0.0.9", FLAPS, True)
    assert not health_of(story.group, 400_000, window_ms=150_000).flapping


def test_a_member_that_is_lost_often_and_stays_long_keeps_its_assignment() -> None:
    story = Story()
    for turn in range(FLAPS):
        story.generation(200 * turn, 2 * turn + 1, member("a-1"), member(f"b-{turn}", (1,)))
        story.generation(200 * turn + 90, 2 * turn + 2, member("a-1", (0, 1)))

    assert [flap.keeps_nothing for flap in _health(story, 600).flapping] == [False]


def test_a_partition_of_a_subscribed_topic_that_nobody_has_lacks_an_owner() -> None:
    story = Story()
    story.generation(0, 1, member("a-1", (0, 1)), member("b-1", (2,)))
    story.generation(1, 2, member("a-1", (0,)), member("b-1", (2,)))

    assert _health(story, 2).without_owner == (("t", 1),)
    assert health_of(story.group, 2_000, partition_counts={"t": 4, "other": 9}).without_owner == (("t", 1), ("t", 3))


def test_an_empty_group_has_no_partitions_to_own() -> None:
    story = Story()
    story.generation(0, 1, member("a-1", (0, 1)))
    story.generation(1, 2)

    assert _health(story, 2).without_owner == ()


def test_a_partition_that_the_others_have_left_behind_stands_still() -> None:
    story = Story()
    story.generation(0, 1, member("a-1", (0, 1)))
    story.commit(10, 0, 1)
    story.commit(900, 0)

    assert _health(story, 910).stalled == {("t", 1): 900_000}
    assert _health(story, 910).problems == ["1 partitions without a commit for 900 s"]


def test_where_all_commits_ended_nobody_may_have_had_anything_to_read() -> None:
    story = Story()
    story.generation(0, 1, member("a-1", (0, 1)))
    story.commit(10, 0, 1)

    assert _health(story, 2_000).is_healthy

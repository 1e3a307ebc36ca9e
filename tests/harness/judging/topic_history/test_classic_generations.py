"""Classic groups: what two generations' records say of the rebalance between them, what is certain in it, and what is only likely."""

from __future__ import annotations

from tests.harness.judging.topic_history.stories import Story, member

from groupproof.harness.judging.diagnosis.causes import Cause, Kind


def _settled(*, begins: int = 0) -> Story:
    story = Story(begins)
    story.generation(0, 1, member("a-1", (0, 1)), member("b-1", (2, 3)))
    return story


def test_a_member_that_joins_an_empty_group_is_its_cause_for_certain() -> None:
    story = Story()
    story.generation(0, 1, member("a-1"))

    assert (story.last.cause, story.last.is_certain, story.last.member) == (Cause.FIRST_MEMBER, True, story.group.members["a-1"])
    assert (story.group.state, story.group.generation, story.owned) == ("Stable", 1, {("t", 0): "a-1"})


def test_what_a_log_whose_beginning_is_gone_shows_first_has_no_cause() -> None:
    assert (_settled(begins=40).last.cause, _settled(begins=40).last.is_certain) == (Cause.UNREPORTED, False)


def test_after_generations_without_a_record_nothing_is_certain() -> None:
    story = Story()
    story.generation(0, 4, member("a-1"))

    assert (story.last.missing, story.last.is_certain) == (3, False)


def test_a_new_member_id_is_a_new_member_and_one_of_a_process_that_was_lost_has_returned() -> None:
    story = _settled()
    story.generation(10, 2, member("a-1", (0, 1)), member("b-1", (2,)), member("c-1", (3,)))
    assert (story.last.cause, story.last.member, story.last.is_certain) == (Cause.NEW_MEMBER, story.group.members["c-1"], False)

    story.generation(20, 3, member("a-1", (0, 1)), member("b-1", (2, 3)))
    story.generation(30, 4, member("a-1", (0, 1)), member("b-1", (2,)), member("c-2", (3,)))
    assert (story.last.cause, story.last.member) == (Cause.RETURNED, story.group.members["c-2"])


def test_a_member_with_commits_until_the_end_has_left_and_one_without_lost_its_session() -> None:
    for last_s, cause in ((19.0, Cause.LEFT), (5.0, Cause.HEARTBEAT_TIMEOUT)):
        story = _settled()
        story.commit(1, 0, 1, 2, 3)
        story.commit(last_s, 2, 3)
        story.generation(21, 2, member("a-1", (0, 1, 2, 3)), joined_s=20)

        assert (story.last.cause, story.last.kind, story.last.is_certain) == (cause, Kind.LOST, False)
        assert {Cause.LEFT, Cause.HEARTBEAT_TIMEOUT} - {cause} <= set(story.last.also)
        assert [departure.member.member for departure in story.group.departures] == ["b-1"]


def test_without_a_commit_of_its_partitions_a_loss_is_a_leave_that_may_be_anything() -> None:
    story = _settled()
    story.generation(20, 2, member("a-1", (0, 1, 2, 3)))

    assert (story.last.cause, story.last.is_certain) == (Cause.LEFT, False)
    assert Cause.HEARTBEAT_TIMEOUT in story.last.also


def test_a_crashed_process_that_comes_back_is_waited_for_and_returns() -> None:
    story = _settled()
    story.commit(1, 2)
    story.generation(25, 2, member("a-1", (0, 1)), member("b-2", (2, 3)), joined_s=24)

    assert (story.last.cause, story.last.member) == (Cause.RETURNED, story.group.members["b-2"])


def test_the_same_members_with_other_topics_changed_their_subscription() -> None:
    story = _settled()
    story.generation(10, 2, member("a-1", (0, 1)), member("b-1", (0,), topics=("u", "t")))

    assert (story.last.cause, story.last.member, story.last.changed) == (
        Cause.SUBSCRIPTION, story.group.members["b-1"], (story.group.members["b-1"],),
    )  # fmt: skip


def test_more_partitions_than_a_topic_ever_had_are_new_ones() -> None:
    story = _settled()
    story.generation(10, 2, member("a-1", (0, 1, 4)), member("b-1", (2, 3, 5)))

    assert story.last.cause is Cause.PARTITIONS


def test_partitions_that_were_withheld_in_the_generation_before_are_handed_over() -> None:
    story = _settled()
    story.generation(10, 2, member("a-1", (0,)), member("b-1", (2,)), member("c-1", ()), protocol="cooperative-sticky")
    story.generation(11, 3, member("a-1", (0,)), member("b-1", (2,)), member("c-1", (1, 3)), protocol="cooperative-sticky")

    assert [rebalance.cause for rebalance in story.group.rebalances] == [Cause.FIRST_MEMBER, Cause.NEW_MEMBER, Cause.HANDOVER]


def test_nothing_else_is_left_but_that_the_leader_joined_again() -> None:
    story = _settled()
    story.generation(10, 2, member("a-1", (0, 1)), member("b-1", (2, 3)))

    assert (story.last.cause, story.last.is_certain, story.last.also) == (Cause.LEADER_REJOINED, False, (Cause.METADATA, Cause.PARTITIONS))


def test_a_static_member_with_a_new_id_in_the_same_generation_cost_no_rebalance() -> None:
    story = Story()
    story.generation(0, 1, member("a-1", (0,), instance="i"), member("b-1", (1,)))
    story.generation(9, 1, member("a-2", (0,), instance="i"), member("b-1", (1,)))

    assert len(story.group.rebalances) == 1
    assert [(restart.instance, restart.member, restart.had_rebalance) for restart in story.group.restarts] == [("i", "a-2", False)]
    assert story.group.departures == []


def test_a_group_that_is_emptied_and_deleted_is_empty_and_then_dead() -> None:
    story = _settled()
    story.generation(5, 2)
    assert (story.group.state, story.last.kind, story.last.members) == ("Empty", Kind.LOST, 0)

    story.delete(6)
    assert story.group.state == "Dead"
    story.generation(7, 1, member("a-1"))
    assert (story.last.cause, story.group.state) == (Cause.FIRST_MEMBER, "Stable")


def test_the_sync_phase_is_reported_and_the_join_phase_is_not() -> None:
    story = _settled()
    story.generation(10, 2, member("a-1", (0, 1)), member("b-1", (2, 3)), joined_s=9.25)

    assert (story.last.joined_ms, story.last.lasted_ms) == (9_250, 750)


def test_the_record_of_a_new_group_is_no_rebalance() -> None:
    """Kafka 4 stores an empty group in generation 0 before its first member joins."""
    story = Story()
    story.generation(0, 0)
    story.generation(3, 1, member("a-1"))

    assert [(rebalance.cause, rebalance.is_certain) for rebalance in story.group.rebalances] == [(Cause.FIRST_MEMBER, True)]

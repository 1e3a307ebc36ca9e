"""Groups of the newer protocols: what was stored before an epoch is what it is for; why a member went is not told."""

from __future__ import annotations

import pytest
from tests.harness.judging.topic_history.stories import TOPIC_ID, Story

from groupproof.harness.judging.diagnosis.causes import Cause, Kind
from groupproof.harness.judging.topic_history.group_epochs import split_name


def _settled() -> Story:
    story = Story()
    story.history.name_topics({TOPIC_ID: "t"})
    story.epoch_member(0, "a-1")
    story.epoch(0, 1)
    story.target(0, 1)
    story.current(0, "a-1", 1, (0, 1))
    return story


def test_the_first_member_of_a_group_is_the_cause_of_its_first_epoch() -> None:
    story = _settled()

    assert (story.last.cause, story.last.is_certain, story.last.generation, story.group.state) == (Cause.FIRST_MEMBER, True, 1, "Stable")
    assert (story.owned, story.last.lasted_ms) == ({("t", 0): "a-1", ("t", 1): "a-1"}, 0)


def test_a_member_that_joins_is_the_cause_for_certain_and_the_epoch_lasts_until_all_have_come_to_it() -> None:
    story = _settled()
    story.epoch_member(10, "b-1")
    story.epoch(10, 2)
    assert story.group.state == "Assigning"
    story.target(10.5, 2)
    story.current(11, "a-1", 1, (0,), state=1)
    assert story.group.state == "Reconciling"
    story.current(12, "a-1", 2, (0,))
    story.current(14, "b-1", 2, (1,))

    assert (story.last.cause, story.last.is_certain, story.last.member) == (Cause.NEW_MEMBER, True, story.group.members["b-1"])
    assert (story.last.joined_ms, story.last.settled_ms, story.last.lasted_ms, story.group.state) == (10_500, 14_000, 4_000, "Stable")


def test_a_member_that_went_is_lost_for_certain_in_kind_alone() -> None:
    story = _settled()
    story.epoch_member(10, "b-1")
    story.epoch(10, 2)
    story.epoch_member(20, "b-1", is_gone=True)
    story.epoch(20, 3)

    assert (story.last.cause, story.last.kind, story.last.is_certain) == (Cause.LEFT, Kind.LOST, False)
    assert {Cause.HEARTBEAT_TIMEOUT, Cause.REVOCATION_TIMEOUT} <= set(story.last.also)


def test_another_subscription_and_another_hash_of_the_topics_are_distinguished() -> None:
    story = _settled()
    story.epoch_member(5, "a-1", topics=("t", "u"))
    story.epoch(5, 2)
    assert (story.last.cause, story.last.is_certain) == (Cause.SUBSCRIPTION, True)

    story.epoch(6, 3, metadata_hash=99)
    assert (story.last.cause, story.last.is_certain) == (Cause.PARTITIONS, True)


def test_up_to_4_0_the_topics_stand_in_a_record_of_their_own() -> None:
    story = _settled()
    topic = {"topic_id": TOPIC_ID, "topic_name": "renamed", "num_partitions": 4, "partition_metadata": ()}
    story.record(5, "ConsumerGroupPartitionMetadata", {}, {"topics": (topic,)})
    story.epoch(5, 2)
    story.current(6, "a-1", 2, (3,))

    assert (story.last.cause, story.last.is_certain, story.owned) == (Cause.PARTITIONS, True, {("renamed", 3): "a-1"})


def test_an_epoch_before_which_nothing_was_stored_has_no_cause() -> None:
    story = _settled()
    story.epoch(5, 2)

    assert (story.last.cause, story.last.is_certain) == (Cause.UNREPORTED, False)


def test_where_several_things_changed_nothing_is_certain() -> None:
    story = _settled()
    story.epoch_member(10, "b-1")
    story.epoch(10, 2)
    story.epoch_member(20, "b-1", is_gone=True)
    story.epoch_member(20, "c-1")
    story.epoch(20, 3)

    assert (story.last.cause, story.last.is_certain) == (Cause.NEW_MEMBER, False)


def test_a_static_member_that_is_back_costs_no_epoch() -> None:
    story = Story()
    story.epoch_member(0, "a-1", instance="i")
    story.epoch(0, 1)
    story.current(1, "a-1", -2)
    story.epoch_member(2, "a-1", is_gone=True)
    story.epoch_member(2, "a-2", instance="i")

    assert len(story.group.rebalances) == 1
    assert [(restart.instance, restart.had_rebalance) for restart in story.group.restarts] == [("i", False)]
    story.epoch_member(3, "b-1")
    story.epoch(3, 2)
    assert (story.last.cause, [joined.member for joined in story.last.joined], story.last.lost) == (Cause.NEW_MEMBER, ["b-1"], ())


def test_a_group_that_is_deleted_is_dead() -> None:
    story = _settled()
    story.epoch_member(5, "a-1", is_gone=True)
    story.epoch(5, 2)
    assert story.group.state == "Empty"
    story.record(6, "ConsumerGroupMetadata", {}, None)

    assert story.group.state == "Dead"


@pytest.mark.parametrize(
    ("record", "parts"),
    [
        ("ConsumerGroupMetadata", ("consumer", "Metadata")), ("ShareGroupMemberMetadata", ("share", "MemberMetadata")),
        ("StreamsGroupTopology", ("streams", "Topology")), ("GroupMetadata", None), ("OffsetCommit", None),
    ],
)  # fmt: skip
def test_a_record_belongs_to_the_protocol_that_it_is_named_after(record: str, parts: tuple[str, str] | None) -> None:
    assert split_name(record) == parts


def test_an_id_is_called_as_the_only_topic_that_is_left_for_it() -> None:
    story = Story()
    story.epoch_member(0, "a-1")
    story.epoch(0, 1)
    story.current(0, "a-1", 1, (0,))
    assert story.owned == {("t", 0): "a-1"}

    several = Story()
    several.epoch_member(0, "a-1", topics=("t", "u"))
    several.epoch(0, 1)
    several.current(0, "a-1", 1, (0,))
    assert several.owned == {(TOPIC_ID, 0): "a-1"}, "it may be either"

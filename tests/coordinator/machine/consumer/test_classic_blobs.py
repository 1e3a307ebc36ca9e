from __future__ import annotations

from groupproof.coordinator.machine.consumer.classic_blobs import assignment_of, partitions_by_id, share_in_bytes, subscription_of
from groupproof.coordinator.machine.members import Member
from groupproof.coordinator.machine.topics_image import TopicImage, TopicsImage
from groupproof.protocol.wire.subscription import Assignment, Subscription, decode_assignment, encode_assignment, encode_subscription

TOPICS = TopicsImage().changed_to({"t": TopicImage("id-t", 4), "u": TopicImage("id-u", 1)})


def _member(assignment: bytes) -> Member:
    return Member(
        member_id="m", group_instance_id=None, client_id="c", client_host="/h", session_timeout_ms=1, rebalance_timeout_ms=1, protocol_type="consumer",
        protocols=(), assignment=assignment,
    )  # fmt: skip


def test_bytes_that_end_before_a_field_of_their_version_are_no_subscription() -> None:
    whole = encode_subscription(Subscription(topics=("t",), version=1))

    assert subscription_of(whole) == Subscription(topics=("t",), version=1)
    assert subscription_of(encode_subscription(Subscription(topics=("t",), version=1, ends_before="owned partitions"))) is None
    assert subscription_of(b"\xff") is None


def test_an_assignment_with_user_data_is_lost_in_a_consumer_group_and_an_empty_one_is_not() -> None:
    assert assignment_of(_member(b"")) == Assignment()
    assert assignment_of(_member(encode_assignment(Assignment(partitions=(("t", 1),))))) == Assignment(partitions=(("t", 1),))
    assert assignment_of(_member(encode_assignment(Assignment(user_data=b"x")))) is None
    assert assignment_of(_member(b"\0")) is None


def test_partitions_of_a_topic_that_there_is_not_are_left_out() -> None:
    assert partitions_by_id((("t", 2), ("gone", 0), ("t", 0)), TOPICS) == {"id-t": (0, 2)}


def test_a_share_goes_there_and_back_in_the_version_that_the_metadata_begins_with() -> None:
    read = decode_assignment(share_in_bytes({"id-t": (3, 1), "id-gone": (0,)}, TOPICS, b"\0\2rest"))

    assert (read.version, read.partitions) == (2, (("t", 1), ("t", 3)))

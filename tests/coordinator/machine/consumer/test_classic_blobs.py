from __future__ import annotations

import pytest

from groupproof.coordinator.machine.consumer.classic_blobs import assignment_of, first_unreadable, partitions_by_id, share_in_bytes, subscription_of
from groupproof.coordinator.machine.group import Group
from groupproof.coordinator.machine.members import Member
from groupproof.coordinator.machine.topics_image import TopicImage, TopicsImage
from groupproof.protocol.wire.messages import JoinProtocol
from groupproof.protocol.wire.subscription import Assignment, Subscription, decode_assignment, encode_assignment, encode_subscription

TOPICS = TopicsImage().changed_to({"t": TopicImage("id-t", 4), "u": TopicImage("id-u", 1)})


def _member(assignment: bytes, member_id: str = "m", protocols: tuple[JoinProtocol, ...] = ()) -> Member:
    return Member(
        member_id=member_id, group_instance_id=None, client_id="c", client_host="/h", session_timeout_ms=1, rebalance_timeout_ms=1, protocol_type="consumer",
        protocols=protocols, assignment=assignment,
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


def _of_range(metadata: bytes) -> tuple[JoinProtocol, ...]:
    return (JoinProtocol(name="range", metadata=metadata),)


READABLE = _of_range(encode_subscription(Subscription(topics=("t",), version=1)))


@pytest.mark.parametrize("ids", [("B", "A"), ("A", "B")])
def test_of_two_members_that_cannot_be_read_the_one_that_a_hash_map_has_first_counts(ids: tuple[str, ...]) -> None:
    group = Group(group_id="g", since_ms=0, protocol_name="range")
    for member_id in ids:
        group.members.add(_member(b"", member_id, _of_range(b"\xff")))
    found = first_unreadable(group)

    assert found is not None
    assert found.member_id == "A"


@pytest.mark.parametrize(("protocols", "is_readable"), [(READABLE, True), ((), False)])
def test_a_member_without_the_chosen_protocol_cannot_be_read(protocols: tuple[JoinProtocol, ...], is_readable: bool) -> None:
    group = Group(group_id="g", since_ms=0, protocol_name="range")
    group.members.add(_member(b"", protocols=protocols))

    assert (first_unreadable(group) is None) is is_readable


def test_partitions_of_a_topic_that_there_is_not_are_left_out() -> None:
    assert partitions_by_id((("t", 2), ("gone", 0), ("t", 0)), TOPICS) == {"id-t": (0, 2)}


def test_a_share_goes_there_and_back_in_the_version_that_the_metadata_begins_with() -> None:
    read = decode_assignment(share_in_bytes({"id-t": (3, 1), "id-gone": (0,)}, TOPICS, b"\0\2rest"))

    assert (read.version, read.partitions) == (2, (("t", 1), ("t", 3)))

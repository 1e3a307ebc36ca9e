"""Which member a consumer drives, and how its messages become bodies and back."""

from __future__ import annotations

import random

from groupproof.clients.consumer.member_kinds import answer_of, member_of, plain_body
from groupproof.clients.member.consumer.epoch_member import EpochMember
from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.clients.member.member import Member
from groupproof.clients.member.policy import REFERENCE
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.consumer_messages import (
    ConsumerAssignment,
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from groupproof.protocol.wire.message_codec import read_response, write_request, write_response
from groupproof.protocol.wire.messages import FetchGroup, FetchTopic, HeartbeatRequest, OffsetFetchRequest


def test_the_protocol_names_the_member() -> None:
    kinds = {
        by_epochs: type(member_of(MemberSettings(group="g", topics=("t",), by_epochs=by_epochs), policy=REFERENCE, draw=random.Random(1).random))
        for by_epochs in (False, True)
    }
    assert kinds == {False: Member, True: EpochMember}


def test_requests_of_both_protocols_can_be_written() -> None:
    owned = (TopicPartitions(topic_id="6971e554-41f6-52eb-b5a6-7b370e856d5c", partitions=(0, 2)),)
    beat = plain_body(ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=3, topic_partitions=owned))
    fetch = plain_body(OffsetFetchRequest(groups=(FetchGroup(group_id="g", topics=(FetchTopic(name="t", partition_indexes=(0,)),), member_id="m"),)))
    assert write_request(Api.CONSUMER_GROUP_HEARTBEAT, 1, 1, "c", beat)
    assert write_request(Api.OFFSET_FETCH, 9, 1, "c", fetch)
    assert plain_body(HeartbeatRequest(group_id="g", generation_id=1, member_id="m"))["member_id"] == "m"


def test_the_answer_to_a_heartbeat_is_read_with_and_without_an_assignment() -> None:
    topics = ({"topic_id": "6971e554-41f6-52eb-b5a6-7b370e856d5c", "partitions": (0, 2)},)
    for assignment, expected in (
        (None, None),
        ({"topic_partitions": ()}, ConsumerAssignment()),
        ({"topic_partitions": topics}, ConsumerAssignment(topic_partitions=(TopicPartitions(**topics[0]),))),  # type: ignore[arg-type]  # plain values
    ):
        sent = {"member_id": "m", "member_epoch": 3, "heartbeat_interval_ms": 5000, "assignment": assignment}
        _, body = read_response(Api.CONSUMER_GROUP_HEARTBEAT, 1, write_response(Api.CONSUMER_GROUP_HEARTBEAT, 1, 1, sent))
        answer = answer_of(Api.CONSUMER_GROUP_HEARTBEAT, body)
        assert (answer.member_epoch, answer.assignment) == (3, expected)

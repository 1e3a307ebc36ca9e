from __future__ import annotations

from typing import Any

import pytest

from groupproof.protocol.wire import message_codec, message_conversion
from groupproof.protocol.wire.consumer_messages import (
    ConsumerAssignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    DescribedAssignment,
    DescribedConsumer,
    DescribedConsumerGroup,
    DescribedPartitions,
    TopicPartitions,
)

TOPIC = "00000000-0000-0000-0000-0000000000aa"
PAIRS = (
    (ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse),
    (ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse),
)
_GIVEN = ConsumerAssignment(topic_partitions=(TopicPartitions(topic_id=TOPIC, partitions=(1, 2)),))
_DESCRIBED = DescribedAssignment(topic_partitions=(DescribedPartitions(topic_id=TOPIC, topic_name="t", partitions=(1,)),))


@pytest.mark.parametrize(
    "answer",
    [
        ConsumerGroupHeartbeatResponse(error_code=110),
        ConsumerGroupHeartbeatResponse(member_id="m", member_epoch=3, heartbeat_interval_ms=5, assignment=ConsumerAssignment()),
        ConsumerGroupHeartbeatResponse(member_id="m", member_epoch=3, heartbeat_interval_ms=5, assignment=_GIVEN),
        ConsumerGroupDescribeResponse(
            groups=(DescribedConsumerGroup(group_id="g", members=(DescribedConsumer(member_id="m", assignment=_DESCRIBED),)),)
        ),
    ],
)
def test_an_answer_comes_back_as_it_went(answer: Any) -> None:
    with message_codec.read_as_messages(PAIRS):
        frame = message_codec.write_answer(answer, 1, 7)
        correlation, body = message_codec.read_response(answer.api, 1, frame[4:])

        assert (correlation, message_conversion.response_of(answer.api, body)) == (7, answer)
        assert message_codec.write_response(answer.api, 1, 7, message_conversion.body_of(answer)) == frame[4:]


@pytest.mark.parametrize("version", [0, 1])
def test_a_heartbeat_comes_as_a_message_and_tells_its_body(version: int) -> None:
    request: Any = ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="m", rebalance_timeout_ms=9, subscribed_topic_names=("t",), topic_partitions=_GIVEN.topic_partitions
    )
    with message_codec.read_as_messages(PAIRS):
        frame = message_codec.write_request(request.api, version, 1, "c", message_conversion.body_of(request))
        wire = message_codec.read_request(frame, is_for_machine=True)

        assert wire.message == request
        assert wire.body == message_conversion.body_of(request)

from __future__ import annotations

from groupproof.coordinator.machine.consumer.consumer_functions import CONSUMER_FUNCTIONS
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.wire.consumer_messages import ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest


def test_each_term_of_the_dialect_has_its_function_and_no_function_is_without_a_term() -> None:
    assert CONSUMER_FUNCTIONS.guards.keys() == set(CONSUMER.guards)
    assert CONSUMER_FUNCTIONS.answers.keys() == set(CONSUMER.answers)
    assert CONSUMER_FUNCTIONS.effects.keys() == set(CONSUMER.effects)


def test_the_requests_are_read_by_their_types() -> None:
    assert ConsumerGroupHeartbeatRequest in CONSUMER_FUNCTIONS.requests
    assert ConsumerGroupDescribeRequest in CONSUMER_FUNCTIONS.batches

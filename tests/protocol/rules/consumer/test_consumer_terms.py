from __future__ import annotations

from groupproof.protocol.rules.cells import NO_GROUP
from groupproof.protocol.rules.consumer.consumer_terms import STATE_SAYS, ConsumerAnswer, ConsumerEffect, ConsumerEvent, ConsumerGuard, ConsumerState


def test_each_state_has_a_sentence() -> None:
    assert STATE_SAYS.keys() == {NO_GROUP, *ConsumerState}
    assert [state.value for state in ConsumerState] == ["Empty", "Assigning", "Reconciling", "Stable", "Dead"]


def test_no_two_words_say_the_same() -> None:
    for words in (ConsumerGuard, ConsumerAnswer, ConsumerEffect, ConsumerEvent):
        assert len(words.__members__) == len(list(words)) == len({word.value for word in words})


def test_requests_have_kafkas_names() -> None:
    assert (ConsumerEvent.HEARTBEAT.value, ConsumerEvent.DESCRIBE.value) == ("ConsumerGroupHeartbeat", "ConsumerGroupDescribe")

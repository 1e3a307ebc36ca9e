from __future__ import annotations

import pytest

from groupproof.coordinator.machine.consumer.consumer_event import ConsumerGroupEvent, group_of
from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
from groupproof.coordinator.machine.coordinator_settings import Settings
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerEvent


def test_an_event_knows_its_group_and_no_member_before_the_first_step() -> None:
    group = ConsumerGroup(group_id="g")
    event = ConsumerGroupEvent(kind=ConsumerEvent.HEARTBEAT, now_ms=0, settings=Settings(), group_id="g", group=group)

    assert group_of(event) is group
    with pytest.raises(AssertionError, match="sets the member"):
        _ = event.consumer

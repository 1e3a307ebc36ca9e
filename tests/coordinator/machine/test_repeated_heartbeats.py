"""A machine that remembers how it answered a heartbeat does what one does that asks the table every time."""

from __future__ import annotations

from typing import Any

import pytest
from tests.coordinator.machine.twin_machines import STEPS, History, Settled

from groupproof.coordinator.machine.repeated_heartbeats import REMEMBERED_MAX
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.consumer_messages import ConsumerGroupHeartbeatRequest
from groupproof.protocol.wire.messages import HeartbeatRequest


@pytest.mark.parametrize("profile", ["kafka-4.0", "kafka-4.1", "kafka-4.4"])
def test_a_machine_that_remembers_does_what_one_does_that_asks_the_table(profile: str) -> None:
    answered: list[Any] = []
    for seed in range(6):
        history = History(profile, seed)
        history.run()
        answered += [answer for message, _, answer in history.twins.short if message in (HeartbeatRequest, ConsumerGroupHeartbeatRequest)]

    assert sum(answer is not None for answer in answered) > STEPS // 2, "few heartbeats repeat one another: the histories show nothing"


def test_a_member_that_names_anothers_instance_is_fenced_though_its_last_heartbeat_was_well() -> None:
    history = Settled()
    history.forms()
    history.forms()
    codes = []
    for name, instance_id in (("a", None), ("a", "i"), ("a", None), ("s", "i"), ("s", None)) * 2:
        asks = HeartbeatRequest(group_id="k", generation_id=history.generation, member_id=history.ids[name], group_instance_id=instance_id)
        codes.append(history.twins.ask(asks).error_code)
        history.twins.are_alike()

    assert codes == [ErrorCode.NONE, ErrorCode.FENCED_INSTANCE_ID, ErrorCode.NONE, ErrorCode.NONE, ErrorCode.NONE] * 2


def test_what_is_remembered_is_bounded() -> None:
    history = Settled()
    assert history.twins.keeping._repeats is not None
    remembered = history.twins.keeping._repeats._remembered
    words = remembered.pop("b")
    remembered.update((f"gone-{number}", words) for number in range(REMEMBERED_MAX - len(remembered)))
    assert len(remembered) == REMEMBERED_MAX
    history.beat_on(rounds=1)

    assert remembered.keys() == {"b"}

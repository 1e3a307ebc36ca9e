"""A machine that remembers how it answered a heartbeat does what one does that asks the table every time."""

from __future__ import annotations

from typing import Any

import pytest
from tests.coordinator.machine.twin_machines import STEPS, History, Settled

from groupproof.coordinator.machine.repeated_heartbeats import REMEMBERED_MAX, RepeatedHeartbeats
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.messages import HeartbeatRequest


@pytest.mark.parametrize("profile", ["kafka-4.0", "kafka-4.1", "kafka-4.4"])
def test_a_machine_that_remembers_does_what_one_does_that_asks_the_table(profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answered: list[Any] = []
    again = RepeatedHeartbeats._again

    def counted(*arguments: Any) -> Any:
        answered.append(again(*arguments))
        return answered[-1]

    monkeypatch.setattr(RepeatedHeartbeats, "_again", counted)
    for seed in range(6):
        History(profile, seed).run()

    assert sum(hasattr(words, "requirement") for words in answered) > STEPS // 2, "few heartbeats repeat one another: the histories show nothing"


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


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groupproof.coordinator.machine.repeated_heartbeats.REMEMBERED_MAX", 1)
    history = Settled()

    assert history.twins.keeping._repeats is not None
    assert len(history.twins.keeping._repeats._remembered) == 1 < REMEMBERED_MAX

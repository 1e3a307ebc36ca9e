from __future__ import annotations

import random

import pytest
from tests.harness.judging.oracle.recording import SETTINGS, Recording, bodied, changed

from groupproof.coordinator.machine.coordinator import Arrival, Coordinator, Output
from groupproof.harness.judging.oracle import findings_of
from groupproof.harness.judging.oracle.machine_step import ImpossibleChoice, answers_by_rule, followed, settings_of
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.messages import GroupRequest, LeaveGroupRequest


def broken(why: Exception) -> list[Output]:
    raise why


@pytest.mark.parametrize(
    ("why", "message"), [(AssertionError("instance i is there already"), "instance i is there already"), (KeyError(), "KeyError")]
)
def test_an_invariant_of_the_machine_that_a_broker_broke_is_reported_as_such(why: Exception, message: str) -> None:
    with pytest.raises(ImpossibleChoice, match=message):
        followed(broken, why)


def test_other_failures_stay_the_kit_s_own() -> None:
    with pytest.raises(ValueError, match="time went back"):
        followed(broken, ValueError("time went back"))


def test_a_step_that_can_be_made_is_made() -> None:
    assert followed(Coordinator(random=random.Random(1)).advance, 5) == []


def test_the_rules_say_what_they_answer() -> None:
    answers = answers_by_rule("kafka-4.1")

    assert answers["Heartbeat/Empty/stranger"] is ErrorCode.UNKNOWN_MEMBER_ID


def test_what_the_machine_cannot_follow_ends_the_reading_without_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    recording = Recording()
    recording.stable("a")
    recording.leave("a", label="the end of it")
    recording.wait(10)
    trace = recording.end()
    handle = Coordinator.handle

    def lawful(self: Coordinator, message: GroupRequest, arrival: Arrival, now_ms: int, *, fires: bool = True) -> list[Output]:
        if isinstance(message, LeaveGroupRequest):
            raise AssertionError("instance i is there already (JOIN-36)")
        return handle(self, message, arrival, now_ms, fires=fires)

    monkeypatch.setattr(Coordinator, "handle", lawful)

    (finding,) = findings_of(trace, profile="kafka-4.1", settings=SETTINGS)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.observed == "LeaveGroup of a (generation 1, Stable): after which the rules can't follow the broker any more."
    assert "instance i is there already (JOIN-36) (the end of it)" in finding.detail


@pytest.mark.parametrize(("profile", "breaks"), [("kafka-2.4", False), ("kafka-2.8", True), ("kafka-3.9", False)])
def test_from_2_5_on_a_broker_breaks_off_where_an_old_leader_s_list_names_an_instance(profile: str, breaks: bool) -> None:
    recording = Recording(profile)
    recording.stable("a", instance="i")
    recording.join("a", version=4, label="again")
    recording.wait(10)
    written = recording.end()
    found = findings_of(changed(written, "again", bodied(error_code=35, generation_id=-1)), profile=profile, settings=SETTINGS)

    assert findings_of(written, profile=profile, settings=SETTINGS) == []
    assert ["KAFKA-14422" in finding.detail for finding in found] == [breaks]
    assert [finding.verdict is Verdict.INCONCLUSIVE for finding in found] == [breaks]


def test_a_setting_that_no_rule_of_the_profile_asks_for_is_left_out() -> None:
    assert settings_of({"group.max.size": 3, "log.dirs": "/tmp"}, "kafka-4.4") == settings_of({"group.max.size": 3}, "kafka-4.4")
    assert settings_of({"group.max.size": 3}, "kafka-4.4").group_max_size == 3


def test_a_setting_of_another_dialect_than_the_profiles_is_left_out() -> None:
    assert settings_of({"group.consumer.max.size": 3}, "kafka-2.4") == settings_of({}, "kafka-2.4")

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.harness.judging.oracle.recording import SETTINGS, Recording, bodied, changed, in_order

from groupproof.coordinator.machine.coordinator import Arrival, Coordinator, Output
from groupproof.harness.judging.oracle import findings_of
from groupproof.harness.judging.oracle.machine_step import ImpossibleChoice, answers_by_rule, followed, settings_of
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.trace import Trace
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.messages import DescribeGroupsRequest, GroupRequest, LeaveGroupRequest


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


def judged_by_a_delay(
    recording: Recording, change: Callable[[Trace], Trace] = lambda trace: trace, delay_ms: int = 1_000
) -> list[tuple[str, Verdict]]:
    settings = {**SETTINGS, "group.initial.rebalance.delay.ms": delay_ms}
    found = findings_of(change(recording.end()), profile="kafka-4.1", settings=settings)
    return [(finding.requirement, finding.verdict) for finding in found]


@pytest.mark.parametrize("delay_ms", [0, 300, 1_000])
def test_an_initial_delay_that_ends_early_is_against_advice_only_and_the_group_goes_on(delay_ms: int) -> None:
    recording = Recording(settings={**SETTINGS, "group.initial.rebalance.delay.ms": delay_ms})
    recording.joined("a")
    recording.wait(2_000)
    recording.sync("a", "a")
    recording.wait(10)
    recording.beat("a", label="beat")
    recording.wait(10)
    early = [] if delay_ms == 1_000 else [("IDJ-02", Verdict.NON_STRICT)]

    assert judged_by_a_delay(recording) == early
    assert judged_by_a_delay(recording, lambda trace: changed(trace, "beat", bodied(error_code=22))) == [*early, ("TR-118", Verdict.FAILED)]


def test_an_answer_at_the_end_of_the_trace_shows_an_early_end_too() -> None:
    recording = Recording()
    recording.joined("a")
    recording.wait(10)

    assert judged_by_a_delay(recording) == [("IDJ-02", Verdict.NON_STRICT)]


@pytest.mark.parametrize(("delay_ms", "state"), [(0, "Empty"), (1_000, "PreparingRebalance")])
def test_a_group_that_everybody_leaves_within_its_delay_may_be_empty_before_the_delay_ends(delay_ms: int, state: str) -> None:
    recording = Recording(settings={**SETTINGS, "group.initial.rebalance.delay.ms": 1_000})
    recording.joined("a")
    recording.wait(10)
    recording.leave("a")
    recording.wait(10)
    recording.ask("x", DescribeGroupsRequest(groups=("g",)), version=1, label="describe")
    recording.wait(10)

    def described(trace: Trace) -> Trace:
        return changed(trace, "describe", lambda obs: replace(obs, body={"groups": ({**obs.body["groups"][0], "group_state": state},)}))

    assert judged_by_a_delay(recording, described) == ([] if state == "PreparingRebalance" else [("IDJ-02", Verdict.NON_STRICT)])


def test_a_phase_that_leaves_an_absent_member_out_is_no_early_end_of_a_delay() -> None:
    recording = Recording()
    recording.stable("a", "b")
    recording.join("a", label="alone")
    recording.wait(10)
    recording.leave("b")
    recording.wait(10)
    leaver = [obs.seq for obs in recording.end() if obs.detail == "LeaveGroup b"]

    def without_leaver(trace: Trace) -> Trace:
        return in_order(obs for obs in trace if obs.seq not in leaver)

    (found,) = judged_by_a_delay(recording, without_leaver, delay_ms=0)
    assert found[1] is Verdict.FAILED

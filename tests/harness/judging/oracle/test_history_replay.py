from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.harness.judging.oracle.recording import SETTINGS, Recording, bodied, changed, in_order

from groupproof.coordinator.machine.coordinator import Settings
from groupproof.harness.judging.oracle.exchanges import histories
from groupproof.harness.judging.oracle.history_replay import HistoryReplay
from groupproof.harness.judging.oracle.replay_result import ReplayResult, Turns
from groupproof.harness.judging.oracle.tolerance import Tolerance
from groupproof.protocol.trace import Observation, Trace


def walked(trace: Trace, turns: Turns | None = None, **settings: Any) -> ReplayResult:
    (history,) = histories(trace)
    named = {**SETTINGS, **{name.replace("_", "."): value for name, value in settings.items()}}
    return HistoryReplay(history, profile="kafka-4.1", settings=Settings.of(named), tolerance=Tolerance(), turns=turns or {}).go()


def forks(trace: Trace) -> dict[str, int]:
    return {branch.key[0]: branch.ways for branch in walked(trace).forks}


def divergence(trace: Trace, turns: Turns | None = None) -> str | None:
    found = walked(trace, turns).divergence
    return None if found is None else found.kind


def test_requests_that_are_under_way_together_may_be_processed_in_either_order() -> None:
    recording = Recording(latency_ms=3)
    recording.stable("a")
    recording.join("b", settles=False)
    recording.join("c", settles=False)
    recording.wait(20)

    assert forks(recording.end())["order"] == 2


def test_requests_that_were_made_sure_of_have_one_order() -> None:
    recording = Recording()
    recording.stable("a")
    recording.joined("b")
    recording.wait(20)
    recording.beat("a")

    assert "order" not in forks(recording.end())


@pytest.mark.parametrize(("wait_ms", "forked"), [(5_000, False), (5_980, True), (6_200, True), (6_900, False)])
def test_a_request_near_a_deadline_may_come_before_or_after_the_timer(wait_ms: int, forked: bool) -> None:
    recording = Recording(latency_ms=2)
    recording.stable("a")
    recording.wait(wait_ms)
    recording.beat("a")
    recording.wait(10)
    trace = recording.end()

    assert ("timer" in {branch.key[0] for branch in walked(trace).forks if branch.key[1] == 3}) is forked


def test_an_answer_that_a_late_timer_explains_is_legal_by_the_other_turn() -> None:
    prompt, late = Recording(), Recording(settings={**SETTINGS, "group.min.session.timeout.ms": 99})
    for recording, session_ms in ((prompt, 6_000), (late, 6_300)):
        recording.stable("a", session_ms=session_ms)
        recording.wait(6_100)
        recording.beat("a", label="beat")
        recording.wait(10)
    # The answer of a broker whose timer was late to a request that named the shorter session.
    requests = [obs for obs in prompt.end() if obs.kind != "response"]
    trace = in_order([*requests, *(obs for obs in late.end() if obs.kind == "response")])

    assert divergence(trace) == "other"
    (branch,) = [fork for fork in walked(trace).forks if fork.key[0] == "timer"]
    assert divergence(trace, {branch.key: 1}) is None


def test_a_request_whose_sender_hung_up_may_not_have_been_seen() -> None:
    recording = Recording()
    recording.stable("a")
    recording.joined("b")
    recording.close("b")
    recording.wait(10)
    recording.beat("a")
    recording.wait(10)
    trace = recording.end()
    (branch,) = [fork for fork in walked(trace).forks if fork.key[0] == "hung-up"]

    assert divergence(trace) is None
    assert divergence(trace, {branch.key: 1}) == "other"  # then the heartbeat would have been answered 0


def unanswered_before_a_move(quiet_ms: int, *, cut_after_ms: int) -> Trace:
    """Record a Heartbeat that gets no answer for `quiet_ms`; then the group moves, and its connection is cut some time after that."""
    recording = Recording()
    recording.stable("a")
    recording.beat("a", label="beat", settles=False)
    recording.wait(quiet_ms)
    recording.event("step", step="move_group")
    recording.wait(cut_after_ms)
    recording.close("a", by="broker")
    recording.event("moved", group="g", was=0, to=0)
    recording.wait(10)
    return [obs for obs in recording.end() if not (obs.kind == "response" and obs.detail == "beat")]


@pytest.mark.parametrize(("quiet_ms", "is_open"), [(100, True), (1_900, True), (2_100, False)])
def test_a_request_that_lay_long_before_a_quiet_broker_was_seen_though_the_coordinator_moves_later(quiet_ms: int, is_open: bool) -> None:
    trace = unanswered_before_a_move(quiet_ms, cut_after_ms=3_000)

    assert ("hung-up" in forks(trace)) is is_open


def test_a_move_excuses_no_request_that_was_never_answered_long_before() -> None:
    trace = unanswered_before_a_move(4_000, cut_after_ms=50)

    assert divergence(trace) == "missing"
    assert all(branch.key[0] != "hung-up" for branch in walked(trace).forks)


def test_what_comes_after_a_parked_request_is_not_processed() -> None:
    recording = Recording()
    recording.stable("a")
    recording.joined("b")
    recording.wait(5)
    recording.event("step")
    trace = recording.end()
    labels = [step.exchange.label for step in walked(trace).steps]
    recording.beat("b", label="behind")
    recording.wait(2_000)
    behind = [obs for obs in recording.end() if not (obs.kind == "response" and obs.detail == "behind")]

    assert [step.exchange.label for step in walked(behind).steps] == labels


def test_a_connection_that_the_broker_ends_instead_of_answering_is_reported() -> None:
    recording = Recording()
    recording.stable("a")
    recording.beat("a", label="beat")
    recording.wait(50)
    recording.close("a", by="broker")
    recording.wait(50)
    trace = [obs for obs in recording.end() if not (obs.kind == "response" and obs.detail == "beat")]

    assert divergence(trace) == "closed"


def test_a_move_answers_what_is_parked_and_keeps_the_stable_group() -> None:
    recording = Recording()
    recording.event("coordinator", group="g", node=0)
    recording.stable("a")
    recording.event("step", step="move_group")
    recording.wait(300)
    recording.event("moved", group="g", was=0, to=0)
    recording.wait(5)
    recording.beat("a", label="beat")
    recording.wait(10)
    found = walked(recording.end())

    assert found.divergence is None
    assert [moved.after.value for _, moved in found.transitions][-1] == "Dead"
    assert found.steps[-1].rule == "Heartbeat/Stable/alive"


@pytest.mark.parametrize(("gives_up_ms", "kind"), [(2_900, None), (3_900, "late")])
def test_what_is_parked_is_answered_until_the_move_is_done(gives_up_ms: int, kind: str | None) -> None:
    recording = Recording()
    recording.event("coordinator", group="g", node=0)
    recording.stable("a", "b")
    recording.join("a", label="parked")
    recording.wait(300)
    recording.event("step", step="move_group")
    recording.note("event", recording.now_ms + 3_000, who="kit", body={"name": "moved", "group": "g", "was": 0, "to": 1})
    recording.wait(gives_up_ms)
    recording.unload()
    recording.wait(200)
    recording.beat("b")
    recording.wait(10)

    assert divergence(recording.end()) == kind


@pytest.mark.requirement("FIND-08")
def test_a_broker_that_does_not_coordinate_the_group_says_so() -> None:
    recording = Recording()
    recording.event("coordinator", group="g", node=7)
    recording.stable("a")
    found = walked(recording.end())

    assert found.steps[0].rule == "JoinGroup/before/not-coordinator"
    assert found.divergence is not None


@pytest.mark.requirement("COMMIT-12")
def test_a_commit_to_a_partition_that_is_not_there_is_refused_for_it_alone() -> None:
    recording = Recording()
    recording.event("ground", topics={"t": 1})
    recording.stable("a")
    recording.commit("a")
    recording.wait(10)
    step = walked(recording.end()).steps[-1]

    assert step.expected is not None
    assert [partition["error_code"] for partition in step.expected["topics"][0]["partitions"]] == [0, 3]


def test_a_broker_may_refuse_a_commit_to_a_topic_that_goes_before_its_coordinator_learns_of_it() -> None:
    recording = Recording()
    recording.event("ground", topics={"t": 2}, topic_ids={"t": ("id-t", 2)})
    recording.stable("a")
    recording.event("step", step="delete_topic")
    recording.wait(2)
    recording.commit("a", label="commit")
    recording.wait(10)
    recording.event("topics", topics={"t": ("", 0)})
    refused = ({"name": "t", "partitions": tuple({"partition_index": index, "error_code": 3} for index in (0, 1))},)
    trace = changed(recording.end(), "commit", bodied(topics=refused))
    branches = {fork.key[0]: fork for fork in walked(trace).forks}

    assert (branches["topics"].ways, branches["cache"].ways, divergence(trace)) == (2, 2, "other")
    assert divergence(trace, {branches["cache"].key: 1}) is None
    assert divergence(trace, {branches["topics"].key: 1}) is None


def test_a_group_that_has_just_moved_may_be_refused_until_it_is_loaded() -> None:
    recording = Recording()
    recording.event("coordinator", group="g", node=0)
    recording.stable("a")
    recording.event("step", step="move_group")
    recording.wait(300)
    recording.event("moved", group="g", was=0, to=0)
    recording.commit("a", label="commit")
    recording.wait(20)
    refused = tuple({"name": "t", "partitions": tuple({"partition_index": index, "error_code": 14} for index in (0, 1))} for _ in range(1))
    found = walked(changed(recording.end(), "commit", bodied(topics=refused)))

    assert found.divergence is None
    assert found.steps[-1].rule == "OffsetCommit/before/loading"


@pytest.mark.parametrize("is_read", [False, True])
def test_questions_of_a_connection_that_nobody_reads_may_be_answered_at_any_time_before_their_answers(is_read: bool) -> None:
    recording = Recording()
    recording.stable("a")
    recording.commit("a", 1)
    recording.wait(20)
    if not is_read:
        recording.event("step", step="stop_reading")
    for number in range(6):
        recording.fetch("slow", label=f"fetch {number}")
        recording.wait(5)
    recording.commit("a", 2)
    recording.wait(3_000)
    trace = recording.end()
    for number in range(6):
        trace = changed(trace, f"fetch {number}", lambda obs: replace(obs, at_ns=obs.at_ns + 3_000_000_000))
    trace = changed(trace, "fetch 5", of_offset(2))
    trace = changed(trace, "fetch 4", of_offset(2))

    assert divergence(trace) == ("slow" if is_read else None)


def of_offset(offset: int) -> Callable[[Observation], Observation]:
    def change(obs: Observation) -> Observation:
        (group,) = obs.body["groups"]
        (topic,) = group["topics"]
        partitions = tuple({**partition, "committed_offset": offset} for partition in topic["partitions"])
        return replace(obs, body={**obs.body, "groups": ({**group, "topics": ({**topic, "partitions": partitions},)},)})

    return change


def test_an_empty_group_may_be_cleaned_up_before_any_request_where_that_is_done_often() -> None:
    recording = Recording()
    recording.stable("a")
    recording.leave("a")
    recording.wait(10)
    recording.join("b", member_id="nobody")
    recording.wait(10)
    often = walked(recording.end(), offsets_retention_check_interval_ms=1_000)

    assert "cleanup" in {branch.key[0] for branch in often.forks}
    assert "cleanup" not in forks(recording.end())  # every ten minutes: a broker that was started for the run has none

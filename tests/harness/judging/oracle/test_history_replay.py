from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.harness.judging.oracle.recording import SETTINGS, Recording, bodied, changed, in_order

from groupproof.coordinator.machine.coordinator import Settings
from groupproof.harness.judging.oracle.exchanges import histories
from groupproof.harness.judging.oracle.history_replay import Turns, Walk, Walked
from groupproof.harness.judging.oracle.tolerance import Tolerance
from groupproof.protocol.trace import Observation, Trace


def walked(trace: Trace, turns: Turns | None = None, **settings: Any) -> Walked:
    (history,) = histories(trace)
    named = {**SETTINGS, **{name.replace("_", "."): value for name, value in settings.items()}}
    return Walk(history, profile="kafka-4.1", settings=Settings.of(named), tolerance=Tolerance(), turns=turns or {}).go()


def forks(trace: Trace) -> dict[str, int]:
    return {fork.key[0]: fork.ways for fork in walked(trace).forks}


def divergence(trace: Trace, turns: Turns | None = None) -> str | None:
    met = walked(trace, turns).divergence
    return None if met is None else met.kind


def test_requests_that_are_under_way_together_may_be_taken_up_in_either_order() -> None:
    told = Recording(latency_ms=3)
    told.stable("a")
    told.join("b", settles=False)
    told.join("c", settles=False)
    told.wait(20)

    assert forks(told.end())["order"] == 2


def test_requests_that_were_made_sure_of_have_one_order() -> None:
    told = Recording()
    told.stable("a")
    told.joined("b")
    told.wait(20)
    told.beat("a")

    assert "order" not in forks(told.end())


@pytest.mark.parametrize(("wait_ms", "forked"), [(5_000, False), (5_980, True), (6_200, True), (6_900, False)])
def test_a_request_near_a_deadline_may_come_before_or_after_the_timer(wait_ms: int, forked: bool) -> None:
    told = Recording(latency_ms=2)
    told.stable("a")
    told.wait(wait_ms)
    told.beat("a")
    told.wait(10)
    trace = told.end()

    assert ("timer" in {fork.key[0] for fork in walked(trace).forks if fork.key[1] == 3}) is forked


def test_an_answer_that_a_late_timer_explains_is_legal_by_the_other_turn() -> None:
    prompt, late = Recording(), Recording(settings={**SETTINGS, "group.min.session.timeout.ms": 99})
    for told, session_ms in ((prompt, 6_000), (late, 6_300)):
        told.stable("a", session_ms=session_ms)
        told.wait(6_100)
        told.beat("a", label="beat")
        told.wait(10)
    # The answer of a broker whose timer was late to a request that named the shorter session.
    requests = [seen for seen in prompt.end() if seen.kind != "response"]
    trace = in_order([*requests, *(seen for seen in late.end() if seen.kind == "response")])

    assert divergence(trace) == "other"
    (fork,) = [fork for fork in walked(trace).forks if fork.key[0] == "timer"]
    assert divergence(trace, {fork.key: 1}) is None


def test_a_request_whose_sender_hung_up_may_not_have_been_seen() -> None:
    told = Recording()
    told.stable("a")
    told.joined("b")
    told.close("b")
    told.wait(10)
    told.beat("a")
    told.wait(10)
    trace = told.end()
    (fork,) = [fork for fork in walked(trace).forks if fork.key[0] == "hung-up"]

    assert divergence(trace) is None
    assert divergence(trace, {fork.key: 1}) == "other"  # then the heartbeat would have been answered 0


def test_what_stands_behind_a_parked_request_is_not_taken_up() -> None:
    told = Recording()
    told.stable("a")
    told.joined("b")
    told.wait(5)
    told.event("step")
    trace = told.end()
    labels = [step.exchange.label for step in walked(trace).steps]
    told.beat("b", label="behind")
    told.wait(2_000)
    behind = [seen for seen in told.end() if not (seen.kind == "response" and seen.detail == "behind")]

    assert [step.exchange.label for step in walked(behind).steps] == labels


def test_a_connection_that_the_broker_ends_instead_of_answering_is_told() -> None:
    told = Recording()
    told.stable("a")
    told.beat("a", label="beat")
    told.wait(50)
    told.close("a", by="broker")
    told.wait(50)
    trace = [seen for seen in told.end() if not (seen.kind == "response" and seen.detail == "beat")]

    assert divergence(trace) == "closed"


def test_a_move_answers_what_is_parked_and_keeps_the_stable_group() -> None:
    told = Recording()
    told.event("coordinator", group="g", node=0)
    told.stable("a")
    told.event("step", step="move_group")
    told.wait(300)
    told.event("moved", group="g", was=0, to=0)
    told.wait(5)
    told.beat("a", label="beat")
    told.wait(10)
    found = walked(told.end())

    assert found.divergence is None
    assert [moved.after.value for _, moved in found.transitions][-1] == "Dead"
    assert found.steps[-1].rule == "Heartbeat/Stable/alive"


@pytest.mark.requirement("FIND-08")
def test_a_broker_that_does_not_coordinate_the_group_says_so() -> None:
    told = Recording()
    told.event("coordinator", group="g", node=7)
    told.stable("a")
    found = walked(told.end())

    assert found.steps[0].rule == "JoinGroup/before/not-coordinator"
    assert found.divergence is not None


@pytest.mark.requirement("COMMIT-12")
def test_a_commit_to_a_partition_that_is_not_there_is_refused_for_it_alone() -> None:
    told = Recording()
    told.event("ground", topics={"t": 1})
    told.stable("a")
    told.commit("a")
    told.wait(10)
    step = walked(told.end()).steps[-1]

    assert step.expected is not None
    assert [each["error_code"] for each in step.expected["topics"][0]["partitions"]] == [0, 3]


def test_a_group_that_has_just_moved_may_be_refused_until_it_is_loaded() -> None:
    told = Recording()
    told.event("coordinator", group="g", node=0)
    told.stable("a")
    told.event("step", step="move_group")
    told.wait(300)
    told.event("moved", group="g", was=0, to=0)
    told.commit("a", label="commit")
    told.wait(20)
    refused = tuple({"name": "t", "partitions": tuple({"partition_index": index, "error_code": 14} for index in (0, 1))} for _ in range(1))
    found = walked(changed(told.end(), "commit", bodied(topics=refused)))

    assert found.divergence is None
    assert found.steps[-1].rule == "OffsetCommit/before/loading"


@pytest.mark.parametrize("is_read", [False, True])
def test_questions_of_a_connection_that_nobody_reads_may_be_answered_at_any_time_before_their_answers(is_read: bool) -> None:
    told = Recording()
    told.stable("a")
    told.commit("a", 1)
    told.wait(20)
    if not is_read:
        told.event("step", step="stop_reading")
    for number in range(6):
        told.fetch("slow", label=f"fetch {number}")
        told.wait(5)
    told.commit("a", 2)
    told.wait(3_000)
    trace = told.end()
    for number in range(6):
        trace = changed(trace, f"fetch {number}", lambda seen: replace(seen, at_ns=seen.at_ns + 3_000_000_000))
    trace = changed(trace, "fetch 5", of_offset(2))
    trace = changed(trace, "fetch 4", of_offset(2))

    assert divergence(trace) == ("late" if is_read else None)


def of_offset(offset: int) -> Callable[[Observation], Observation]:
    def change(seen: Observation) -> Observation:
        (group,) = seen.body["groups"]
        (topic,) = group["topics"]
        partitions = tuple({**each, "committed_offset": offset} for each in topic["partitions"])
        return replace(seen, body={**seen.body, "groups": ({**group, "topics": ({**topic, "partitions": partitions},)},)})

    return change


def test_an_empty_group_may_be_cleaned_up_before_any_request_where_that_is_done_often() -> None:
    told = Recording()
    told.stable("a")
    told.leave("a")
    told.wait(10)
    told.join("b", member_id="nobody")
    told.wait(10)
    often = walked(told.end(), offsets_retention_check_interval_ms=1_000)

    assert "cleanup" in {fork.key[0] for fork in often.forks}
    assert "cleanup" not in forks(told.end())  # every ten minutes: a broker that was started for the run has none

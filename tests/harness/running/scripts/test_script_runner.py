from __future__ import annotations

import pytest
from tests.harness.running.scripts.in_process import performed

from groupproof.harness.model.script import Ask, AwaitAnswer, AwaitClose, Cut, Group, MoveGroup, Pass, Raw, ReadAgain, Script, ScriptStep, StopReading
from groupproof.harness.model.script_builders import answered, beat, commit, fetch, join, joined, leave, stable, sync
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import read_request, read_response

FRAME_OF_2_GB = b"\x7f\xff\xff\xff"


def script(*steps: object, **options: object) -> Script:
    return Script(steps=tuple(steps), **options)  # type: ignore[arg-type] # keywords of Script


def answers(trace: Trace, label: str) -> list[Observation]:
    return [obs for obs in trace if obs.kind == "response" and obs.detail == label]


def kit(trace: Trace, name: str) -> list[Observation]:
    return [obs for obs in trace if obs.who == "kit" and obs.body["name"] == name]


def links(trace: Trace, name: str) -> list[Observation]:
    return [obs for obs in trace if obs.who == "link" and obs.body["name"] == name]


def steps_passed(trace: Trace) -> list[int]:
    return [obs.body["index"] for obs in kit(trace, "step")]


def test_a_group_is_led_to_stable_and_each_answer_is_in_the_trace() -> None:
    trace = performed(script(*stable("a", "b"), beat("a"), commit("b"), fetch("b"), leave("a")))

    by_name = {label: answers(trace, label)[-1].error for label in ("sync a", "sync b", "beat a", "commit b", "fetch b", "leave a")}
    assert by_name == dict.fromkeys(by_name, 0)
    assert {obs.generation for obs in trace if obs.kind == "response" and obs.api == "SyncGroup"} == {2}
    assert not kit(trace, "timeout")


def test_requests_and_answers_have_the_columns_of_a_clients_trace_and_their_frames() -> None:
    trace = performed(script(*stable("a"), beat("a")))

    request = next(obs for obs in trace if obs.kind == "request" and obs.detail == "beat a")
    (response,) = answers(trace, "beat a")
    assert (request.who, request.client, request.group) == ("member", "a", "groupproof-join-classic-x-1-g")
    assert (request.connection, request.correlation, request.node) == (response.connection, response.correlation, response.node)
    assert request.raw is not None
    assert response.raw is not None
    assert read_request(request.raw).body["member_id"] == request.member
    assert read_response(Api.HEARTBEAT, response.version or 0, response.raw)[1]["error_code"] == response.error


def test_a_request_that_is_parked_is_processed_before_the_next_is_sent() -> None:
    trace = performed(script(*stable("a"), *joined("b"), beat("a", code=27), join("a"), answered("join b")))

    assert [obs.error for obs in answers(trace, "beat a")] == [27]
    assert answers(trace, "join b")[0].error == 0
    assert not [obs for obs in trace if obs.client not in (None, "a", "b")]


@pytest.mark.parametrize("is_failed", [True, False])
@pytest.mark.parametrize("long", [Pass(ms=1_000), answered("join b", within_ms=4_000)])
def test_a_case_that_has_failed_already_is_not_waited_for(long: ScriptStep, is_failed: bool) -> None:
    asked: list[int] = []

    async def is_lost(trace: Trace) -> bool:
        asked.append(len(trace))
        return is_failed

    trace = performed(script(*stable("a"), Pass(ms=900), *joined("b"), long, beat("a", label="after")), is_lost=is_lost)

    assert len(asked) == 1
    assert bool(kit(trace, "lost")) == is_failed
    assert bool(answers(trace, "after")) != is_failed


def test_what_does_not_settle_is_followed_at_once() -> None:
    at = [
        next(
            obs.at_ms for obs in kit(performed(script(*stable("a"), *joined("b", settles=settles), Pass(ms=1))), "step") if obs.body["step"] == "pass"
        )
        for settles in (True, False)
    ]

    assert at[0] > at[1]


def test_an_answer_that_does_not_come_in_time_is_reported_and_the_script_continues() -> None:
    trace = performed(script(*stable("a"), *joined("b"), answered("join b", within_ms=50), beat("a"), Pass(ms=1)))

    (timeout,) = kit(trace, "timeout")
    assert timeout.body["waiting"] == "the answer to join b"
    assert steps_passed(trace)[-1] == len(steps_passed(trace)) - 1
    assert len(answers(trace, "beat a")) == 1


def test_the_steps_end_when_their_time_is_up() -> None:
    trace = performed(script(Pass(ms=5_000), Pass(ms=1)), steps_s=2.0)

    assert kit(trace, "timeout")[0].body["waiting"] == "the end of the steps, for 2 s in all"
    assert steps_passed(trace) == [0]
    assert trace[-1].at_ms == pytest.approx(2_000)


def test_a_connection_that_is_cut_is_opened_again_when_it_is_used_again() -> None:
    trace = performed(script(*stable("a"), Cut(connection="a"), beat("a")))

    assert [obs.body["by"] for obs in links(trace, "closed")] == ["client", "client"]
    assert len({obs.connection for obs in trace if obs.kind == "request"}) == 2
    assert answers(trace, "beat a")[0].error == 0


def test_bytes_that_are_no_request_go_out_as_they_are_and_the_end_they_bring_is_reported() -> None:
    trace = performed(script(Raw(connection="r", data=FRAME_OF_2_GB), AwaitClose(connection="r")))

    assert links(trace, "raw")[0].raw == FRAME_OF_2_GB
    assert links(trace, "closed")[0].body["by"] == "broker"
    assert not kit(trace, "timeout")


def test_a_connection_that_the_broker_leaves_open_is_reported() -> None:
    trace = performed(script(*stable("a"), AwaitClose(connection="a", within_ms=100)))

    assert kit(trace, "timeout")[0].body["waiting"] == "the broker to close connection a"


def test_an_answer_that_the_broker_owes_when_it_ends_the_connection_is_reported() -> None:
    trace = performed(
        script(*stable("a"), *joined("b"), Raw(connection="b", data=FRAME_OF_2_GB), Pass(ms=10), Cut(connection="b"), answered("join b"))
    )

    assert kit(trace, "unanswered")[0].body["label"] == "join b"
    assert links(trace, "closed")[0].body["owed"] == ["join b"]


def test_what_is_not_read_is_read_later() -> None:
    trace = performed(
        script(*stable("a"), StopReading(connection="a"), beat("a", wait=False), Pass(ms=500), ReadAgain(connection="a"), answered("beat a"))
    )

    (response,) = answers(trace, "beat a")
    request = next(obs for obs in trace if obs.kind == "request" and obs.detail == "beat a")
    assert response.at_ms - request.at_ms >= 500
    assert response.error == 0


def test_a_group_moves_to_another_broker_and_its_members_follow() -> None:
    steps = (*stable("a"), beat("a", label="before"), beat("a", to="other", over="b", label="elsewhere"), MoveGroup(), beat("a", label="after"))

    trace = performed(script(*steps, brokers=2))

    (moved,) = kit(trace, "moved")
    before, elsewhere, after = (answers(trace, label)[0] for label in ("before", "elsewhere", "after"))
    assert (before.node, elsewhere.node, after.node) == (moved.body["was"], moved.body["to"], moved.body["to"])
    assert (before.error, elsewhere.error, after.error) == (0, 16, 0)
    assert "broker" in {obs.body["by"] for obs in links(trace, "closed")}


def test_what_cannot_be_moved_stops_the_script_and_is_reported() -> None:
    trace = performed(script(*stable("a"), MoveGroup(), MoveGroup(), Pass(ms=1), brokers=2))

    assert [obs.body["setting"] for obs in kit(trace, "unmet")] == ["brokers"]
    assert not [obs for obs in kit(trace, "step") if obs.body["step"] == "pass"]


def test_a_script_that_wants_another_broker_where_there_is_one_alone_stops() -> None:
    trace = performed(script(*stable("a"), beat("a", to="other"), Pass(ms=1)))

    assert kit(trace, "unmet")[0].body["why"] == "a second broker, which this cluster does not have"
    assert not [obs for obs in kit(trace, "step") if obs.body["step"] == "pass"]


def test_a_version_that_the_broker_does_not_speak_stops_the_script_before_anything_is_sent() -> None:
    trace = performed(script(*stable("a"), beat("a", version=4)), profile="kafka-1.1")

    assert "Heartbeat v4 (its ApiVersions say v0 to v1)" in kit(trace, "unimplemented")[0].body["why"]
    assert not [obs for obs in trace if obs.kind == "request"]


def test_a_step_since_a_version_is_left_out_where_the_broker_is_older() -> None:
    old, new = (performed(script(*stable("a")), profile=profile) for profile in ("kafka-1.1", "kafka-4.1"))

    assert not answers(old, "id a")
    assert [obs.error for obs in answers(new, "id a")] == [79]
    assert answers(old, "sync a")[0].error == answers(new, "sync a")[0].error == 0


def test_groups_of_one_script_are_apart() -> None:
    trace = performed(script(*joined("a"), *joined("b", group_id=Group("h")), answered("join a"), answered("join b")))

    assert {obs.group for obs in trace if obs.group} == {"groupproof-join-classic-x-1-g", "groupproof-join-classic-x-1-h"}
    assert [answers(trace, f"join {name}")[0].generation for name in "ab"] == [1, 1]


def test_any_broker_is_asked_what_any_can_answer() -> None:
    ask = Ask(member="x", api=Api.FIND_COORDINATOR, fields={"coordinator_keys": (Group(),), "key_type": 0}, label="find", to="any")

    (response,) = answers(performed(script(ask)), "find")
    assert [coordinator["error_code"] for coordinator in response.body["coordinators"]] == [0]


def test_to_wait_for_what_was_never_asked_is_an_error_of_the_script() -> None:
    with pytest.raises(ExceptionGroup) as raised:
        performed(script(AwaitAnswer(label="join z")))

    assert raised.group_contains(ValueError, match="waits for 'join z', but it never sent that request")


def test_the_same_seed_gives_the_same_trace() -> None:
    steps = script(*stable("a", "b", "c"), leave("b"), sync("a"), commit("c"), Pass(ms=7_000))

    assert performed(steps, seed=3) == performed(steps, seed=3)

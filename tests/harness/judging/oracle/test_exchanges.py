from __future__ import annotations

from dataclasses import replace

from tests.harness.judging.oracle.recording import Recording, in_order

from groupproof.harness.judging.oracle.exchanges import histories
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.messages import FetchGroup, HeartbeatRequest, JoinGroupRequest, OffsetFetchRequest

BEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="x")


def test_a_request_behind_another_of_its_connection_is_processed_after_that_ones_answer() -> None:
    recording = Recording(latency_ms=7.0)
    recording.ask("a", BEAT)
    recording.wait(2)
    recording.ask("a", BEAT)
    recording.ask("b", BEAT)
    (history,) = histories(recording.end())

    assert [(exchange.client, exchange.ready_ms, exchange.is_behind) for exchange in history.exchanges] == [
        ("a", 0, False),
        ("b", 2, False),
        ("a", 7, False),
    ]


def test_a_connection_may_be_muted_for_as_long_as_answers_throttle() -> None:
    recording = Recording(latency_ms=7.0)
    recording.ask("a", BEAT)
    recording.wait(2)
    recording.ask("a", BEAT)
    recording.ask("b", BEAT)
    trace = recording.end()
    throttled = [replace(obs, body={**obs.body, "throttle_time_ms": 900}) if obs.kind == "response" and obs.client == "b" else obs for obs in trace]

    (plain,), (history,) = histories(trace), histories(throttled)

    assert {(exchange.latest_ms(50, 10), *exchange.uptakes_ms(early_ms=30, uptake_ms=150)) for exchange in plain.exchanges} == {
        (60, 0),
        (60, 2),
        (60, 7),
    }
    # The first request of a connection is throttled by no answer before it; brokers before 2.0 held its own back.
    assert [(exchange.client, exchange.muted_ms, exchange.throttle_ms) for exchange in history.exchanges] == [
        ("a", 0, 0),
        ("b", 0, 900),
        ("a", 900, 0),
    ]
    assert [exchange.uptakes_ms(early_ms=30, uptake_ms=150) for exchange in history.exchanges] == [[0], [2], [7, 907]]
    # What mutes a connection delays what is read then, and no timer of the group behind it.
    assert [exchange.latest_ms(50, 10) for exchange in history.exchanges] == [60, 960, 917]
    assert [exchange.latest_ms(20_000, 10) for exchange in history.exchanges] == [20_010, 20_910, 20_010]


def test_a_request_behind_one_that_is_never_answered_is_distinguished_from_the_others() -> None:
    recording = Recording()
    recording.stable("a")
    recording.joined("b")
    recording.beat("b")
    (history,) = histories(recording.end())

    assert [exchange.is_behind for exchange in history.exchanges][-2:] == [False, True]


def test_a_request_about_several_groups_is_a_part_of_each_of_their_histories() -> None:
    recording = Recording()
    recording.ask("a", OffsetFetchRequest(groups=(FetchGroup(group_id="g"), FetchGroup(group_id="h"))), version=8)
    recording.wait(2)
    found = {history.group: history.exchanges[0] for history in histories(recording.end())}

    assert set(found) == {"g", "h"}
    for group, exchange in found.items():
        assert isinstance(exchange.message, OffsetFetchRequest)
        assert [group.group_id for group in exchange.message.groups] == [group]
        assert exchange.answer is not None
        assert [group["group_id"] for group in exchange.answer["groups"]] == [group]


def test_a_request_is_read_as_its_version_says_it() -> None:
    recording = Recording()
    recording.join("a", instance="i", version=4)
    (history,) = histories(recording.end())
    message = history.exchanges[0].message

    assert isinstance(message, JoinGroupRequest)
    assert message.group_instance_id is None


def test_the_end_of_a_connection_and_who_ended_it_is_reported() -> None:
    recording = Recording()
    recording.ask("a", BEAT)
    recording.wait(30)
    recording.close("a", by="broker")
    recording.wait(30)
    recording.ask("b", BEAT)
    first, second = histories(recording.end())[0].exchanges

    assert (first.gone_ms, first.closed_by) == (30, "broker")
    assert (second.gone_ms, second.closed_by) == (61, None)


def test_a_move_begins_with_its_step_and_makes_later_requests_to_the_old_broker_stray() -> None:
    recording = Recording()
    recording.event("coordinator", group="g", node=0)
    recording.ask("a", BEAT)
    recording.wait(5)
    recording.event("step", step="move_group")
    recording.wait(100)
    recording.event("moved", group="g", was=0, to=1)
    recording.wait(5)
    recording.ask("a", BEAT)
    (history,) = histories(recording.end())

    assert [(move.begun_ms, move.done_ms) for move in history.moves] == [(5, 105)]
    assert [exchange.is_stray for exchange in history.exchanges] == [False, True]


def test_what_was_sure_to_be_processed_was_processed_by_then() -> None:
    recording = Recording()
    recording.stable("a")
    recording.joined("b")
    recording.wait(10)
    recording.join("c", settles=False)
    parked, unsettled = histories(recording.end())[0].exchanges[-2:]

    assert parked.taken_up_ms == parked.ready_ms + 2
    assert unsettled.settled_ms is None


def test_answers_due_while_nothing_is_read_have_no_time() -> None:
    recording = Recording()
    recording.ask("a", BEAT, label="before")
    recording.wait(5)
    recording.event("step", step="stop_reading")
    recording.ask("a", BEAT, label="unread")
    recording.wait(5)
    recording.event("step", step="read_again")
    recording.wait(5)
    recording.ask("a", BEAT, label="after")
    found = {exchange.label: exchange.is_unread for exchange in histories(recording.end())[0].exchanges}

    assert found == {"before": False, "unread": True, "after": False}


def test_only_requests_of_scripted_members_to_groups_are_read() -> None:
    other: Trace = [
        Observation(
            seq=0, at_ns=0, kind="request", who="coordinator", api="Heartbeat", version=3, connection=1, correlation=1, body={"group_id": "g"}
        ),
        Observation(seq=1, at_ns=1, kind="request", who="member", api=Api.METADATA.title, version=1, connection=1, correlation=2),
    ]

    assert histories(in_order(other)) == []
    assert histories([]) == []


def test_an_answer_after_the_end_was_not_received() -> None:
    recording = Recording()
    recording.ask("a", BEAT)
    recording.event("end")
    (history,) = histories(in_order(recording.trace))

    assert history.exchanges[0].answer is None


def test_a_request_lies_quietly_until_its_connection_is_gone_or_the_group_begins_to_move() -> None:
    recording = Recording()
    recording.event("coordinator", group="g", node=0)
    recording.ask("a", BEAT)
    recording.ask("b", BEAT)
    recording.wait(300)
    recording.close("a", by="broker")
    recording.wait(100)
    recording.event("step", step="move_group")
    recording.wait(200)
    recording.event("moved", group="g", was=0, to=0)
    recording.ask("c", BEAT)
    recording.wait(70)
    recording.close("c")
    (history,) = histories(recording.end())

    assert {exchange.client: history.quiet_ms(exchange) for exchange in history.exchanges} == {"a": 300, "b": 400, "c": 70}

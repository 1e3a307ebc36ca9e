from __future__ import annotations

from tests.harness.judging.oracle.recording import Recording, in_order

from groupproof.harness.judging.oracle.exchanges import histories
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.messages import FetchGroup, HeartbeatRequest, JoinGroupRequest, OffsetFetchRequest

BEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="x")


def test_a_request_behind_another_of_its_connection_is_taken_up_after_that_ones_answer() -> None:
    told = Recording(latency_ms=7.0)
    told.ask("a", BEAT)
    told.wait(2)
    told.ask("a", BEAT)
    told.ask("b", BEAT)
    (history,) = histories(told.end())

    assert [(each.client, each.ready_ms, each.is_behind) for each in history.exchanges] == [("a", 0, False), ("b", 2, False), ("a", 7, False)]


def test_a_request_behind_one_that_is_never_answered_is_told_from_the_others() -> None:
    told = Recording()
    told.stable("a")
    told.joined("b")
    told.beat("b")
    (history,) = histories(told.end())

    assert [each.is_behind for each in history.exchanges][-2:] == [False, True]


def test_a_request_about_several_groups_is_a_part_of_each_of_their_histories() -> None:
    told = Recording()
    told.ask("a", OffsetFetchRequest(groups=(FetchGroup(group_id="g"), FetchGroup(group_id="h"))), version=8)
    told.wait(2)
    found = {each.group: each.exchanges[0] for each in histories(told.end())}

    assert set(found) == {"g", "h"}
    for group, exchange in found.items():
        assert isinstance(exchange.message, OffsetFetchRequest)
        assert [each.group_id for each in exchange.message.groups] == [group]
        assert exchange.answer is not None
        assert [each["group_id"] for each in exchange.answer["groups"]] == [group]


def test_a_request_is_read_as_its_version_says_it() -> None:
    told = Recording()
    told.join("a", instance="i", version=4)
    (history,) = histories(told.end())
    message = history.exchanges[0].message

    assert isinstance(message, JoinGroupRequest)
    assert message.group_instance_id is None


def test_the_end_of_a_connection_and_who_ended_it_is_told() -> None:
    told = Recording()
    told.ask("a", BEAT)
    told.wait(30)
    told.close("a", by="broker")
    told.wait(30)
    told.ask("b", BEAT)
    first, second = histories(told.end())[0].exchanges

    assert (first.gone_ms, first.closed_by) == (30, "broker")
    assert (second.gone_ms, second.closed_by) == (61, None)


def test_a_move_begins_with_its_step_and_makes_later_requests_to_the_old_broker_stray() -> None:
    told = Recording()
    told.event("coordinator", group="g", node=0)
    told.ask("a", BEAT)
    told.wait(5)
    told.event("step", step="move_group")
    told.wait(100)
    told.event("moved", group="g", was=0, to=1)
    told.wait(5)
    told.ask("a", BEAT)
    (history,) = histories(told.end())

    assert [(each.begun_ms, each.done_ms) for each in history.moves] == [(5, 105)]
    assert [each.is_stray for each in history.exchanges] == [False, True]


def test_what_was_made_sure_to_be_taken_up_was_so_by_then() -> None:
    told = Recording()
    told.stable("a")
    told.joined("b")
    told.wait(10)
    told.join("c", settles=False)
    parked, unsettled = histories(told.end())[0].exchanges[-2:]

    assert parked.taken_up_ms == parked.ready_ms + 2
    assert unsettled.settled_ms is None


def test_answers_due_while_nothing_is_read_have_no_time() -> None:
    told = Recording()
    told.ask("a", BEAT, label="before")
    told.wait(5)
    told.event("step", step="stop_reading")
    told.ask("a", BEAT, label="unread")
    told.wait(5)
    told.event("step", step="read_again")
    told.wait(5)
    told.ask("a", BEAT, label="after")
    found = {each.label: each.is_unread for each in histories(told.end())[0].exchanges}

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


def test_what_is_answered_after_the_end_was_not_heard() -> None:
    told = Recording()
    told.ask("a", BEAT)
    told.event("end")
    (history,) = histories(in_order(told.trace))

    assert history.exchanges[0].answer is None

"""Heartbeats, the session and the poll deadline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groupproof.clients.member.policy import Override, Policy
from groupproof.clients.outputs import CallbackKind, Drop
from groupproof.protocol.rules.classic.member_reactions import Effect
from groupproof.protocol.vocabulary import Api, MemberState

if TYPE_CHECKING:
    from tests.clients.conftest import Bench

JOIN, SYNC, HEARTBEAT, FIND, LEAVE = Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.FIND_COORDINATOR, Api.LEAVE_GROUP


def beat(b: Bench, times: int, error: int = 0) -> None:
    for _ in range(times):
        b.answer_heartbeat(error)


@pytest.mark.requirement("CLIENT-40", "CLIENT-41")
def test_heartbeats_go_out_every_interval_without_any_poll(bench: type[Bench]) -> None:
    b = bench(max_poll_interval_ms=300_000)
    b.stable(0)
    beat(b, 60)

    assert b.times(HEARTBEAT) == [1000 * number for number in range(1, 61)]


@pytest.mark.requirement("CLIENT-41")
def test_an_unanswered_heartbeat_is_not_followed_by_another(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    b.advance(4000)

    assert b.times(HEARTBEAT) == [1000]


@pytest.mark.requirement("CLIENT-50", "CLIENT-41")
@pytest.mark.parametrize("error", [14, 30, -1, 9999])
def test_an_error_that_says_nothing_of_membership_is_reported_once_and_tried_again_after_the_backoff(bench: type[Bench], error: int) -> None:
    b = bench()
    b.stable(0)
    b.advance(1000)
    b.answer(HEARTBEAT, error)
    b.advance(100)
    b.answer(HEARTBEAT, error)
    b.advance(100)

    assert b.times(HEARTBEAT) == [1000, 1100, 1200]
    assert b.member.state is MemberState.STABLE
    assert [failure.fatal for failure in b.failures] == [False]


@pytest.mark.requirement("CLIENT-46", "CLIENT-44")
def test_the_news_of_a_rebalance_changes_nothing_until_the_next_poll(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    beat(b, 5, 27)

    assert (b.member.member_id, b.member.generation, b.member.state) == ("m-1", 1, MemberState.STABLE)
    b.poll()
    beat(b, 3, 27)  # while the application's callback runs
    b.called()
    b.poll()
    assert b.message(JOIN).member_id == "m-1"
    b.advance(10_000)
    assert b.count(HEARTBEAT) == 8


@pytest.mark.requirement("CLIENT-47", "CLIENT-48")
@pytest.mark.parametrize(("error", "member_id"), [(22, "m-1"), (25, "")])
def test_a_member_that_is_out_loses_its_partitions_and_joins_again(bench: type[Bench], error: int, member_id: str) -> None:
    b = bench()
    b.stable(0, 1)
    b.answer_heartbeat(error)
    b.advance(3000)
    assert b.count(HEARTBEAT) == 1
    b.poll()

    callback = b.called()
    assert (callback.kind, callback.partitions) == (CallbackKind.LOST, frozenset({("t", 0), ("t", 1)}))
    b.poll()
    assert b.callbacks == []
    assert b.message(JOIN).member_id == member_id


@pytest.mark.requirement("CLIENT-49", "CLIENT-04")
@pytest.mark.parametrize("error", [15, 16])
def test_a_coordinator_that_moved_is_looked_up_and_heartbeats_continue_there(bench: type[Bench], error: int) -> None:
    b = bench()
    b.stable(0)
    b.answer_heartbeat(error)
    assert b.sent[-1][1].api is FIND
    b.answer(FIND)
    b.advance(1000)

    assert b.sent[-1][1].api is HEARTBEAT
    assert (b.message(HEARTBEAT).member_id, b.message(HEARTBEAT).generation_id) == ("m-1", 1)
    assert b.count(JOIN) == 2


@pytest.mark.requirement("CLIENT-57")
def test_a_fenced_member_stops_and_reports_it_at_the_next_poll(bench: type[Bench]) -> None:
    b = bench(instance_id="i0")
    b.stable(0)
    b.answer_heartbeat(82)
    b.advance(10_000)
    assert b.count(HEARTBEAT) == 1
    assert b.failures == []

    b.poll()
    b.poll()
    assert [(failure.error, failure.fatal) for failure in b.failures] == [("FENCED_INSTANCE_ID", True)]
    assert b.count(JOIN) == 2


@pytest.mark.requirement("CLIENT-46", "CLIENT-48")
@pytest.mark.parametrize("error", [22, 25, 27, 82])
def test_an_answer_of_an_earlier_generation_is_ignored(bench: type[Bench], error: int) -> None:
    b = bench()
    b.stable(0)
    b.do(b.member.resubscribe(("t", "u"), b.now))
    b.advance(1000)
    b.poll()
    b.called()
    b.poll()
    b.rejoined(1, generation=2)
    b.answer(HEARTBEAT, error)
    b.advance(0, polling=True)

    assert (b.member.member_id, b.member.generation) == ("m-1", 2)
    assert b.member.is_settled
    assert b.failures == []


@pytest.mark.requirement("CLIENT-46")
@pytest.mark.parametrize("error", [22, 25, 27])
def test_an_answer_while_the_join_is_under_way_is_left_to_the_join(bench: type[Bench], error: int) -> None:
    b = bench()
    b.stable(0)
    b.do(b.member.resubscribe(("t", "u"), b.now))
    b.advance(1000)
    b.poll()
    b.called()
    b.poll()
    b.answer(HEARTBEAT, error)
    b.rejoined(1, generation=2)

    assert (b.member.member_id, b.member.generation) == ("m-1", 2)
    assert b.member.is_settled


def test_heartbeats_go_out_while_the_sync_is_parked_and_27_is_no_news_there(bench: type[Bench]) -> None:
    b = bench()
    b.syncing()
    beat(b, 3, 27)
    b.assigned(0)

    assert b.member.is_settled
    assert b.count(JOIN) == 2


def test_an_unknown_member_gets_unknown_member_id_while_its_sync_is_parked(bench: type[Bench]) -> None:
    b = bench()
    b.syncing()
    b.answer_heartbeat(25)
    b.poll()

    assert b.message(JOIN).member_id == ""


@pytest.mark.requirement("CLIENT-43")
def test_a_client_of_old_heartbeats_only_once_it_is_stable(bench: type[Bench]) -> None:
    b = bench(Policy(heartbeats="synced"))
    b.syncing()
    b.advance(5000)
    assert b.count(HEARTBEAT) == 0

    b.assigned(0)
    b.advance(1000)
    assert b.count(HEARTBEAT) == 1

    b.answer_heartbeat(27)
    b.poll()
    while b.callbacks:
        b.called()
    b.poll()
    assert b.waits(JOIN)
    before = b.count(HEARTBEAT)
    b.advance(5000)
    assert b.count(HEARTBEAT) == before, "from the sending of JoinGroup on"
    b.answer(JOIN, member_id="m-1", generation_id=2, leader="m-0", protocol_name=b.protocol)
    b.advance(2000)
    assert b.count(HEARTBEAT) == before, "until the answer to SyncGroup"


@pytest.mark.requirement("CLIENT-51", "CLIENT-45")
def test_a_session_without_an_answer_gives_up_the_coordinator_but_not_the_membership(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    beat(b, 2)  # the last good one at 2 s
    b.advance(5999)
    assert b.of(Drop) == []
    b.advance(1)

    assert len(b.of(Drop)) == 1
    assert b.sent[-1][1].api is FIND
    assert b.count(LEAVE) == 0
    b.answer(FIND)
    b.advance(1000)
    assert (b.message(HEARTBEAT).member_id, b.message(HEARTBEAT).generation_id) == ("m-1", 1)


@pytest.mark.requirement("CLIENT-52", "CLIENT-61")
def test_an_application_that_stopped_polling_leaves_and_joins_again_at_its_next_poll(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    beat(b, 29)
    assert b.count(LEAVE) == 0
    b.advance(1000)
    assert b.times(LEAVE) == [30_000]
    assert b.message(LEAVE).members[0].member_id == "m-1"
    b.answer(LEAVE)
    b.advance(5000)
    assert b.count(HEARTBEAT) == 29

    b.poll()
    assert b.called().kind is CallbackKind.LOST
    b.poll()
    assert b.message(JOIN).member_id == ""


@pytest.mark.requirement("CLIENT-52", "STATIC-15")
def test_a_static_member_that_stopped_polling_falls_silent_without_leaving(bench: type[Bench]) -> None:
    b = bench(instance_id="i0")
    b.stable(0)
    beat(b, 29)
    b.advance(10_000)

    assert b.count(LEAVE) == 0
    assert b.count(HEARTBEAT) == 29


@pytest.mark.requirement("CLIENT-54")
def test_of_two_deadlines_the_session_comes_first(bench: type[Bench]) -> None:
    b = bench(max_poll_interval_ms=6000)
    b.stable(0)
    b.advance(6000)

    assert len(b.of(Drop)) == 1
    assert b.count(LEAVE) == 0


def test_a_jittered_interval_stays_within_its_tenth(bench: type[Bench]) -> None:
    b = bench(Policy(heartbeat_jitter=0.1))
    b.stable(0)
    beat(b, 1)

    assert b.times(HEARTBEAT) == [1000]  # the draw of a bench is the middle


def test_an_eager_client_heartbeats_right_after_the_sync(bench: type[Bench]) -> None:
    b = bench(Policy(heartbeat_right_after_sync=True))
    b.stable(0)

    assert b.times(HEARTBEAT) == [0]


@pytest.mark.parametrize(("late_ms", "beats"), [(900, 2), (1100, 1)])
def test_a_client_whose_heartbeats_end_with_a_late_answer_sends_no_more(bench: type[Bench], late_ms: int, beats: int) -> None:
    b = bench(Policy(heartbeats="until-late"))
    b.stable(0)
    b.advance(1000, polling=True)
    b.advance(late_ms, polling=True)
    b.answer(HEARTBEAT)
    b.advance(2000, polling=True)

    assert b.count(HEARTBEAT) == beats


@pytest.mark.parametrize(("policy", "number"), [(Policy(), 6), (Policy(heartbeat_generation="first"), 5)])
def test_a_client_that_heartbeats_with_its_first_generation_keeps_it(bench: type[Bench], policy: Policy, number: int) -> None:
    b = bench(policy)
    b.stable(generation=5)
    beat(b, 1, 27)
    b.poll()
    b.called()
    b.poll()
    b.rejoined(generation=6)
    beat(b, 1)

    assert b.message(HEARTBEAT).generation_id == number


@pytest.mark.requirement("CLIENT-40")
def test_a_heartbeat_says_who_the_member_is(bench: type[Bench]) -> None:
    b = bench(instance_id="i0")
    b.stable(generation=3)
    beat(b, 1)

    request = b.message(HEARTBEAT)
    assert (request.group_id, request.generation_id, request.member_id, request.group_instance_id) == ("g", 3, "m-1", "i0")


def test_a_client_without_heartbeats_whose_session_is_over_waits_for_nothing(bench: type[Bench]) -> None:
    b = bench(Policy(heartbeats="never", poll_deadline_factor=None, looks_up=False))
    b.poll()
    b.answer(Api.JOIN_GROUP, member_id="m-1", generation_id=1, leader="m-0", protocol_name="range")
    b.assigned()
    b.advance(b.member.settings.session_timeout_ms)

    assert b.member.next_deadline_ms() is None


def test_a_client_without_a_heartbeat_task_heartbeats_from_its_polls(bench: type[Bench]) -> None:
    b = bench(Policy(heartbeats="polled"))
    b.stable(0)
    b.advance(1_500)
    assert b.times(HEARTBEAT) == []
    b.poll()
    b.poll()

    assert b.times(HEARTBEAT) == [1_500]
    b.answer(HEARTBEAT)
    b.advance(999)
    b.poll()
    assert b.times(HEARTBEAT) == [1_500]
    b.advance(1)
    b.poll()
    assert b.times(HEARTBEAT) == [1_500, 2_500]


@pytest.mark.parametrize(("partitions", "beats"), [((), 0), ((0,), 1)])
def test_a_client_that_heartbeats_for_its_partitions_alone_sends_none_without_any(
    bench: type[Bench], partitions: tuple[int, ...], beats: int
) -> None:
    b = bench(Policy(heartbeats="owning"))
    b.stable(*partitions)
    b.advance(1_000)

    assert b.count(HEARTBEAT) == beats


def test_a_client_that_stops_at_the_news_of_a_rebalance_sends_no_further_heartbeat(bench: type[Bench]) -> None:
    b = bench(Policy(overrides=(Override(api=HEARTBEAT, answers=(27,), effects=(Effect.HALT,)),)))
    b.stable(0)
    beat(b, 1, 27)
    b.advance(3_000)

    assert b.times(HEARTBEAT) == [1_000]


def test_an_answer_to_a_heartbeat_gives_nothing_back_to_who_has_asked_for_no_rebalance(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    b.member._core.owned = frozenset()
    b.advance(1_000)
    b.answer(HEARTBEAT)
    b.poll()

    assert b.callbacks == []


@pytest.mark.parametrize(("decides", "errors", "rejoins"), [(False, (27, 0), True), (True, (27, 0), False), (True, (0, 27), True)])
def test_a_client_that_goes_by_the_newest_heartbeat_joins_again_only_if_that_names_the_rebalance(
    bench: type[Bench], decides: bool, errors: tuple[int, int], rejoins: bool
) -> None:
    b = bench(Policy(newest_heartbeat_decides=decides))
    b.stable(0)
    for error in errors:
        beat(b, 1, error)
    b.poll()

    assert bool(b.callbacks) is rejoins

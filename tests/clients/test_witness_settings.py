"""Witnesses of the member's settings: Kafka's numbers, and what they do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groupproof.clients.assignors.range_and_roundrobin import ASSIGNORS
from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.clients.outputs import CloseResult
from groupproof.protocol.vocabulary import Api

if TYPE_CHECKING:
    from tests.clients.conftest import Bench

JOIN, HEARTBEAT, FIND, LEAVE, COMMIT = Api.JOIN_GROUP, Api.HEARTBEAT, Api.FIND_COORDINATOR, Api.LEAVE_GROUP, Api.OFFSET_COMMIT


@pytest.mark.requirement("ASSIGN-05", "TIMER-26")
def test_kafka_s_assignors_are_there_and_range_is_the_default() -> None:
    assert {"range", "roundrobin", "sticky"} <= set(ASSIGNORS)
    assert MemberSettings(group="g", topics=("t",)).assignors == ("range",)


@pytest.mark.requirement("TIMER-06")
def test_heartbeats_go_out_every_three_seconds_by_default(bench: type[Bench]) -> None:
    defaults = MemberSettings(group="g", topics=("t",))
    assert defaults.heartbeat_interval_ms < defaults.session_timeout_ms
    b = bench(heartbeat_interval_ms=defaults.heartbeat_interval_ms, session_timeout_ms=defaults.session_timeout_ms)
    b.stable(0)
    for _ in range(3):
        b.answer_heartbeat()

    assert b.times(HEARTBEAT) == [3_000, 6_000, 9_000]


@pytest.mark.requirement("TIMER-02")
def test_the_poll_deadline_is_five_minutes_by_default_and_sent_as_the_rebalance_timeout(bench: type[Bench]) -> None:
    defaults = MemberSettings(group="g", topics=("t",))
    b = bench(max_poll_interval_ms=defaults.max_poll_interval_ms, session_timeout_ms=400_000, heartbeat_interval_ms=350_000)
    b.stable(0)
    assert b.message(JOIN).rebalance_timeout_ms == 300_000

    b.advance(299_999)
    assert b.count(LEAVE) == 0
    b.advance(1)
    assert b.count(LEAVE) == 1


@pytest.mark.requirement("TIMER-07")
def test_a_failed_heartbeat_is_followed_after_a_hundred_milliseconds(bench: type[Bench]) -> None:
    assert MemberSettings(group="g", topics=("t",)).retry_backoff_ms == 100
    b = bench()
    b.stable(0)
    b.answer_heartbeat(14)
    b.advance(100)

    assert b.times(HEARTBEAT) == [1_000, 1_100]


@pytest.mark.requirement("TIMER-10")
def test_a_request_is_waited_for_thirty_seconds_and_a_parked_join_for_longer(bench: type[Bench]) -> None:
    assert MemberSettings(group="g", topics=("t",)).request_timeout_ms == 30_000
    b = bench(session_timeout_ms=600_000, heartbeat_interval_ms=500_000, max_poll_interval_ms=300_000)
    b.joining()
    b.advance(200_000)
    b.poll()
    b.answer(JOIN, member_id="m-1", generation_id=1, leader="m-0", protocol_name="range")
    b.advance(29_999)
    assert b.member.state.value == "COMPLETING_REBALANCE"

    b.advance(1)
    assert b.member.state.value == "UNJOINED"


@pytest.mark.requirement("TIMER-11")
def test_a_join_is_given_up_five_seconds_after_the_rebalance_timeout(bench: type[Bench]) -> None:
    b = bench(max_poll_interval_ms=60_000)
    b.joining()
    b.advance(64_999)
    assert b.member.state.value == "PREPARING_REBALANCE"
    assert b.count(FIND) == 1

    b.advance(1)
    assert b.member.state.value == "UNJOINED"
    assert b.count(FIND) == 2


@pytest.mark.requirement("TIMER-17")
def test_what_was_read_is_committed_every_five_seconds_by_default(bench: type[Bench]) -> None:
    assert MemberSettings(group="g", topics=("t",)).auto_commit_interval_ms == 5_000
    b = bench(auto_commit=True, session_timeout_ms=60_000, heartbeat_interval_ms=50_000)
    b.stable(0)
    b.positions = {("t", 0): 7}
    for _ in range(11):
        b.advance(1_000)
        b.poll()
        if b.waits(COMMIT):
            b.answer(COMMIT)

    assert b.times(COMMIT) == [5_000, 10_000]


@pytest.mark.requirement("TIMER-42")
def test_a_close_waits_thirty_seconds_for_its_leave_and_no_longer(bench: type[Bench]) -> None:
    b = bench(close_timeout_ms=30_000)
    b.stable()
    b.do(b.member.close(b.now))
    assert b.waits(LEAVE)
    b.advance(29_999)
    b.do(b.member.tick(b.now))
    assert b.of(CloseResult) == []
    b.advance(1)
    assert b.of(CloseResult) == [CloseResult(closed=True)]

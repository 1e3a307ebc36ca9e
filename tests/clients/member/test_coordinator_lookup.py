"""Finding the coordinator."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from groupproof.clients.outputs import Drop, Node
from groupproof.clients.planted.member_variants import variant_named
from groupproof.protocol.vocabulary import Api

if TYPE_CHECKING:
    from tests.clients.conftest import Bench

FIND, JOIN, HEARTBEAT = Api.FIND_COORDINATOR, Api.JOIN_GROUP, Api.HEARTBEAT


@pytest.mark.requirement("CLIENT-01", "CLIENT-02")
def test_the_lookup_comes_first_and_alone(bench: type[Bench]) -> None:
    b = bench()
    for _ in range(5):
        b.poll()
        b.do(b.member.tick(b.now))

    assert [message.api for _, message in b.sent] == [FIND]
    assert b.waiting[0].to is None
    b.answer(FIND)
    b.poll()
    assert b.waiting[0].to == Node(node_id=1, host="broker-1", port=9092)


@pytest.mark.requirement("CLIENT-06")
@pytest.mark.parametrize("error", [15, 14, 7, None])
def test_a_fruitless_lookup_is_repeated_with_growing_pauses(bench: type[Bench], error: int | None) -> None:
    b = bench()
    b.poll()
    for _ in range(6):
        b.lose(FIND) if error is None else b.answer(FIND, error)
        b.advance(1000)

    times = b.times(FIND)
    assert [later - earlier for earlier, later in pairwise([0, 100])] == [times[1] - times[0]]
    assert times[1] == 100
    assert all(later - earlier >= 100 for earlier, later in pairwise(times))


@pytest.mark.requirement("CLIENT-06")
@pytest.mark.parametrize("error", [30, 24, 9999])
def test_a_lookup_that_cannot_succeed_is_raised(bench: type[Bench], error: int) -> None:
    b = bench()
    b.poll()
    b.answer(FIND, error)
    b.advance(10_000, polling=True)

    assert b.count(FIND) == 1
    assert [failure.fatal for failure in b.failures] == [True]


def test_a_lookup_without_an_answer_is_given_up_with_its_connection(bench: type[Bench]) -> None:
    b = bench(request_timeout_ms=2000)
    b.poll()
    b.advance(2000)

    assert b.of(Drop) == [Drop(to=None)]
    b.advance(100)
    assert b.times(FIND) == [0, 2100]


@pytest.mark.requirement("CLIENT-05", "CLIENT-03")
def test_a_lost_connection_is_a_lost_coordinator_and_a_rebalance_is_not(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    b.answer_heartbeat(27)
    b.poll()
    b.called()
    b.poll()
    assert b.count(FIND) == 1

    b.rejoined(0, generation=2)
    coordinator = b.member.coordinator
    assert coordinator is not None
    b.do(b.member.disconnected(coordinator, b.now))
    assert b.count(FIND) == 2


def test_a_connection_to_another_broker_is_no_loss(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    b.do(b.member.disconnected(Node(node_id=0, host="broker-0", port=9092), b.now))

    assert b.count(FIND) == 1


@pytest.mark.requirement("CLIENT-06")
def test_a_coordinator_that_never_answers_well_is_not_looked_up_in_a_storm(bench: type[Bench]) -> None:
    b = bench()
    b.poll()
    for _ in range(300):
        if b.waits(FIND):
            b.answer(FIND)
        b.poll()
        if b.waits(JOIN):
            b.answer(JOIN, 16)
        b.advance(10)

    assert b.count(FIND) <= 10


@pytest.mark.requirement("CLIENT-07")
def test_the_member_continues_at_the_new_coordinator(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    b.answer_heartbeat(16)
    b.answer(FIND, coordinators=(b.other_node,))
    b.advance(1000)

    heartbeat = b.take(HEARTBEAT)
    assert heartbeat.to == Node(node_id=0, host="broker-0", port=9092)


def test_an_empty_answer_finds_nothing(bench: type[Bench]) -> None:
    b = bench()
    b.poll()
    b.answer(FIND, coordinators=())

    assert b.member.coordinator is None
    b.advance(100)
    assert b.count(FIND) == 2


def test_a_client_that_waits_on_after_a_failed_lookup_never_asks_again(bench: type[Bench]) -> None:
    b = bench(variant_named("falls-silent-on-lookup-errors").policy)
    b.poll()
    b.answer(FIND, 24)
    b.advance(20_000, polling=True)

    assert b.count(FIND) == 1
    assert b.failures == []


def test_a_coordinator_lost_before_it_said_anything_is_looked_up_after_one_pause(bench: type[Bench]) -> None:
    b = bench()
    b.poll()
    b.answer(FIND)
    b.poll()
    b.lose(JOIN)
    b.advance(100)

    assert b.times(FIND) == [0, 100]


def test_the_session_restarts_when_the_coordinator_was_found(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    b.advance(b.member.settings.session_timeout_ms, polling=True)
    b.answer(FIND)
    b.advance(b.member.settings.session_timeout_ms + 100, polling=True)

    assert b.times(FIND) == [0, 6000, 12_100]  # the pause after a coordinator that said nothing

"""A member at rest: its heartbeat goes out and is answered as by the long way, and whatever else there is to do ends the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from groupproof.clients.member.policy import Policy
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.messages import Coordinator, HeartbeatResponse

if TYPE_CHECKING:
    from tests.clients.conftest import Bench

ANSWER = HeartbeatResponse()
HEARTBEAT, COMMIT = Api.HEARTBEAT, Api.OFFSET_COMMIT
FOUND = Coordinator(key="g", node_id=1, host="broker-1", port=9092)


def rested(bench: type[Bench], **settings: Any) -> Bench:
    """Return a member that has had one heartbeat answered, and another is due."""
    b = bench(**settings)
    b.stable(0)
    b.answer_heartbeat()
    b.now += 1_000
    return b


def test_a_member_at_rest_sends_the_same_heartbeat_as_with_a_tick(bench: type[Bench]) -> None:
    short, long = rested(bench), rested(bench)
    resting = short.member.resting
    assert resting is not None
    assert resting.until_ms(short.now) == short.now + 1_000

    request_id = resting.beat(short.now)
    long.do(long.member.tick(long.now))
    sent = long.take(HEARTBEAT)

    assert (request_id, resting.message, resting.node_id) == (sent.request_id, sent.message, sent.to.node_id if sent.to else None)
    assert short.member.next_deadline_ms() == long.member.next_deadline_ms()
    assert resting.answered(request_id, ANSWER, short.now + 5)
    assert short.member.next_deadline_ms() == short.now + 1_000


def test_nothing_is_done_before_a_heartbeat_is_due_or_while_one_is_in_flight(bench: type[Bench]) -> None:
    b = rested(bench)
    resting = b.member.resting
    assert resting is not None

    assert resting.until_ms(b.now - 1) == 0
    assert resting.until_ms(b.now)
    resting.beat(b.now)
    assert resting.until_ms(b.now + 1_000) == 0


def test_the_session_and_the_poll_interval_end_a_rest(bench: type[Bench]) -> None:
    for settings, ends_ms in (({"session_timeout_ms": 1_500}, 1_500), ({"max_poll_interval_ms": 2_700}, 1_700)):
        b = rested(bench, **settings)
        resting = b.member.resting
        assert resting is not None

        until_ms = resting.until_ms(b.now)

        assert 0 < until_ms - b.now < 1_000
        assert until_ms - b.now < ends_ms
        assert resting.until_ms(until_ms) == 0


def test_every_incoming_event_ends_the_rest_and_the_answer_goes_the_long_way(bench: type[Bench]) -> None:
    b = rested(bench)
    resting = b.member.resting
    assert resting is not None
    assert resting.until_ms(b.now)
    request_id = resting.beat(b.now)

    b.poll()

    assert resting.message is None
    assert not resting.answered(request_id, ANSWER, b.now)


@pytest.mark.parametrize("error", [14, -1])
def test_a_member_that_got_an_error_does_not_rest_before_an_answer_without_one(bench: type[Bench], error: int) -> None:
    b = rested(bench)
    b.do(b.member.tick(b.now))
    b.answer(HEARTBEAT, error)
    b.now += 1_000
    resting = b.member.resting
    assert resting is not None

    assert resting.until_ms(b.now) == 0


def test_a_member_that_commits_does_not_rest(bench: type[Bench]) -> None:
    b = rested(bench)
    b.do(b.member.commit("c", {("t", 0): 5}, b.now, is_sync=True))
    resting = b.member.resting
    assert resting is not None

    assert resting.until_ms(b.now) == 0
    b.answer(COMMIT, 14)
    assert resting.until_ms(b.now) == 0


def test_a_variant_never_rests(bench: type[Bench]) -> None:
    b = rested(bench, policy=Policy(heartbeats="joined"))
    resting = b.member.resting
    assert resting is not None

    assert resting.until_ms(b.now) == 0


def until_ms(b: Bench) -> int:
    resting = b.member.resting
    assert resting is not None
    return resting.until_ms(b.now)


def test_a_request_that_lapses_before_the_next_heartbeat_is_looked_for_in_time(bench: type[Bench]) -> None:
    b = rested(bench, request_timeout_ms=400)

    assert until_ms(b) == b.now + 400


def test_an_answer_goes_the_long_way_if_it_belongs_to_another_or_something_is_due_by_then(bench: type[Bench]) -> None:
    b = rested(bench, max_poll_interval_ms=2_500)
    assert until_ms(b)
    resting = b.member.resting
    assert resting is not None
    request_id = resting.beat(b.now)

    assert not resting.answered(request_id + 1, ANSWER, b.now)
    assert not resting.answered(request_id, ANSWER, b.now + 500), "the poll interval is over"
    b = rested(bench)
    assert until_ms(b)
    resting = b.member.resting
    assert resting is not None
    assert not resting.answered(resting.beat(b.now), ANSWER, b.now + 1_000), "the next heartbeat is due"


def test_a_member_that_syncs_does_not_rest(bench: type[Bench]) -> None:
    b = bench()
    b.syncing()
    b.now += 1_000

    assert until_ms(b) == 0


def test_a_member_that_has_failed_does_not_rest(bench: type[Bench]) -> None:
    b = rested(bench)
    b.do(b.member.fail("X", "for a reason of the driver's own", b.now))

    assert until_ms(b) == 0


def test_a_member_whose_commit_waits_for_a_retry_does_not_rest(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    b.answer_heartbeat()
    b.do(b.member.commit("c", {("t", 0): 5}, b.now, is_sync=True))
    b.answer(COMMIT, 14)
    b.now += 1_000

    assert until_ms(b) == 0


def test_a_member_that_has_just_found_its_coordinator_does_not_rest_before_an_answer(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    b.answer_heartbeat()
    coordinator = b.member.coordinator
    assert coordinator is not None
    b.do(b.member.disconnected(coordinator, b.now))
    b.answer(Api.FIND_COORDINATOR, coordinators=(FOUND,))
    b.now += 1_000

    assert until_ms(b) == 0

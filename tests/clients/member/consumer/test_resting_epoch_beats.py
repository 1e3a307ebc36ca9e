"""A consumer member at rest: its bare heartbeat goes out and is answered as by the long way, and whatever else there is to do ends the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.clients.member.consumer.epoch_bench import BEAT, FIND, INTERVAL_MS, EpochBench, assignment

from groupproof.clients.member.consumer.resting_epoch_beats import RestingEpochBeats
from groupproof.clients.member.policy import Policy


def settled(**settings: Any) -> EpochBench:
    """Return a member that owns a partition, has had two heartbeats that say nothing answered, and another is due."""
    b = EpochBench(**settings)
    b.joined(0)
    for _ in range(2):
        b.next_beat()
        b.beaten()
    b.now += INTERVAL_MS
    return b


def rest_of(b: EpochBench) -> RestingEpochBeats:
    return b.member.resting


def answer_of(b: EpochBench) -> Any:
    answer = b.member._heartbeats.last_answer
    assert answer is not None
    return answer


def test_a_member_at_rest_sends_the_same_heartbeat_as_with_a_tick() -> None:
    short, long = settled(), settled()
    resting = rest_of(short)
    assert resting.until_ms(short.now) == short.now + INTERVAL_MS

    request_id = resting.beat(short.now)
    long.do(long.member.tick(long.now))
    sent = long.take(BEAT)

    wanted: tuple[Any, ...] = (sent.request_id, sent.message, sent.to.node_id if sent.to else None)
    assert (request_id, resting.message, resting.node_id) == wanted
    assert short.member.next_deadline_ms() == long.member.next_deadline_ms()
    assert resting.answered(request_id, answer_of(short), short.now + 5)
    long.do(long.member.response(sent.request_id, answer_of(long), long.now + 5))
    assert short.member.next_deadline_ms() == long.member.next_deadline_ms() == short.now + INTERVAL_MS
    assert short.member._core.requests.in_flight == long.member._core.requests.in_flight == {}


def test_a_heartbeat_that_came_by_the_short_way_may_lapse_or_be_answered_by_the_long_one() -> None:
    short, long = settled(request_timeout_ms=400), settled(request_timeout_ms=400)
    assert rest_of(short).until_ms(short.now) == short.now + 400
    rest_of(short).beat(short.now)
    long.do(long.member.tick(long.now))
    for b in (short, long):
        b.now += 400
        b.do(b.member.tick(b.now))

    assert short.sent[-1][1] == long.sent[-1][1]
    assert short.member.next_deadline_ms() == long.member.next_deadline_ms()


def test_nothing_is_done_before_a_heartbeat_is_due_or_while_one_is_in_flight() -> None:
    b = settled()

    assert rest_of(b).until_ms(b.now - 1) == 0
    assert rest_of(b).until_ms(b.now)
    rest_of(b).beat(b.now)
    assert rest_of(b).until_ms(b.now + INTERVAL_MS) == 0


def test_the_poll_interval_ends_a_rest() -> None:
    b = settled(max_poll_interval_ms=3_500)  # which it polled last when it joined

    assert rest_of(b).until_ms(b.now) == b.now + 500
    assert rest_of(b).until_ms(b.now + 500) == 0


def test_a_poll_that_finds_nothing_to_do_leaves_the_rest_as_it_is() -> None:
    b = settled()
    assert rest_of(b).until_ms(b.now)
    request_id = rest_of(b).beat(b.now)

    b.poll()

    assert rest_of(b).answered(request_id, answer_of(b), b.now)


ENDS: dict[str, Callable[[EpochBench], object]] = {
    "a commit": lambda b: b.member.commit("c", {("t", 0): 5}, b.now, is_sync=True),
    "a fetch": lambda b: b.member.fetch_offsets("f", frozenset({("t", 0)}), b.now),
    "a close": lambda b: b.member.close(b.now),
    "another subscription": lambda b: b.member.resubscribe(("t", "u"), b.now),
    "a failure": lambda b: b.member.fail("X", "for a reason of the driver's own", b.now),
    "no coordinator": lambda b: b.member.disconnected(b.member.coordinator, b.now) if b.member.coordinator else None,
    "an unsubscription": lambda b: b.member.unsubscribe(b.now),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_what_there_is_to_do_ends_the_rest(end: Callable[[EpochBench], object]) -> None:
    b = settled()
    assert rest_of(b).until_ms(b.now)
    request_id = rest_of(b).beat(b.now)

    end(b)

    assert rest_of(b).message is None
    assert not rest_of(b).answered(request_id, answer_of(b) if b.member._heartbeats.last_answer else None, b.now)
    assert rest_of(b).until_ms(b.now + INTERVAL_MS) == 0


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_a_member_with_something_to_do_does_not_rest(end: Callable[[EpochBench], object]) -> None:
    b = settled()
    end(b)

    assert rest_of(b).until_ms(b.now) == 0


def test_a_variant_never_rests() -> None:
    b = settled(policy=Policy(heartbeats="joined"))

    assert rest_of(b).until_ms(b.now) == 0


STANDS: dict[str, Callable[[Any], object]] = {
    "a commit waits": lambda member: member._offset_requests.under_way.append(None),
    "it knows no coordinator": lambda member: setattr(member._core, "coordinator", None),
    "its coordinator has not answered": lambda member: setattr(member._finder, "_is_unproven", True),
    "its application polls too rarely": lambda member: setattr(member._core, "is_unpolled", True),
    "it takes no part": lambda member: setattr(member._core, "is_subscribed", False),
    "it is halted": lambda member: setattr(member._core, "is_halted", True),
    "it heartbeats in vain": lambda member: setattr(member._heartbeats, "_failures", 1),
    "it subscribes to more": lambda member: setattr(member._core, "topics", ("t", "u")),
    "it was told nothing": lambda member: setattr(member._heartbeats, "last_answer", None),
    "it was told of another epoch": lambda member: setattr(
        member._heartbeats, "last_answer", replace(member._heartbeats.last_answer, member_epoch=9)
    ),
}


@pytest.mark.parametrize("stand", STANDS.values(), ids=STANDS)
def test_a_member_of_which_one_thing_is_another_does_not_come_to_rest(stand: Callable[[Any], object]) -> None:
    b = settled()
    stand(b.member)

    assert rest_of(b).until_ms(b.now) == 0


def test_a_member_with_something_to_send_does_not_rest() -> None:
    b = settled()
    b.do(b.member.tick(b.now))
    b.beaten(2, 0, 1)
    b.now += INTERVAL_MS

    assert rest_of(b).until_ms(b.now) == 0, "it has another assignment"
    b.poll_through()
    b.beaten(2)
    b.now += INTERVAL_MS
    assert rest_of(b).until_ms(b.now) == 0, "no heartbeat of its has said nothing since"


@pytest.mark.parametrize("error", [14, 15])
def test_a_member_that_was_refused_does_not_rest_before_it_has_sent_everything_again(error: int) -> None:
    b = settled()
    b.do(b.member.tick(b.now))
    b.answer(BEAT, error)
    b.now += INTERVAL_MS

    assert rest_of(b).until_ms(b.now) == 0


def test_a_member_that_has_just_found_its_coordinator_does_not_rest_before_an_answer() -> None:
    b = settled()
    coordinator = b.member.coordinator
    assert coordinator is not None
    b.do(b.member.disconnected(coordinator, b.now - INTERVAL_MS))
    b.answer(FIND)
    b.now += INTERVAL_MS

    assert not b.member._finder.is_proven
    assert rest_of(b).until_ms(b.now) == 0


def test_an_answer_goes_the_long_way_if_it_belongs_to_another_or_differs_or_comes_late() -> None:
    b = settled()
    answer = answer_of(b)
    assert rest_of(b).until_ms(b.now)
    request_id = rest_of(b).beat(b.now)

    assert not rest_of(b).answered(request_id + 1, answer, b.now)
    assert not rest_of(b).answered(request_id, replace(answer, heartbeat_interval_ms=7_000), b.now)
    assert not rest_of(b).answered(request_id, replace(answer, assignment=assignment(0)), b.now)
    assert not rest_of(b).answered(request_id, answer, b.now + INTERVAL_MS), "the next heartbeat is due"
    assert rest_of(b).answered(request_id, answer, b.now + INTERVAL_MS - 1)


def test_an_answer_that_says_the_same_is_the_one_to_look_for_from_then_on() -> None:
    b = settled()
    b.do(b.member.tick(b.now))
    same = replace(answer_of(b))

    b.do(b.member.response(b.take(BEAT).request_id, same, b.now))

    assert answer_of(b) is same


def test_a_member_that_rests_again_with_another_coordinator_asks_that_one() -> None:
    b = settled()
    assert rest_of(b).until_ms(b.now)
    coordinator = b.member.coordinator
    assert coordinator is not None
    b.member._core.coordinator = replace(coordinator, node_id=7)
    rest_of(b).message = None

    assert rest_of(b).until_ms(b.now)
    request_id = rest_of(b).beat(b.now)
    assert (rest_of(b).node_id, b.member._core.requests.in_flight[request_id].to) == (7, b.member.coordinator)


def test_a_member_that_rests_again_with_another_heartbeat_sends_that_one() -> None:
    b = settled()
    assert rest_of(b).until_ms(b.now)
    rest_of(b).message = None
    b.member._heartbeats._bare = replace(b.member._heartbeats._bare)

    assert rest_of(b).until_ms(b.now)
    request_id = rest_of(b).beat(b.now)
    assert b.member._core.requests.in_flight[request_id].message is rest_of(b).message is b.member._heartbeats._bare


def test_an_answer_to_no_heartbeat_in_flight_is_not_taken_the_short_way() -> None:
    b = settled()

    assert not b.member._heartbeats.take_repeated(999, answer_of(b))

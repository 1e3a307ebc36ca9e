"""Positions and records on their way to the application."""

from __future__ import annotations

from typing import Any

from groupproof.clients.consumer.fetch_positions import Delivery, Fetching
from groupproof.protocol.wire.records import Record, encode_batch

T0, T1 = ("t", 0), ("t", 1)
LEADERS = {T0: 0, T1: 1}
FETCH_MAX_BYTES = 52_428_800  # ConsumerConfig.DEFAULT_FETCH_MAX_BYTES


def fetching(**positions: int) -> Fetching:
    made = Fetching()
    for name, offset in positions.items():
        made.stand(("t", int(name[1:])), offset)
    return made


def records(first: int, count: int) -> bytes:
    return encode_batch([Record(offset=first + number, timestamp_ms=0, value=b"v") for number in range(count)])


def answer(partition: int, data: bytes, error: int = 0) -> dict[str, Any]:
    return {"error_code": 0, "responses": ({"topic": "t", "partitions": ({"partition_index": partition, "error_code": error, "records": data},)},)}


def asked(made: Fetching, *owned: tuple[str, int]) -> list[int]:
    return [node for node, _ in made.requests(owned, LEADERS, 500)]


def test_each_leader_is_asked_once_at_a_time_for_what_has_a_position() -> None:
    made = fetching(p0=5)

    ((node, body),) = made.requests((T0, T1), LEADERS, 500)
    assert (node, body["max_wait_ms"], body["min_bytes"], body["max_bytes"], body["session_epoch"]) == (0, 500, 1, FETCH_MAX_BYTES, -1)
    assert [(partition["partition"], partition["fetch_offset"]) for partition in body["topics"][0]["partitions"]] == [(0, 5)]
    assert asked(made, T0, T1) == []
    assert made.unpositioned((T0, T1)) == {T1}


def test_records_are_delivered_from_the_position_on_and_move_it() -> None:
    made = fetching(p0=5)
    asked(made, T0)
    assert made.answered(0, answer(0, records(3, 10))) is False
    assert asked(made, T0) == []  # not before the application took what is there

    assert made.deliver(frozenset({T0}), 500) == [Delivery(partition=T0, first=5, last=12)]
    assert made.positions == {T0: 13}
    assert asked(made, T0) == [0]


def test_no_more_records_are_delivered_than_asked_for() -> None:
    made = fetching(p0=0)
    asked(made, T0)
    made.answered(0, answer(0, records(0, 10)))

    assert [delivery.count for delivery in made.deliver(frozenset({T0}), 4)] == [4]
    assert made.positions == {T0: 4}
    assert [(delivery.first, delivery.last) for delivery in made.deliver(frozenset({T0}), 500)] == [(4, 9)]


def test_records_of_a_partition_that_went_are_dropped() -> None:
    made = fetching(p0=0)
    asked(made, T0)
    made.answered(0, answer(0, records(0, 10)))

    assert made.deliver(frozenset(), 500) == []
    assert made.positions == {T0: 0}


def test_an_answer_to_a_question_of_before_counts_no_more() -> None:
    made = fetching(p0=0)
    asked(made, T0)
    made.assign([T0])
    made.stand(T0, 7)
    made.answered(0, answer(0, records(0, 10)))

    assert made.deliver(frozenset({T0}), 500) == []


def test_errors_and_silence_ask_for_another_look() -> None:
    made = fetching(p0=0)
    for body in (None, {"error_code": 6, "responses": ()}, answer(0, b"", error=6), answer(0, b"\x00" * 80)):
        assert asked(made, T0) == [0]
        assert made.answered(0, body) is True


def test_an_offset_that_is_out_of_range_is_looked_up_again() -> None:
    made = fetching(p0=99)
    asked(made, T0)
    made.answered(0, answer(0, b"", error=1))

    assert made.unpositioned((T0,)) == {T0}


def test_a_late_answer_does_not_move_a_position() -> None:
    made = fetching(p0=3)
    made.stand(T0, 0)

    assert made.positions == {T0: 3}


def test_the_last_record_of_a_poll_may_be_the_first_of_the_next_batch() -> None:
    made = fetching(p0=0, p1=0)
    list(made.requests((T0, T1), LEADERS, 500))
    made.answered(0, answer(0, records(0, 2)))
    made.answered(1, answer(1, records(0, 2)))

    assert [(delivery.first, delivery.last) for delivery in made.deliver(frozenset({T0, T1}), 3)] == [(0, 1), (0, 0)]
    assert [(delivery.first, delivery.last) for delivery in made.deliver(frozenset({T0, T1}), 3)] == [(1, 1)]


def test_a_second_batch_counts_from_where_it_begins() -> None:
    made = fetching(p0=5, p1=5)
    list(made.requests((T0, T1), LEADERS, 500))
    made.answered(0, answer(0, records(5, 2)))
    made.answered(1, answer(1, records(5, 2)))

    assert [(delivery.first, delivery.last) for delivery in made.deliver(frozenset({T0, T1}), 3)] == [(5, 6), (5, 5)]


def test_an_answer_without_records_is_an_answer() -> None:
    made = fetching(p0=5)
    asked(made, T0)
    empty = answer(0, b"")
    empty["responses"][0]["partitions"][0]["records"] = None

    assert made.answered(0, empty) is False
    assert made.positions == {T0: 5}

"""What a program and the laws of one member note of its heartbeats at rest is what they note of others; `test_resting_exchanges.py` strikes them on their way."""

from __future__ import annotations

from dataclasses import fields, replace
from random import Random
from typing import Any

import pytest
from tests.harness.simulation.runs import calm, ran

from groupproof.harness.simulation.invariants.epoch_member_invariants import EpochMemberInvariants
from groupproof.harness.simulation.run import Run
from groupproof.harness.simulation.settings import InvariantBroken
from groupproof.harness.simulation.watched_beats import WatchedBeats
from groupproof.protocol.wire.consumer_messages import ConsumerAssignment, ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse


def _rested(**options: Any) -> tuple[Run, Any, WatchedBeats]:
    """Return a run, one of its programs, and what watches its heartbeats, at the moment when one is due."""
    run = ran(calm(3, auto_commit_interval_ms=10**6, dialect="consumer", profile="kafka-4.4", heartbeat_interval_ms=2_000, **options), 9_000)
    process: Any = run.targets.processes["m1"]
    beats = process._resting
    while process._sent or not beats.until_ms(process.member.next_beat_ms):
        run.heap.run(run.heap.now_ms + 1)
    run.heap.now_ms = process.member.next_beat_ms
    return run, process, beats


def test_a_heartbeat_is_noted_as_sent_and_as_answered() -> None:
    run, process, beats = _rested()
    now_ms = run.heap.now_ms

    request_id = beats.beat(now_ms)

    assert process._sent == {request_id: (beats.message, now_ms)}
    assert (process.invariants.in_flight, process.invariants.sent_ms) == (1, now_ms)
    assert beats.answered(request_id, process.member._heartbeats.last_answer, now_ms + 9)
    assert (process._sent, process.invariants.in_flight, process.invariants.answered_ms) == ({}, 0, now_ms + 9)


def test_a_heartbeat_that_breaks_an_invariant_is_blamed_though_it_goes_the_short_way() -> None:
    run, process, beats = _rested()
    process.invariants.is_fatal = True

    with pytest.raises(InvariantBroken, match="after a fatal error"):
        beats.beat(run.heap.now_ms)


@pytest.mark.parametrize("why", ["polls are late", "it closes", "another request waits"])
def test_a_program_that_has_more_to_note_goes_the_long_way(why: str) -> None:
    run, process, beats = _rested()
    now_ms = run.heap.now_ms
    assert beats.until_ms(now_ms)

    if why == "polls are late":
        process.unpolled_ms = now_ms
    elif why == "it closes":
        process.invariants.is_closing = True
    else:
        process._sent[-1] = (None, now_ms)

    assert beats.until_ms(now_ms) == 0


def test_an_answer_that_the_member_does_not_take_is_noted_by_nobody() -> None:
    run, process, beats = _rested()
    request_id = beats.beat(run.heap.now_ms)

    assert not beats.answered(request_id, None, run.heap.now_ms + 9)
    assert list(process._sent) == [request_id]
    assert process.invariants.in_flight == 1


def _noted(invariants: EpochMemberInvariants) -> dict[str, Any]:
    return {column.name: getattr(invariants, column.name) for column in fields(invariants) if column.name not in ("bare", "empty")}


def _drawn(draw: Random, topics: tuple[str, ...]) -> dict[str, Any]:
    """Return what the laws may know, most of it as of a member at rest."""
    drawn = {
        "epoch": (3, 2, 4, 0), "interval_ms": (2_000, 900, 4_000), "in_flight": (0, 1, 2), "sent_ms": (8_000, 9_500, 1_000, None), "counts_from_ms": (8_000, 1_000),
        "answered_ms": (8_010, 1_000), "has_left": (False, True), "is_fatal": (False, True), "may_beat_early": (False, True), "is_disturbed": (False, True),
        "said_topics": (topics, None), "is_polling": (True, False), "is_closing": (False, True), "unsaid": (frozenset(), frozenset({("t", 0)})),
    }  # fmt: skip
    return {name: values[0] if draw.random() < 0.85 else draw.choice(values) for name, values in drawn.items()}


def test_the_invariants_find_by_comparisons_what_they_find_in_a_full_check() -> None:
    topics, quick = ("t",), 0
    bare = ConsumerGroupHeartbeatRequest(group_id="g", member_id="a", member_epoch=3)
    beats = (
        bare,
        bare,
        replace(bare),
        replace(bare, topic_partitions=()),
        replace(bare, member_id="b"),
        replace(bare, subscribed_topic_names=("z",)),
    )
    empty = ConsumerGroupHeartbeatResponse(member_id="a", member_epoch=3, heartbeat_interval_ms=2_000)
    answers = (
        empty,
        empty,
        replace(empty),
        replace(empty, error_code=25),
        replace(empty, member_epoch=4),
        replace(empty, assignment=ConsumerAssignment(topic_partitions=())),
    )
    for seed in range(4_000):
        draw = Random(seed)
        knows: dict[str, Any] = {
            "instance_id": None,
            "assignor": None,
            "rack": None,
            "rebalance_timeout_ms": 1,
            "topics": topics,
            "subscribed": frozenset(topics),
        }
        knows |= {"member_id": "a", **_drawn(draw, topics)}
        short, long = (EpochMemberInvariants(**knows) for _ in range(2))
        short.bare, short.empty = bare, empty
        beat, answer = draw.choice(beats), draw.choice(answers)
        long.is_polling = True
        for invariants, sends, answered in ((short, short.sends_again, short.answered_again), (long, long.sends, long.answered)):
            sends(beat, 10_000, {})
            invariants.in_flight += seed % 10 == 0
            answered(beat, answer, 10_015, {})

        assert _noted(short) == _noted(long), seed
        quick += short.bare is bare and not short.broken

    assert quick > 500, "few heartbeats are bare: the states show nothing"

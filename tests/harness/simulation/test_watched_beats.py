"""What a program and the laws of one member note of its heartbeats at rest is what they note of others; `test_resting_exchanges.py` strikes them on their way."""

from __future__ import annotations

from typing import Any

import pytest
from tests.harness.simulation.runs import calm, ran

from groupproof.harness.simulation.run import Run
from groupproof.harness.simulation.settings import InvariantBroken
from groupproof.harness.simulation.watched_beats import WatchedBeats


def _rested(**options: Any) -> tuple[Run, Any, WatchedBeats]:
    """Return a run, one of its programs, and what watches its heartbeats, at the moment when one is due."""
    run = ran(calm(3, auto_commit_interval_ms=10**6, dialect="consumer", profile="kafka-4.4", heartbeat_interval_ms=2_000, **options), 9_000)
    process: Any = run.world.processes["m1"]
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


def test_a_heartbeat_that_breaks_a_law_is_blamed_though_it_goes_the_short_way() -> None:
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

"""Every heartbeat's answer is timed, errors included."""

from __future__ import annotations

import pytest
from tests.harness.judging.diagnosis.making import Story
from tests.harness.judging.diagnosis.recordings import recorded

from groupproof.harness.judging.meters.heartbeat_latency import Heartbeats


@pytest.mark.requirement("DIAG-12")
def test_as_many_latencies_are_recorded_as_answers_came_errors_included() -> None:
    wire = recorded("4.1.0", "wire")
    meter = Heartbeats()
    for obs in wire:
        meter.feed(obs)
    answers = [observation for observation in wire if observation.api == "Heartbeat" and observation.kind == "response"]

    assert meter.result().totals["heartbeat_answers"] == len(answers)
    assert {observation.error for observation in answers} >= {0, 27}


def test_latencies_add_up_and_the_longest_is_kept() -> None:
    story = Story()
    slow = story.ask(0, "Heartbeat", "m0")
    story.answer(30, slow)
    story.beat(100, "m0", "a-1", 1, error=27)
    story.ask(200, "Heartbeat", "m0")
    meter = Heartbeats()
    for obs in story.trace:
        meter.feed(obs)

    assert meter.result().totals == {"heartbeat_answers": 2, "heartbeat_latency_ms": 31}
    assert meter.result().peaks == {"heartbeat_latency_max_ms": 30}

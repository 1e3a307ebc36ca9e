"""From a fault to the rebalance that it brings, and until the group is settled for good."""

from __future__ import annotations

from tests.harness.judging.diagnosis.making import Story

from groupproof.harness.judging.meters.meter import Figures
from groupproof.harness.judging.meters.rebalance_time import Rebalancing

TWO = {"a-1": "m0", "b-1": "m1"}


def _measured(story: Story) -> Figures:
    meter = Rebalancing()
    for obs in story.trace:
        meter.feed(obs)
    return meter.result()


def test_generations_and_the_requests_for_them_are_counted() -> None:
    story = Story()
    story.settle(0, TWO, 1, "a-1")
    story.settle(1_000, TWO, 2, "a-1")
    story.beat(1_500, "m0", "a-1", 2)
    figures = _measured(story)

    assert (figures.totals["rebalances"], figures.totals["rebalance_requests"], figures.totals["rebalancing_ms"]) == (2, 8, 20)
    assert figures.by_client["m0"]["rebalance_requests"] == 4
    assert figures.peaks == {}, "no fault, nothing to detect"


def test_the_time_from_a_fault_to_the_first_sign_of_a_rebalance_and_until_all_is_settled() -> None:
    story = Story()
    story.settle(0, TWO, 1, "a-1")
    story.add(1_000, "fault", fault="cut", detail="armed")
    story.add(1_100, "fault", fault="cut", detail="delivered")
    story.beat(7_000, "m0", "a-1", 1, error=27)
    story.add(7_500, "fault", fault="cut", detail="healed")
    story.settle(8_000, TWO, 2, "a-1")

    assert _measured(story).peaks == {"time_to_detect_ms": 5_901, "time_to_stable_ms": 510}


def test_a_group_that_is_not_settled_at_the_end_has_no_time_to_it() -> None:
    story = Story()
    story.settle(0, TWO, 1, "a-1")
    story.add(1_000, "event", who="kit", client="m1", body={"name": "kill"})
    story.join(1_500, "m0", "a-1")

    assert _measured(story).peaks == {"time_to_detect_ms": 500}


def test_a_coordinator_s_own_transitions_tell_sooner_than_the_wire() -> None:
    story = Story()
    story.settle(0, TWO, 1, "a-1")
    story.add(1_000, "fault", fault="silence", detail="delivered")
    story.move(1_200, "Stable", "PreparingRebalance", 1)
    story.settle(1_400, TWO, 2, "a-1")

    assert _measured(story).peaks["time_to_detect_ms"] == 200


def test_what_comes_after_the_end_of_the_plan_is_the_goodbye() -> None:
    story = Story()
    story.settle(0, TWO, 1, "a-1")
    story.add(100, "event", who="kit", body={"name": "end"})
    story.settle(200, {"a-1": "m0"}, 2, "a-1")

    assert _measured(story).totals["rebalances"] == 1

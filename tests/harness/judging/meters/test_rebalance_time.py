"""From a fault to the rebalance that it brings, and until the group is settled for good."""

from __future__ import annotations

from tests.epoch_traces import EpochStory
from tests.harness.judging.diagnosis.making import Story

from groupproof.harness.judging.meters.all_meters import values_of
from groupproof.harness.judging.meters.meter import Figures
from groupproof.harness.judging.meters.rebalance_time import Rebalancing

TWO = {"a-1": "m0", "b-1": "m1"}


def _measured(story: Story | EpochStory) -> Figures:
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


def test_what_comes_after_the_end_of_the_plan_is_the_clean_close() -> None:
    story = Story()
    story.settle(0, TWO, 1, "a-1")
    story.add(100, "event", who="kit", body={"name": "end"})
    story.settle(200, {"a-1": "m0"}, 2, "a-1")

    assert _measured(story).totals["rebalances"] == 1


def _epochs() -> EpochStory:
    """Tell of two members: the second comes at 1 s, and the first gives a partition up for 2 s."""
    story = EpochStory().settled("m0", member="a")
    story.at(1_000)
    story.hb(0, "m1", gets=2, gives=(), member="b")
    story.hb(1, "m0", gets=1, gives=[("t", 0)], member="a")
    story.at(3_000)
    story.hb(1, "m0", gets=2, owns=[("t", 0)], member="a")
    story.hb(2, "m1", gets=2, gives=[("t", 1)], member="b")
    story.hb(2, "m1", gets=2, owns=[("t", 1)], member="b")
    return story


def test_an_epoch_lasts_until_each_member_owns_its_target() -> None:
    figures = _measured(_epochs())

    assert (figures.totals["rebalances"], figures.totals["epochs"]) == (2, 2)
    assert figures.totals["rebalancing_ms"] == figures.peaks["reconciliation_max_ms"] == 2_000
    assert values_of(figures)["epochs_per_hour"] == 2 / (3 / 3600)
    assert figures.by_client["m1"]["rebalance_requests"] == 2


def test_the_time_from_a_fault_to_the_end_of_a_reconciliation() -> None:
    story = _epochs()
    story.at(10_000)
    story.see("fault", fault="silence", detail="delivered")
    story.at(12_000)
    story.hb(2, "m0", gets=3, gives=[("t", 0), ("t", 1)], member="a")
    story.hb(-1, "m1", gets=-1, member="b")
    story.at(12_500)
    story.hb(3, "m0", gets=3, owns=[("t", 0), ("t", 1)], member="a")

    assert _measured(story).peaks == {"reconciliation_max_ms": 2_000, "time_to_detect_ms": 2_000, "time_to_stable_ms": 2_500}

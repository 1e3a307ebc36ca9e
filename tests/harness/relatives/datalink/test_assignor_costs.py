"""What the planned assignors gain on the same churn."""

from __future__ import annotations

import pytest

from groupproof.harness.relatives.datalink.assignor_costs import POLICIES, PRESENT, Measured, Policy, measured
from groupproof.harness.relatives.datalink.simulated_group import Course


@pytest.fixture(scope="module")
def found() -> dict[Policy, Measured]:
    return {each.policy: each for each in measured(Course(workers=6, tasks=30), range(1, 3), events=12, every_ms=60_000)}


def test_every_policy_sees_the_same_churn_and_breaks_nothing(found: dict[Policy, Measured]) -> None:
    assert tuple(found) == POLICIES
    assert {each.events for each in found.values()} == {24}
    assert not [said for each in found.values() for said in each.violations]
    assert found[PRESENT].factor == 1.0


@pytest.mark.requirement("PLAN-02")
def test_an_incremental_hand_over_loses_less_by_every_assignor(found: dict[Policy, Measured]) -> None:
    for assignor in ("round-robin", "resources", "sticky"):
        stops, moves = (found[Policy(assignor=assignor, hand_over=each)] for each in ("stop-everything", "incremental"))
        assert moves.lost_s_per_event < stops.lost_s_per_event, assignor


@pytest.mark.requirement("PLAN-03")
def test_sticky_moves_and_loses_less_and_both_together_least_of_all(found: dict[Policy, Measured]) -> None:
    sticky, both = (found[Policy(assignor="sticky", hand_over=each)] for each in ("stop-everything", "incremental"))

    assert sticky.moves_per_event < found[PRESENT].moves_per_event / 4
    assert sticky.factor > 1.2
    assert both.factor > 4
    assert both.factor == max(each.factor for each in found.values())


def test_what_was_measured_can_be_written_down(found: dict[Policy, Measured]) -> None:
    told = found[PRESENT].to_json()

    assert (told["assignor"], told["hand_over"], told["factor"], told["violations"]) == ("round-robin", "stop-everything", 1.0, [])

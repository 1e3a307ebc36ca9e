"""What the planned assignors gain on the same churn."""

from __future__ import annotations

import pytest

from groupproof.harness.relatives.datalink.assignor_costs import POLICIES, PRESENT, Policy, PolicyCost, measured
from groupproof.harness.relatives.datalink.simulated_group import WorkerRun


@pytest.fixture(scope="module")
def found() -> dict[Policy, PolicyCost]:
    return {measurement.policy: measurement for measurement in measured(WorkerRun(workers=6, tasks=30), range(1, 3), events=12, every_ms=60_000)}


def test_every_policy_sees_the_same_churn_and_breaks_nothing(found: dict[Policy, PolicyCost]) -> None:
    assert tuple(found) == POLICIES
    assert {measurement.events for measurement in found.values()} == {24}
    assert not [violation for measurement in found.values() for violation in measurement.violations]
    assert found[PRESENT].factor == 1.0


@pytest.mark.requirement("PLAN-02")
def test_an_incremental_hand_over_loses_less_by_every_assignor(found: dict[Policy, PolicyCost]) -> None:
    for assignor in ("round-robin", "resources", "sticky"):
        stops, moves = (found[Policy(assignor=assignor, hand_over=name)] for name in ("stop-everything", "incremental"))
        assert moves.lost_s_per_event < stops.lost_s_per_event, assignor


@pytest.mark.slow
@pytest.mark.requirement("PLAN-03")
def test_sticky_moves_and_loses_less_and_both_together_least_of_all(found: dict[Policy, PolicyCost]) -> None:
    sticky, both = (found[Policy(assignor="sticky", hand_over=name)] for name in ("stop-everything", "incremental"))

    assert sticky.moves_per_event < found[PRESENT].moves_per_event / 4
    assert sticky.factor > 1.2
    assert both.factor > 4
    assert both.factor == max(measurement.factor for measurement in found.values())


@pytest.mark.slow
def test_what_was_measured_can_be_written_down(found: dict[Policy, PolicyCost]) -> None:
    fields = found[PRESENT].to_json()

    assert (fields["assignor"], fields["hand_over"], fields["factor"], fields["violations"]) == ("round-robin", "stop-everything", 1.0, [])

"""The scenarios of DataLink's workers and Managers: each holds."""

from __future__ import annotations

import pytest

from groupproof.chaos.relatives.datalink_scenarios import SCENARIOS, scenario_named
from groupproof.clients.relatives.datalink.worker_settings import HAND_OVERS, HandOver
from groupproof.protocol.rules.coverage import everything


def test_each_has_a_name_of_its_own_and_names_what_is_at_stake() -> None:
    assert len({scenario.name for scenario in SCENARIOS}) == len(SCENARIOS)
    assert {id for scenario in SCENARIOS for id in scenario.requirements} <= set(everything())
    assert all(scenario.story.endswith(".") for scenario in SCENARIOS)
    assert scenario_named("manager-switch") is SCENARIOS[0]
    assert scenario_named("x") is None


@pytest.mark.slow
@pytest.mark.requirement("MGR-33", "MGR-05", "WORKER-08")
@pytest.mark.parametrize(("name", "hand_over"), [(scenario.name, HAND_OVERS[place % 2]) for place, scenario in enumerate(SCENARIOS)])
def test_it_holds(name: str, hand_over: HandOver) -> None:
    scenario = scenario_named(name)
    assert scenario is not None

    assert scenario.run(1, "sticky", hand_over).broken == ()


@pytest.mark.requirement("WORKER-18")
def test_a_worker_that_fences_itself_doubles_nothing_and_one_that_does_not_doubles_much() -> None:
    found = {
        name: scenario.run(1, "round-robin", "stop-everything")
        for name in ("worker-cut-off", "fenced-worker-cut-off")
        if (scenario := scenario_named(name))
    }

    assert found["worker-cut-off"].overlap_ms > 0
    assert found["fenced-worker-cut-off"].overlap_ms == 0

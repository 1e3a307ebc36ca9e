from __future__ import annotations

import pytest

from groupproof.chaos.spark.streaming.streaming_scenarios import Scenario, chosen, scenarios
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.subjects.tap.fault_syntax import faults_of


def test_scenarios_are_named_by_name_by_glob_and_all_of_them() -> None:
    assert [scenario.name for scenario in chosen(["shared-group"])] == ["shared-group"]
    assert [scenario.name for scenario in chosen(["default-path*", "default-path"])] == [
        "default-path",
        "default-path-shared",
        "default-path-without-coordinator",
    ]
    assert chosen(["all"]) == scenarios()


def test_a_wrong_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(WrongUsage, match=r"no scenario of Spark is called 'shared-groups'.*shared-group.*groupproof chaos spark --list"):
        chosen(["shared-groups"])


@pytest.mark.parametrize("scenario", scenarios(), ids=[scenario.name for scenario in scenarios()])
def test_a_scenario_is_about_members_on_the_deprecated_path_alone_and_its_faults_can_be_armed(scenario: Scenario) -> None:
    assert scenario.expects.joins is scenario.is_deprecated
    assert len(faults_of(scenario.faults)) == len(scenario.faults)
    assert scenario.queries == (("a", "b") if scenario.is_shared else ("a",))

"""The shipped scenarios: each is carried out by the reference pair in virtual time, and each bites."""

from __future__ import annotations

import pytest
from tests.chaos.scenario_texts import carried_out

from groupproof.chaos.scenarios.scenario import RunMode, Scenario
from groupproof.chaos.scenarios.scenario_case import compile_scenario, expectations_of
from groupproof.chaos.scenarios.scenario_expectations import is_met
from groupproof.chaos.scenarios.scenario_plan import Terms
from groupproof.chaos.scenarios.shipped_scenarios import shipped
from groupproof.harness.model.case import plan_of
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.plan import Pass
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.trace import Trace, write_trace

SAMPLE = ("commit-in-a-rebalance", "fenced-twin", "coordinator-moves-while-syncing", "connections-reset")
"""In the gate a few stand for all; the others' turn is the long form's."""


def each_in_turn() -> list[object]:
    return [pytest.param(scenario, id=scenario.name, marks=() if scenario.name in SAMPLE else pytest.mark.soak) for scenario in shipped()]


def seen(scenario: Scenario, trace: Trace) -> list[bool]:
    evidence = Evidence(trace)
    return [is_met(judge, evidence) for judge in expectations_of(Terms(scenario, scenario.members, RunMode.VIRTUAL))]


@pytest.mark.parametrize("scenario", each_in_turn())
def test_the_reference_pair_comes_through(scenario: Scenario) -> None:
    _, judgement = carried_out(compile_scenario(scenario, mode=RunMode.VIRTUAL))

    assert judgement.verdict is Verdict.OK, judgement.reason or judgement.findings


@pytest.mark.parametrize("scenario", each_in_turn())
def test_without_its_faults_what_it_expects_is_not_seen(scenario: Scenario) -> None:
    play, _ = carried_out(compile_scenario(scenario, mode=RunMode.VIRTUAL, is_calm=True))

    assert not all(seen(scenario, play.trace))


@pytest.mark.parametrize("name", SAMPLE[:1])
def test_the_same_seed_gives_the_same_trace(name: str) -> None:
    scenario = next(scenario for scenario in shipped() if scenario.name == name)
    traces = [list(write_trace(carried_out(compile_scenario(scenario, mode=RunMode.VIRTUAL), seed)[0].trace)) for seed in (1, 1, 2)]

    assert traces[0] == traces[1]
    assert traces[0] != traces[2]


@pytest.mark.parametrize("scenario", shipped(), ids=lambda item: item.name)
def test_each_says_what_it_does_and_is_short_enough_for_the_wire(scenario: Scenario) -> None:
    assert scenario.expect, "a scenario says what must be seen"
    assert len(scenario.story) > 60
    assert scenario.title[0].isupper()
    waits = sum(step.ms for step in plan_of(compile_scenario(scenario, mode=RunMode.WIRE)).steps if isinstance(step, Pass))
    assert waits <= 20_000 or scenario.only_virtual


def test_there_are_scenarios_for_what_an_operator_knows() -> None:
    assert len(shipped()) >= 30
    assert len({scenario.title for scenario in shipped()}) == len(shipped())

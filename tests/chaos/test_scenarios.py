"""The shipped scenarios: each is carried out by the reference pair in virtual time, and each bites."""

from __future__ import annotations

import pytest
from _pytest.mark import ParameterSet
from tests.chaos.scenario_texts import carried_out, is_met
from tests.power.shares import of_this_run

from groupproof.chaos.scenarios.scenario import RunMode, Scenario
from groupproof.chaos.scenarios.scenario_case import compile_scenario, expectations_of
from groupproof.chaos.scenarios.scenario_plan import Terms
from groupproof.chaos.scenarios.shipped_scenarios import shipped
from groupproof.harness.model.case import plan_of
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.plan import Pass
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.trace import Trace, write_trace

SAMPLE = (
    "commit-in-a-rebalance",
    "fenced-twin",
    "coordinator-moves-while-syncing",
    "connections-reset",
    "slow-revoker",
    "migration-tried-and-taken-back",
)
"""In the gate a few stand for all; the others' turn is the long form's."""

FAILED_BY = {
    "assignor-changed": "epoch-no-leave",
    "classic-newcomer": "epoch-dynamic-leaves-for-now",
    "consumer-group-is-full": "epoch-falls-silent-on-fatal-errors",
    "coordinator-moves-while-reconciling": "epoch-loses-on-16",
    "epoch-zero-storm": "epoch-dies-on-25",
    "fenced-storm": "epoch-dies-on-110",
    "heartbeat-answers-late": "epoch-two-in-flight",
    "heartbeat-answers-lost": "epoch-loses-on-a-disconnect",
    "heartbeat-interval-changed": "epoch-keeps-the-first-interval",
    "instance-in-use": "epoch-no-instance-id",
    "leave-storm": "epoch-no-leave",
    "migration-back": "epoch-dynamic-leaves-for-now",
    "migration-disabled": "epoch-no-id",
    "migration-downgrade-alone": "epoch-joins-with-null-partitions",
    "migration-forward": "follower-assigns",
    "migration-tried-and-taken-back": "follower-assigns",
    "migration-upgrade-alone": "follower-assigns",
    "newcomers-storm": "epoch-reports-its-target",
    "processing-outlasts-the-poll": "epoch-ignores-max-poll-interval",
    "regex-over-growing-topics": "epoch-never-tells-assigned",
    "revoker-never-acknowledges": "epoch-never-acknowledges",
    "sessions-end-behind-cut-links": "epoch-dies-on-25",
    "slow-revoker": "epoch-reports-its-target",
    "stale-commit": "epoch-dies-on-25",
    "static-members-restart": "epoch-static-leaves-for-good",
}
"""A planted bug of the member that each scenario of the consumer protocol fails (KIP-848)."""


def of_param(param: ParameterSet) -> Scenario:
    (scenario,) = param.values
    assert isinstance(scenario, Scenario)
    return scenario


def each_in_turn() -> list[ParameterSet]:
    return of_this_run(pytest.param(scenario, id=scenario.name, marks=() if scenario.name in SAMPLE else pytest.mark.soak) for scenario in shipped())


def expectations_met(scenario: Scenario, trace: Trace) -> list[bool]:
    evidence = Evidence(trace)
    return [is_met(judge, evidence) for judge in expectations_of(Terms(scenario, scenario.members, RunMode.VIRTUAL))]


@pytest.mark.parametrize("scenario", each_in_turn())
def test_the_reference_pair_comes_through(scenario: Scenario) -> None:
    _, judgement = carried_out(compile_scenario(scenario, mode=RunMode.VIRTUAL))

    assert judgement.verdict is Verdict.OK, judgement.reason or judgement.findings


@pytest.mark.parametrize("scenario", each_in_turn())
def test_without_its_faults_what_it_expects_is_not_seen(scenario: Scenario) -> None:
    play, _ = carried_out(compile_scenario(scenario, mode=RunMode.VIRTUAL, is_calm=True))

    assert not all(expectations_met(scenario, play.trace))


def test_every_scenario_of_the_consumer_protocol_can_be_failed() -> None:
    assert FAILED_BY.keys() == {scenario.name for scenario in shipped() if scenario.dialect == CONSUMER.name}


@pytest.mark.parametrize("scenario", [param for param in each_in_turn() if of_param(param).name in FAILED_BY])
def test_a_planted_bug_fails_it(scenario: Scenario) -> None:
    _, judgement = carried_out(compile_scenario(scenario, mode=RunMode.VIRTUAL), variant=FAILED_BY[scenario.name])

    assert judgement.verdict is Verdict.FAILED, judgement.reason


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
    assert sum(1 for scenario in shipped() if scenario.dialect == CONSUMER.name) >= 20
    assert len(shipped()) >= 70
    assert len({scenario.title for scenario in shipped()}) == len(shipped())

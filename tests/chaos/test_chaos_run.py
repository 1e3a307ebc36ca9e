"""What a run of scenarios stands on, and what its report says of it; the runs themselves are `test_commands` and `test_stage`."""

from __future__ import annotations

from groupproof.chaos.chaos_run import ChaosRun
from groupproof.chaos.scenarios.scenario import RunMode
from groupproof.chaos.scenarios.scenario_case import compile_scenario
from groupproof.chaos.scenarios.shipped_scenarios import chosen
from groupproof.chaos.wire.wire_stage import ChaosStage
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.running.plans.client_stage import Stage
from groupproof.harness.running.runs.whole_run import RunConfig
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers
from groupproof.harness.subjects.client_registry import candidate

CASE = compile_scenario(chosen(["fenced-twin"])[0], mode=RunMode.VIRTUAL)


def run(*, brokers: ReferenceBrokers | None = None, unsupported: dict[str, str] | None = None, timeout_s: float | None = None) -> ChaosRun:
    found = candidate("groupproof", (), profile="kafka-4.1", seed=1, say=lambda _: None)
    config = RunConfig(cases=[CASE], profile="kafka-4.1", level="info", seed=1, jobs=1, command=["x"], timeout_s=timeout_s)
    return ChaosRun(found, brokers, config, say=lambda *_: None, on_hello=lambda _: None, note=lambda _: None, unsupported=unsupported or {})


def test_a_night_of_virtual_time_is_not_cut_short() -> None:
    (usual, short) = (run()._in_memory(), run(timeout_s=5)._in_memory())

    assert isinstance(usual, Stage)
    assert usual.limits.steps_s >= 3_600
    assert short.limits.steps_s == 5


def test_over_the_wire_a_scenario_has_its_own_run_mode_and_shorter_waits() -> None:
    stage = run(brokers=ReferenceBrokers(profile="kafka-4.1"))._on_the_wire(ReferenceBrokers(profile="kafka-4.1"))

    assert isinstance(stage, ChaosStage)
    assert stage.limits.steps_s < 120


def test_the_report_names_both_sides() -> None:
    made = run()
    outcome = made.go()

    assert [result.ruling.verdict for result in outcome.summary.results] == [Verdict.OK]
    assert outcome.summary.grade == "PASSED"
    assert outcome.summary.run.environment["coordinator"] == "groupproof"
    assert outcome.summary.subject.coordinator is None
    wired = run(brokers=ReferenceBrokers(profile="kafka-4.1"))
    wired._hello = made._hello
    info = wired.subject_info()
    assert info is not None
    assert info.coordinator == ReferenceBrokers(profile="kafka-4.1").spec == wired.environment()["coordinator"]


def test_what_is_not_available_here_is_said_to_be_untried() -> None:
    (result,) = run(unsupported={CASE.id: "It runs in virtual time alone: so."}).go().summary.results

    assert (result.ruling.verdict, result.ruling.observed) == (Verdict.UNIMPLEMENTED, "It runs in virtual time alone: so.")

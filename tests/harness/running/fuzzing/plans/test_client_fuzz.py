from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path

import pytest
from tests.harness.running.fuzzing.finding import busy_plan, finding, judgement, step_seen

from groupproof.clients.shims.reference import run_shim
from groupproof.harness.cases.drawn_case import drawn_case
from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.judging.summary.expectations import Expectations, load
from groupproof.harness.model.case import Case, plan_of
from groupproof.harness.running.fuzzing.plans.client_fuzz import ClientFuzzing, Effort, _Stage, plan_numbered
from groupproof.harness.running.fuzzing.plans.finds import Find, Finds, Steadiness, kind_of
from groupproof.harness.running.fuzzing.plans.plan_source import Traits
from groupproof.harness.running.fuzzing.plans.shrink_plan import faults_of
from groupproof.harness.running.plans.client_stage import Stage
from groupproof.harness.running.runs.whole_run import RunConfig, RunOutcome
from groupproof.harness.subjects.client_registry import Candidate, candidate
from groupproof.harness.subjects.subject import ReferenceSubject
from groupproof.protocol.trace import Trace

pytestmark = pytest.mark.slow

DROPS = "drops-id-on-heartbeat-27"
HOUR = Effort(max_time_s=3_600.0, plans=2, members=1, shrink_s=25.0)


def fuzzing(
    variant: str | None = None, effort: Effort = HOUR, *, expectations: Expectations | None = None, seed: int = 1
) -> tuple[ClientFuzzing, list[Find], RunOutcome]:
    who = candidate("groupproof", (), profile="kafka-4.1", seed=1, say=lambda _: None)
    return ran(replace(who, subject=ReferenceSubject(run_shim, variant=variant)), effort, expectations or Expectations(), seed)


def ran(who: Candidate, effort: Effort, expectations: Expectations, seed: int) -> tuple[ClientFuzzing, list[Find], RunOutcome]:
    config = RunConfig(cases=(), profile="kafka-4.1", level="info", seed=seed, jobs=10, command=["groupproof"], expectations=expectations)
    found: list[Find] = []
    run = ClientFuzzing(who, config, effort, say=lambda _: None, found=found.append)
    return run, found, run.go()


def test_a_planted_bug_is_found_shrunk_and_shown_again() -> None:
    run, (first, *_), _ = fuzzing(DROPS)

    assert first.finding.observed == "After Heartbeat was answered REBALANCE_IN_PROGRESS it joined again with the empty member id."
    assert (first.steadiness, first.repeats) == (Steadiness.STABLE, (5, 5))
    assert 1 <= len(faults_of(plan_of(first.case))) <= 3
    assert run.finds.found[first.kind] is first


def test_what_is_known_is_counted_and_not_stopped_at(tmp_path: Path) -> None:
    dropped = "After Heartbeat was answered REBALANCE_IN_PROGRESS it joined again with the empty member id."
    kind = kind_of(finding(dropped, requirement="CLIENT-46"))
    failures = (
        '[[known]]\ncase = "fuzz/classic"\nsubject = ""\nverdict = "NON_STRICT"\nfingerprint = "{}"\nreason = "of old"\nurl = "https://x.example"\n'
    )
    file = tmp_path / "known.toml"
    file.write_text(failures.format(kind))
    run, found, _ = fuzzing(DROPS, expectations=load(file))

    assert found == []
    assert run.finds.excused[kind] >= 1
    assert run.plans == 2


def test_a_run_that_is_interrupted_says_so_and_keeps_what_was_reached() -> None:
    who = candidate("groupproof", (), profile="kafka-4.1", seed=1, say=lambda _: None)
    config = RunConfig(cases=(), profile="kafka-4.1", level="info", seed=1, jobs=2, command=["groupproof"])
    run = ClientFuzzing(who, config, replace(HOUR, plans=50), say=lambda _: None, found=lambda _: None)
    settle = run._settle

    def settled_and_interrupted(*of: object) -> None:
        settle(*of)  # type: ignore[arg-type] # as it was called
        signal.raise_signal(signal.SIGINT)

    run._settle = settled_and_interrupted  # type: ignore[method-assign,assignment] # to interrupt in the middle
    outcome = run.go()

    assert outcome.summary.run.interrupted
    assert 1 <= run.plans < 50
    assert f"{run.plans} plans, " in run.state()


def test_a_plan_has_a_number_by_which_it_is_drawn_again() -> None:
    traits = Traits(capabilities={"classic", "commit"}, profile="kafka-4.1")

    assert plan_numbered(7, traits, seed=3) == plan_numbered(7, traits, seed=3)
    assert plan_numbered(7, traits, seed=3)[1] != plan_numbered(7, traits, seed=4)[1]
    assert plan_numbered(3, traits, seed=3)[0] is None


def test_each_kind_is_kept_with_the_run_of_its_plan_that_shows_it() -> None:
    first, later = finding("It did it."), finding("It did another thing.")
    judgements = iter([judgement(first), judgement(first, later)])

    class Judged(Stage):
        def judge(self, case: Case, trace: Trace) -> Judgement:
            return next(judgements)

    who = ReferenceSubject(run_shim)
    stage = _Stage(inner=Judged(subject=who, reference_peers=who, profile="kafka-4.1", seed=1), finds=Finds(()))
    case, traces = drawn_case("1-1", busy_plan()), ([step_seen(0, 0)], [step_seen(0, 1)])
    for trace in traces:
        stage.judge(case, trace)

    assert stage.failures[case.id] == {kind_of(first): (first, traces[0]), kind_of(later): (later, traces[1])}
    assert stage.last[case.id] == traces[1]

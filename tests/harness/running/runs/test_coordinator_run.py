from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.harness.commands.calling import Call

from groupproof.harness.cases.coordinator import CASES
from groupproof.harness.judging.summary.run_summary import CaseReport
from groupproof.harness.model.case import Case, script_of
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.running.case_runner import Progress
from groupproof.harness.running.runs.coordinator_run import CoordinatorRun, expectations_of
from groupproof.harness.running.runs.whole_run import BROKEN_MAX, RunConfig
from groupproof.harness.subjects.brokers.cluster import RunningCluster
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers
from groupproof.harness.subjects.brokers.running_broker import AddressedBrokers
from groupproof.harness.subjects.networks.client_properties import Security

SOME = [case for case in CASES if case.id.startswith(("heartbeat/", "move/"))]


class Unstartable(ReferenceBrokers):
    @asynccontextmanager
    async def cluster(self, *, settings: Mapping[str, Any], brokers: int, topics: Mapping[str, int]) -> AsyncIterator[RunningCluster]:
        raise BrokenEnvironment("java is not here")
        yield  # a generator, as the context wants it


def run(subject: ReferenceBrokers, profile: str = "kafka-4.1") -> CoordinatorRun:
    config = RunConfig(cases=SOME, profile=profile, level="must", seed=1, jobs=64, command=["groupproof"])
    return CoordinatorRun(subject, config, say=lambda *_: None)


@pytest.mark.slow
def test_the_reference_keeps_its_profile_is_summed_up_as_a_coordinator_and_leaves_the_same_traces_by_the_same_seed() -> None:
    outcome, again = (run(ReferenceBrokers(profile="kafka-4.1")).go() for _ in range(2))

    assert {case.verdict for case in outcome.summary.cases} == {Verdict.OK}
    assert [case.case.id for case in outcome.summary.cases] == [case.id for case in SOME]
    assert outcome.summary.subject.side == "coordinator"
    assert "JoinGroup 0-9" in outcome.summary.subject.capabilities
    assert outcome.summary.run.environment["provided_by"] == "in process"
    assert outcome.exit_code == 2  # a selection does not make the grade
    first, second = outcome.summary.cases, again.summary.cases
    assert [case.result.plays[0].trace for case in first] == [case.result.plays[0].trace for case in second]


def test_what_brokers_are_known_to_end_of_comes_when_all_else_is_done() -> None:
    began: list[Case] = []
    cases = [case for case in CASES if case.id.startswith(("malformed/", "channel/", "join/classic/first"))]
    config = RunConfig(cases=cases, profile="kafka-4.1", level="must", seed=1, jobs=64, command=["groupproof"])

    def say(progress: Progress, case: Case, result: CaseReport | None) -> None:
        if progress is Progress.STARTED:
            began.append(case)

    CoordinatorRun(ReferenceBrokers(profile="kafka-4.1"), config, say=say).go()

    roughs = [script_of(case).is_rough for case in began]
    assert roughs == sorted(roughs)
    assert {case.id for case in began if script_of(case).is_rough} >= {"malformed/classic/unknown-api", "join/classic/first-without-protocols"}
    assert not roughs[0]


def test_a_subject_that_cannot_be_started_is_given_up_with_a_report() -> None:
    entries: list[Progress] = []
    config = RunConfig(cases=SOME, profile="kafka-4.1", level="must", seed=1, jobs=64, command=["groupproof"])
    outcome = CoordinatorRun(Unstartable(profile="kafka-4.1"), config, say=lambda progress, *_: entries.append(progress)).go()

    assert outcome.exit_code == 4
    assert entries.count(Progress.DONE) == BROKEN_MAX < len(SOME)
    assert outcome.gave_up == f"none of the first {BROKEN_MAX} cases could be carried through: java is not here"
    assert outcome.summary.subject.capabilities == []


class SilentBrokers(AddressedBrokers):
    """Brokers at an address that no case reaches."""

    @asynccontextmanager
    async def cluster(self, *, settings: Mapping[str, Any], brokers: int, topics: Mapping[str, int]) -> AsyncIterator[RunningCluster]:
        raise BrokenEnvironment("no broker answered")
        yield


@pytest.mark.parametrize(("jobs", "hint"), [(64, "; if the broker is slow, run fewer cases side by side: --jobs 8"), (8, "")])
@pytest.mark.slow
def test_who_has_a_slow_broker_learns_how_to_ask_less_of_it(jobs: int, hint: str) -> None:
    subject = SilentBrokers(bootstrap=[("h", 1)], security=Security(), say=lambda _: None, spec="h:1", asked_profile="kafka-4.1")
    config = RunConfig(cases=SOME, profile="kafka-4.1", level="must", seed=1, jobs=jobs, command=["groupproof"])
    outcome = CoordinatorRun(subject, config, say=lambda *_: None).go()

    assert outcome.gave_up == f"none of the first {BROKEN_MAX} cases could be carried through: no broker answered{hint}"


def test_a_coordinator_without_known_failures_has_no_file_of_them() -> None:
    assert expectations_of(ReferenceBrokers(profile="kafka-4.1").name) is None


@pytest.mark.slow
def test_a_coordinator_is_certified_on_the_command_line(groupproof: Call, tmp_path: Path) -> None:
    called = groupproof("certify", "coordinator", "groupproof", "--profile", "kafka-2.4", "--only", "leave", "--output", "out", "--json")

    assert called.code == 2
    assert called.json["subject"]["side"] == "coordinator"
    assert called.json["suite"]["profile"] == "kafka-2.4"
    assert called.json["totals"]["FAILED"] == 0
    case = called.json["cases"][0]["id"]
    schedule = json.loads((tmp_path / "out" / "cases" / case / "plan.json").read_text())
    assert schedule["script"]["steps"]
    again = groupproof("trace", "check", tmp_path / "out" / "cases" / case, "--json")
    assert [item["verdict"] for item in again.json] == [called.json["cases"][0]["verdict"]]


def test_options_that_make_no_sense_for_a_coordinator_are_refused(groupproof: Call) -> None:
    for option, value, message in (("--hold", "x", "cannot be stopped"), ("--bind", "::1", "listens nowhere"), ("--shim-level", "1", "by no shim")):
        called = groupproof("certify", "coordinator", "groupproof", option, value)
        assert called.code == 3
        assert message in called.complaint


def test_a_setting_that_the_reference_uses_is_in_the_report(groupproof: Call) -> None:
    called = groupproof(
        "certify",
        "coordinator",
        "groupproof",
        "--set",
        "group.max.size=3",
        "--only",
        "delay/classic/newcomers-cost-one-rebalance",
        "--output",
        "out",
        "--json",
    )

    assert called.json["run"]["environment"]["known_settings"] == ["group.max.size=3 (--set)"]
    assert [case["verdict"] for case in called.json["cases"]] == ["INCONCLUSIVE"]


def test_a_setting_that_nobody_knows_is_wrong_usage_with_the_nearest(groupproof: Call) -> None:
    called = groupproof("certify", "coordinator", "groupproof", "--set", "group.max.sise=3")

    assert called.code == 3
    assert "did you mean group.max.size or" in called.complaint

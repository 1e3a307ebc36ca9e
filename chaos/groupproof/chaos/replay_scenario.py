"""Runs a recorded scenario again for `groupproof replay`: the schedule has the plan, and the scenario's name gives the judges."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from groupproof.chaos.chaos_run import ChaosRun
from groupproof.chaos.scenarios.scenario import RunMode
from groupproof.chaos.scenarios.scenario_json import case_made_of, case_of_plan, case_of_scenario
from groupproof.chaos.scenarios.shipped_scenarios import shipped
from groupproof.harness.model.case import Case
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.model.plan import Plan
from groupproof.harness.running.runs.whole_run import RunConfig, RunOutcome
from groupproof.harness.running.schedule_file import Schedule
from groupproof.harness.subjects.brokers.broker_providers import meet, subject_named
from groupproof.harness.subjects.client_registry import candidate, reference_subject

__all__ = ["case_of", "outcome_of"]


def case_of(schedule: Schedule, mode: RunMode) -> Case:
    """Return the recorded case with its judges. Without a known scenario, judge only whether the group settles at the end."""
    plan = schedule.plan
    assert isinstance(plan, Plan), "a scenario's course is a plan"
    if schedule.origin is not None:
        return replace(_made_of(schedule, schedule.origin, mode), plan=plan)
    found = next((scenario for scenario in shipped() if scenario.case_id == schedule.case), None)
    if found is None:
        return case_of_plan(schedule.case, plan)
    members = sum(1 for member in plan.members if member.name.startswith("m"))
    return replace(case_of_scenario(found, mode=mode, members=members), plan=plan)


def _made_of(schedule: Schedule, origin: Mapping[str, Any], mode: RunMode) -> Case:
    try:
        return case_made_of(schedule.case, origin, mode=mode)
    except ValueError as error:
        raise WrongUsage(f"the schedule can't be judged: {error}") from error


def outcome_of(schedule: Schedule, subject: str | None, program: tuple[str, ...], shim_level: int | None, say: Callable[[str], None]) -> RunOutcome:
    """Run the schedule against its recorded coordinator; another `subject`, or a program, replaces the client."""
    recorded = schedule.subject if isinstance(schedule.subject, str) else None
    named = None if program else subject or recorded
    words = program or (schedule.subject if named is None and not isinstance(schedule.subject, str) else ())
    is_virtual = schedule.coordinator is None and named == recorded == "groupproof"
    brokers = None if is_virtual else subject_named(schedule.coordinator or "groupproof", profile=schedule.profile, say=say)
    if brokers is not None:
        meet(brokers, say)
    found = candidate(named, words, profile=schedule.profile, seed=schedule.seed, shim_level=shim_level, say=say)
    if found.subject.is_virtual and not is_virtual:
        found = replace(found, subject=reference_subject(is_virtual=False))
    case = case_of(schedule, RunMode.VIRTUAL if is_virtual else RunMode.WIRE)
    command = ["groupproof", *sys.argv[1:]]
    config = RunConfig(cases=[case], profile=schedule.profile, level="info", seed=schedule.seed, jobs=1, command=command)
    return ChaosRun(found, brokers, config, say=lambda *_: None, on_hello=lambda _: None, note=say, unsupported={}).go()

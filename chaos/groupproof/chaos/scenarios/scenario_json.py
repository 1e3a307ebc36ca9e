"""A scenario as JSON, in its trace and its schedule, so that its expectations can judge both again. Pure.

The head of a trace has the input of the case's judges (`Case.origin`): the scenario with its number of members and its run mode, or the plan
if there is no scenario.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Final

from groupproof.chaos.scenarios.scenario import Action, Duration, Expectation, Fault, Healing, Phase, RunMode, Scenario
from groupproof.chaos.scenarios.scenario_case import compile_scenario
from groupproof.harness.judging.case_checkers.convergence import settles
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan import Await, GroupSettled, Plan, plan_from_json, plan_to_json
from groupproof.harness.model.verdicts import Level

__all__ = ["case_made_of", "case_of_plan", "case_of_scenario", "scenario_from_json"]

_REQUIREMENT: Final = "ASSIGN-09"


def case_of_scenario(scenario: Scenario, *, mode: RunMode, members: int | None = None) -> Case:
    """Return the case of a scenario, with its origin."""
    cast = members or scenario.members
    origin = {"kind": "scenario", "scenario": asdict(scenario), "members": cast, "ground": mode.value}
    return replace(compile_scenario(scenario, mode=mode, members=cast), origin=origin)


def case_of_plan(name: str, plan: Plan) -> Case:
    """Return the case of a plan without a known scenario: its group has to settle as in the plan's last wait."""
    judges = tuple(
        settles(step.until.members, step.until.topics, after=step.until.after, within_ms=step.within_ms, requirement=_REQUIREMENT)
        for step in plan.steps
        if isinstance(step, Await) and isinstance(step.until, GroupSettled) and step.until.after is not None
    )[-1:]
    return Case(
        id=name, title="A recorded plan.", requirements=(_REQUIREMENT,), level=Level.MUST, plan=plan, judges=judges, isolated=True,
        origin={"kind": "plan", "plan": plan_to_json(plan)},
    )  # fmt: skip


def case_made_of(name: str, origin: Mapping[str, Any], *, mode: RunMode | None = None) -> Case:
    """Return the case of an `origin`, in another run mode if `mode` is set; raise `ValueError` for an invalid origin."""
    try:
        if origin["kind"] == "plan":
            return case_of_plan(name, plan_from_json(origin["plan"]))
        scenario = scenario_from_json(origin["scenario"])
        return case_of_scenario(scenario, mode=mode or RunMode(origin["ground"]), members=int(origin["members"]))
    except (AttributeError, KeyError, LookupError, TypeError) as error:
        raise ValueError(f"it does not describe {name} completely: {type(error).__name__}: {error}") from error


def scenario_from_json(value: Mapping[str, Any]) -> Scenario:
    """Return the recorded scenario; raise `KeyError` or `TypeError` for missing or unknown fields."""
    phases, expect = value["phases"], value["expect"]
    parts = {
        "requirements": tuple(value["requirements"]),
        "durations": {name: Duration(**item) for name, item in value["durations"].items()},
        "phases": tuple(
            Phase(**{**phase, "faults": _all_of(Fault, phase["faults"]), "actions": _all_of(Action, phase["actions"])}) for phase in phases
        ),
        "healing": Healing(**value["healing"]),
        "expect": tuple(Expectation(**{**item, "errors": tuple(item["errors"])}) for item in expect),
    }
    return Scenario(**{**value, **parts})


def _all_of(kind: type[Any], values: list[Mapping[str, Any]]) -> tuple[Any, ...]:
    return tuple(kind(**value) for value in values)

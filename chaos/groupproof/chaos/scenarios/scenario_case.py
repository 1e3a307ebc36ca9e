"""Makes a case of a scenario, so that it is run, ruled on, excused, reported and replayed like any other. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from groupproof.chaos.scenarios.scenario import RunMode, Scenario
from groupproof.chaos.scenarios.scenario_expectations import faults_left_receipts, meets
from groupproof.chaos.scenarios.scenario_faults import names_of
from groupproof.chaos.scenarios.scenario_plan import Terms, plan_of_scenario
from groupproof.harness.judging.case_checkers.convergence import settles
from groupproof.harness.model.case import Case, Judge
from groupproof.harness.model.plan import Freeze, Kill
from groupproof.harness.model.prerequisites import needs_of_plan
from groupproof.harness.model.requirement_levels import highest_level

__all__ = ["compile_scenario", "expectations_of"]


def compile_scenario(scenario: Scenario, *, mode: RunMode, members: int | None = None, is_calm: bool = False) -> Case:
    """Return the case of a scenario with `members` members, or its own number; with `is_calm` its faults and actions are left out."""
    terms = Terms(scenario, members or scenario.members, mode)
    plan = plan_of_scenario(terms, is_calm=is_calm)
    return Case(
        id=scenario.case_id,
        title=scenario.title,
        requirements=scenario.requirements,
        level=highest_level(scenario.requirements),
        plan=plan,
        judges=(*expectations_of(terms), faults_left_receipts(plan, frozenset(_optional(terms))), _settles(terms)),
        needs=frozenset(needs_of_plan(plan)),
        isolated=any(isinstance(step, Kill | Freeze) for step in plan.steps),
    )


def expectations_of(terms: Terms) -> tuple[Judge, ...]:
    """Return the judges of the scenario's expectations."""
    scenario = terms.scenario
    marks = (*(phase.name for phase in scenario.phases), scenario.healing.name)
    return tuple(
        meets(expectation, terms.names(expectation), marks, 0 if expectation.lasts is None else terms.ms(expectation.lasts)) for expectation in scenario.expect
    )  # fmt: skip


def _settles(terms: Terms) -> Judge:
    healing = terms.scenario.healing
    return settles(terms.settled, terms.topics, after=healing.name, within_ms=terms.ms(healing.within), requirement=healing.requirement)


def _optional(terms: Terms) -> Iterator[str]:
    for phase in terms.scenario.phases:
        for fault in phase.faults:
            if fault.optional:
                yield from names_of(fault, terms.names(fault))

"""How long a plan waits for something that never comes, read off its steps."""

from __future__ import annotations

from groupproof.harness.model.plan import Arm, Await, Mark, Matches, Pass, Plan, Step

__all__ = ["silent_ms"]


def silent_ms(plan: Plan, after: str | None, *, from_arming: bool = False) -> int:
    """Return how long (ms) the plan goes on from a mark, or a fault's delivery or arming, if the client says nothing from there on."""
    begun = _armed(plan, after) if from_arming else _reached(plan, after)
    return sum(_waits_ms(step) for step in _until_it_gives_up(plan.steps[begun:]))


def _armed(plan: Plan, fault: str | None) -> int:
    return next(index for index, step in enumerate(plan.steps) if isinstance(step, Arm) and step.fault.name == fault)


def _reached(plan: Plan, after: str | None) -> int:
    """Return the step behind the one that proves the instant: the mark, the wait for the delivery, or else the arming of the fault."""
    places = {step.fault.name: index for index, step in enumerate(plan.steps) if isinstance(step, Arm)}
    places |= {step.name: index for index, step in enumerate(plan.steps) if isinstance(step, Mark)}
    for index, step in reversed(list(enumerate(plan.steps))):
        if isinstance(step, Await) and isinstance(step.until, Matches) and step.until.kind_of == "fault" and step.until.fault == after:
            places[step.until.fault or ""] = index
    return places[after] + 1 if after is not None else 0


def _until_it_gives_up(steps: tuple[Step, ...]) -> list[Step]:
    """Return the steps up to the first wait after which the plan does not go on."""
    last = next((index for index, step in enumerate(steps) if isinstance(step, Await) and not step.go_on), len(steps))
    return list(steps[: last + 1])


def _waits_ms(step: Step) -> int:
    if isinstance(step, Pass):
        return step.ms
    return step.within_ms if isinstance(step, Await) else 0

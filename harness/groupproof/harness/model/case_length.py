"""How long a case takes, estimated from its plan or its script. The longest cases start first, and shards get equal work. Pure."""

from __future__ import annotations

from groupproof.harness.model.case import Case
from groupproof.harness.model.plan import Arm, Await, Command, Pass, Step
from groupproof.harness.model.script import Pass as ScriptPass
from groupproof.harness.model.script import Script
from groupproof.protocol.faults import Hold

__all__ = ["length_ms"]


def length_ms(case: Case) -> int:
    """Estimate how long a case takes in ms: its passes, holds and sleeps, and a little for each step that waits."""
    if isinstance(case.plan, Script):
        return sum(step.ms if isinstance(step, ScriptPass) else 50 for step in case.plan.steps)
    handing_over: int = sum(member.settings.get("on_revoked", {}).get("sleep_ms", 0) for member in case.plan.members)
    return handing_over + sum(_length_ms(step) for step in case.plan.steps)


def _length_ms(step: Step) -> int:
    if isinstance(step, Pass):
        return step.ms
    if isinstance(step, Arm) and isinstance(step.fault.action, Hold):
        return step.fault.action.ms or 0
    return 100 if isinstance(step, Await | Command) else 50

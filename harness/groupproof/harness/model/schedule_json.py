"""The steps of a case in a schedule file: a plan under `plan` for a client, a script under `script` for a coordinator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupproof.harness.model.plan import Plan, plan_from_json, plan_to_json
from groupproof.harness.model.script import Script, script_from_json, script_to_json

__all__ = ["course_from_json", "course_to_json"]


def course_to_json(course: Plan | Script) -> dict[str, Any]:
    """Return the one entry of the schedule file that holds the plan or script."""
    return {"plan": plan_to_json(course)} if isinstance(course, Plan) else {"script": script_to_json(course)}


def course_from_json(schedule: Mapping[str, Any]) -> Plan | Script:
    """Return the plan or script of a schedule. Raise `ValueError` naming the part that is unknown or missing."""
    if "script" in schedule:
        return script_from_json(schedule["script"])
    if "plan" not in schedule:
        raise ValueError("it has neither a plan nor a script")
    return plan_from_json(schedule["plan"])

"""A client with its own assignor: where a plan names none, all members of the group use it, the reference members too."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from groupproof.harness.model.plan import Member, Plan
from groupproof.protocol.wire.embedded.faust_metadata import ASSIGNOR

__all__ = ["own_assignor_of", "with_assignor"]


def own_assignor_of(capabilities: Collection[str]) -> str | None:
    """Return the assignor named by a shim's capabilities, which has the capability's name; None where its client has the common ones."""
    return ASSIGNOR if ASSIGNOR in capabilities else None


def with_assignor(plan: Plan, assignor: str) -> Plan:
    """Return the plan with this assignor for every member whose settings name none."""
    return replace(plan, members=tuple(_with_assignor(member, assignor) for member in plan.members))


def _with_assignor(member: Member, assignor: str) -> Member:
    return member if "assignors" in member.settings else replace(member, settings={**member.settings, "assignors": [assignor]})

"""A client that brings an assignor of its own: where a plan names none, all members of the group assign by it, the reference members too."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from groupproof.harness.model.plan import Member, Plan
from groupproof.protocol.wire.embedded.faust_metadata import ASSIGNOR

__all__ = ["own_assignor_of", "with_assignor"]


def own_assignor_of(capabilities: Collection[str]) -> str | None:
    """Return the assignor that a shim's capabilities name, which is called like it; None where its client has those that others have."""
    return ASSIGNOR if ASSIGNOR in capabilities else None


def with_assignor(plan: Plan, assignor: str) -> Plan:
    """Return the plan with this assignor for every member for which it names none."""
    return replace(plan, members=tuple(_with_assignor(member, assignor) for member in plan.members))


def _with_assignor(member: Member, assignor: str) -> Member:
    return member if "assignors" in member.settings else replace(member, settings={**member.settings, "assignors": [assignor]})

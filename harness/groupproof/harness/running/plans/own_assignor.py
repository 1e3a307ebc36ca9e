"""A client that brings an assignor of its own: where a plan names none, all members of the group assign by it, the reference members too."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from groupproof.harness.model.plan import Member, Plan
from groupproof.protocol.wire.faust_metadata import ASSIGNOR

__all__ = ["with_own_assignor"]


def with_own_assignor(plan: Plan, capabilities: Collection[str]) -> Plan:
    """Return the plan with the assignor that a capability names; the plan itself where there is none."""
    return replace(plan, members=tuple(_with_assignor(member) for member in plan.members)) if ASSIGNOR in capabilities else plan


def _with_assignor(member: Member) -> Member:
    return member if "assignors" in member.settings else replace(member, settings={**member.settings, "assignors": [ASSIGNOR]})

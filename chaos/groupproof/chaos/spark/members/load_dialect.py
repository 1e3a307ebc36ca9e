"""What the dialect of a load's members changes: the settings of its members and of its coordinator, and what counts as a step of a group. Pure.

In the consumer protocol (KIP-848) the coordinator has the session timeout and the heartbeat interval, within bounds of its own. A load has them from
its members' settings in either protocol, so that a churn plan suits both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER

__all__ = ["DIALECTS", "coordinator_settings", "member_settings", "steps_of"]

DIALECTS: Final = (CLASSIC.name, CONSUMER.name)

_BOUNDED: Final[Mapping[str, tuple[str, int, int]]] = {
    "session_timeout_ms": ("session.timeout", 45_000, 60_000),
    "heartbeat_interval_ms": ("heartbeat.interval", 5_000, 15_000),
}
"""The coordinator's name of a member's setting, and Kafka's own bounds of it in milliseconds (GroupCoordinatorConfig)."""


def coordinator_settings(dialect: str, member: Mapping[str, Any]) -> dict[str, int]:
    """Return the coordinator's settings for members with these; bounds are only widened."""
    if dialect != CONSUMER.name:
        return {}
    found: dict[str, int] = {}
    for name, (own, least_ms, most_ms) in _BOUNDED.items():
        if name in member:
            found[f"group.consumer.{own}.ms"] = member[name]
            found[f"group.consumer.min.{own}.ms"] = min(member[name], least_ms)
            found[f"group.consumer.max.{own}.ms"] = max(member[name], most_ms)
    return found


def member_settings(dialect: str, member: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a member that speaks this dialect."""
    return {**member, "by_epochs": True} if dialect == CONSUMER.name else dict(member)


def steps_of(dialect: str) -> str:
    """Return the word for the steps of a group that members and coordinator report: rebalances, or epochs."""
    return "epochs" if dialect == CONSUMER.name else "rebalances"

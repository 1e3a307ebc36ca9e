"""What the dialect of a load's members changes: the settings of its members and of its coordinator, and what counts as a step of a group. Pure.

In the consumer protocol (KIP-848) the coordinator has the session timeout and the heartbeat interval, within bounds of its own. A load has them from
its members' settings in either protocol, so that a churn plan suits both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.consumer.group_configs import BROKER_SETTINGS, GROUP_CONFIGS, GroupConfig

__all__ = ["DIALECTS", "coordinator_settings", "member_settings", "steps_of"]

DIALECTS: Final = (CLASSIC.name, CONSUMER.name)

_OF_THE_COORDINATOR: Final[Mapping[str, GroupConfig]] = {
    "session_timeout_ms": GROUP_CONFIGS["consumer.session.timeout.ms"], "heartbeat_interval_ms": GROUP_CONFIGS["consumer.heartbeat.interval.ms"],
}  # fmt: skip
"""By a member's setting: what the coordinator has instead."""


def coordinator_settings(dialect: str, member: Mapping[str, Any]) -> dict[str, int]:
    """Return the coordinator's settings for members with these; bounds are only widened."""
    if dialect != CONSUMER.name:
        return {}
    found: dict[str, int] = {}
    for name, config in _OF_THE_COORDINATOR.items():
        if name in member:
            found[config.broker] = member[name]
            found[config.low] = min(member[name], int(BROKER_SETTINGS[config.low]))
            found[config.high] = max(member[name], int(BROKER_SETTINGS[config.high]))
    return found


def member_settings(dialect: str, member: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a member that speaks this dialect."""
    return {**member, "by_epochs": True} if dialect == CONSUMER.name else dict(member)


def steps_of(dialect: str) -> str:
    """Return the word for the steps of a group that members and coordinator report: rebalances, or epochs."""
    return "epochs" if dialect == CONSUMER.name else "rebalances"

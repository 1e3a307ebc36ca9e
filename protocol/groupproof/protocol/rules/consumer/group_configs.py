"""The settings of the `consumer` dialect, for the broker and for one group, with their bounds (KIP-848, KIP-1263; CGD-29 to CGD-40)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

__all__ = [
    "ASSIGNMENT_INTERVAL", "ASSIGNORS", "BROKER_SETTINGS", "GROUP_CONFIGS", "HEARTBEAT_INTERVAL", "MAX_SIZE", "MIGRATION_POLICY", "PROTOCOLS",
    "REGEX_REFRESH_INTERVAL", "REGEX_REFRESH_LEAST_MS", "SESSION_TIMEOUT", "ConfigOperation", "ConfigResource", "GroupConfig",
]  # fmt: skip

SESSION_TIMEOUT: Final = "group.consumer.session.timeout.ms"
HEARTBEAT_INTERVAL: Final = "group.consumer.heartbeat.interval.ms"
ASSIGNMENT_INTERVAL: Final = "group.consumer.assignment.interval.ms"
MAX_SIZE: Final = "group.consumer.max.size"
MIGRATION_POLICY: Final = "group.consumer.migration.policy"
ASSIGNORS: Final = "group.consumer.assignors"
REGEX_REFRESH_INTERVAL: Final = "group.consumer.regex.refresh.interval.ms"
PROTOCOLS: Final = "group.coordinator.rebalance.protocols"

REGEX_REFRESH_LEAST_MS: Final = 10_000
"""The least time between two resolutions of a group's regular expressions, in ms (`REGEX_BATCH_REFRESH_MIN_INTERVAL_MS`, CGX-28)."""

BROKER_SETTINGS: Final[Mapping[str, int | str]] = {
    SESSION_TIMEOUT: 45_000,
    "group.consumer.min.session.timeout.ms": 45_000,
    "group.consumer.max.session.timeout.ms": 60_000,
    HEARTBEAT_INTERVAL: 5_000,
    "group.consumer.min.heartbeat.interval.ms": 5_000,
    "group.consumer.max.heartbeat.interval.ms": 15_000,
    ASSIGNMENT_INTERVAL: 1_000,
    "group.consumer.min.assignment.interval.ms": 0,
    "group.consumer.max.assignment.interval.ms": 15_000,
    MAX_SIZE: 2_147_483_647,
    MIGRATION_POLICY: "bidirectional",
    ASSIGNORS: "uniform,range",
    REGEX_REFRESH_INTERVAL: 600_000,
    PROTOCOLS: "classic,consumer",
}


class ConfigResource(IntEnum):
    """The served types of Kafka's `ConfigResource.Type`."""

    BROKER = 4
    GROUP = 32


class ConfigOperation(IntEnum):
    """Kafka's `AlterConfigOp.OpType`."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConfig:
    """A setting for one group: the broker setting that it overrides, and those of its bounds.

    `field` names the release's field that must not be 0 for the setting to exist.
    """

    name: str
    broker: str
    low: str
    high: str
    field: str = ""


GROUP_CONFIGS: Final[Mapping[str, GroupConfig]] = {
    config.name: config
    for config in (
        GroupConfig(
            name="consumer.session.timeout.ms", broker=SESSION_TIMEOUT, low="group.consumer.min.session.timeout.ms", high="group.consumer.max.session.timeout.ms",
        ),
        GroupConfig(
            name="consumer.heartbeat.interval.ms", broker=HEARTBEAT_INTERVAL, low="group.consumer.min.heartbeat.interval.ms",
            high="group.consumer.max.heartbeat.interval.ms",
        ),
        GroupConfig(
            name="consumer.assignment.interval.ms", broker=ASSIGNMENT_INTERVAL, low="group.consumer.min.assignment.interval.ms",
            high="group.consumer.max.assignment.interval.ms", field="assignment_waits",
        ),
    )
}  # fmt: skip
"""The group settings by their names in IncrementalAlterConfigs."""

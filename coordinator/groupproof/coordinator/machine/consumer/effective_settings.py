"""The settings of the `consumer` dialect for the machine: the broker's, and one group's configs within the broker's bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from groupproof.coordinator.machine.coordinator_settings import Settings
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.consumer.group_configs import (
    ASSIGNORS,
    GROUP_CONFIGS,
    MAX_SIZE,
    MIGRATION_POLICY,
    PROTOCOLS,
    REGEX_REFRESH_INTERVAL,
    GroupConfig,
)
from groupproof.protocol.rules.setting_values import listed
from groupproof.protocol.vocabulary import ErrorCode

__all__ = ["ConsumerSettings", "GroupTimes", "checked_config", "config_defaults", "consumer_settings", "group_times"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerSettings:
    """The broker's settings."""

    members_max: int
    assignors: tuple[str, ...]
    protocols: frozenset[str]
    migration_policy: str
    regex_refresh_interval_ms: int
    values: Mapping[str, int]
    times: GroupTimes  # of a group that has no configs of its own

    @property
    def upgrades(self) -> bool:
        """Return whether a classic group with members may become a consumer group (`ConsumerGroupMigrationPolicy`)."""
        return self.migration_policy in ("upgrade", "bidirectional")

    @property
    def downgrades(self) -> bool:
        """Return whether a consumer group whose members are all classic becomes a classic group."""
        return self.migration_policy in ("downgrade", "bidirectional")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTimes:
    """The effective times of one group."""

    session_timeout_ms: int
    heartbeat_interval_ms: int
    assignment_interval_ms: int


def _read(brought: tuple[tuple[str, int | str], ...]) -> ConsumerSettings:
    values = dict(brought)
    numbers = {name: value for name, value in values.items() if isinstance(value, int)}
    return ConsumerSettings(
        members_max=int(values[MAX_SIZE]),
        assignors=tuple(_BY_CLASS.get(name, name) for name in listed(values[ASSIGNORS])),
        protocols=frozenset(listed(values[PROTOCOLS])),
        migration_policy=str(values[MIGRATION_POLICY]).lower(),
        regex_refresh_interval_ms=int(values[REGEX_REFRESH_INTERVAL]),
        values=numbers,
        times=_times(numbers, {}, raises=False),
    )


_KAFKAS: Final = "org.apache.kafka.coordinator.group.assignor."
_BY_CLASS: Final[Mapping[str, str]] = {f"{_KAFKAS}UniformAssignor": "uniform", f"{_KAFKAS}RangeAssignor": "range"}
"""Kafka's own assignors by their classes: `group.consumer.assignors` may list either (`GroupCoordinatorConfig.consumerGroupAssignors`)."""


def consumer_settings(settings: Settings) -> ConsumerSettings:
    """Return the broker's settings of the dialect."""
    parsed: ConsumerSettings | None = settings.parsed.get(CONSUMER.name)
    if parsed is None:
        parsed = settings.parsed[CONSUMER.name] = _read(settings.brought)
    return parsed


def group_times(settings: Settings, configs: Mapping[str, int], *, raises: bool) -> GroupTimes:
    """Return the effective times of a group with these configs.

    Values below the broker's current minimum are raised to it, if the release `raises` them.
    """
    broker = consumer_settings(settings)
    return _times(broker.values, configs, raises=raises) if configs else broker.times


def _times(broker: Mapping[str, int], configs: Mapping[str, int], *, raises: bool) -> GroupTimes:
    def value(config: GroupConfig) -> int:
        own = configs.get(config.name)
        if own is None:
            return broker[config.broker]
        return min(max(own, broker[config.low]), broker[config.high]) if raises else own

    session, heartbeat, assignment = (
        value(GROUP_CONFIGS[name]) for name in ("consumer.session.timeout.ms", "consumer.heartbeat.interval.ms", "consumer.assignment.interval.ms")
    )
    return GroupTimes(session_timeout_ms=session, heartbeat_interval_ms=heartbeat, assignment_interval_ms=assignment)


def config_defaults(settings: Settings, fields: Mapping[str, int]) -> dict[str, int]:
    """Return the effective values of a group without configs, by the config names that the release has."""
    broker = consumer_settings(settings).values
    return {name: broker[config.broker] for name, config in GROUP_CONFIGS.items() if not config.field or fields[config.field]}


def checked_config(settings: Settings, fields: Mapping[str, int], group_id: str, configs: Mapping[str, str]) -> tuple[ErrorCode, dict[str, int]]:
    """Return a group's new configs, or the error by which they are refused (CGD-30 to CGD-34)."""
    if not group_id:
        return ErrorCode.INVALID_REQUEST, {}
    broker, values = consumer_settings(settings).values, dict[str, int]()
    for name, text in configs.items():
        config = GROUP_CONFIGS.get(name)
        if config is None or (config.field and not fields[config.field]) or not text.lstrip("-").isdigit():
            return ErrorCode.INVALID_CONFIG, {}
        values[name] = int(text)
        if not broker[config.low] <= values[name] <= broker[config.high]:
            return ErrorCode.INVALID_CONFIG, {}
    times = group_times(settings, values, raises=False)
    if times.session_timeout_ms <= times.heartbeat_interval_ms:
        return ErrorCode.INVALID_CONFIG, {}
    return ErrorCode.NONE, values

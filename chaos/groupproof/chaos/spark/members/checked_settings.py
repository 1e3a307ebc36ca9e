"""Checks the settings of a load's members: `--set` of the command, and the `member` table of a churn plan. Pure.

They are `MemberSettings`, whatever the client is. A third-party client has some of them, under names of its own; one that it lacks is an error.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Any, Final

import msgspec

from groupproof.chaos.spark.members import kafka_python_member, librdkafka_member
from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER

__all__ = ["SETTINGS", "checked_settings", "lacking_settings"]

_OWN: Final = frozenset({"group", "topics", "instance_id", "by_epochs", "worker", "thread"})
"""What a load sets itself, or does not run."""

SETTINGS: Final = tuple(column.name for column in fields(MemberSettings) if column.name not in _OWN)

_OF_THE_OTHER: Final = {CLASSIC.name: frozenset({"topic_regex", "remote_assignor"}), CONSUMER.name: frozenset({"assignors"})}
"""By dialect: the settings that it lacks. In the consumer protocol the coordinator assigns."""
_TAKEN_BY: Final[Mapping[str, Collection[str]]] = {
    "kafka-python": kafka_python_member.SETTINGS, "librdkafka": librdkafka_member.SETTINGS,
}  # fmt: skip


def checked_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with values of their types; text such as `false` or `range,sticky` is read. Raise `ValueError` for a wrong value."""
    texts = {name: value.split(",") if name == "assignors" and isinstance(value, str) else value for name, value in settings.items()}
    made = _converted({"group": "g", "topics": ["t"], **texts})
    return {name: list(value) if isinstance(value := getattr(made, name), tuple) else value for name in texts}


def _converted(settings: Mapping[str, Any]) -> MemberSettings:
    try:
        return msgspec.convert(settings, MemberSettings, strict=False)
    except msgspec.ValidationError as error:
        reason, _, where = str(error).partition(" - at `$.")
        raise ValueError(f"{where.rstrip('`')}: {reason}" if where else reason) from None


def lacking_settings(kind: str, dialect: str, settings: Mapping[str, Any]) -> list[str]:
    """Return the settings that a client of this kind, or this dialect, does not have."""
    return sorted(name for name in settings if name in _OF_THE_OTHER[dialect] or name not in _TAKEN_BY.get(kind, SETTINGS))

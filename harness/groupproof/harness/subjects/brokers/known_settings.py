"""The known settings of a broker beside those that it was started with: by its own report, or by its user's `--set`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from groupproof.coordinator.machine.coordinator_settings import OWN_NAMES, Settings, UnknownSetting, setting_names
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.subjects.brokers.cluster import KnownSetting
from groupproof.protocol.rules.classic.classic_settings import NO_LIMIT
from groupproof.protocol.rules.dialect_registry import dialects
from groupproof.protocol.rules.setting_values import as_text

__all__ = [
    "BY_HAND", "BY_ITSELF", "differing", "known_by_itself", "settable",
    "settings_by_hand", "values_of",
]  # fmt: skip

BY_HAND: Final = "--set"
BY_ITSELF: Final = "DescribeConfigs"

_NO_SETTING: Final = "new.member.join.timeout.ms"
"""The wait for a new member is a constant in Kafka (TIMER-12)."""

_LEAST: Final[Mapping[str, int]] = {
    "group.max.size": 1, "group.consumer.max.size": 1, "offsets.topic.num.partitions": 1, "offsets.retention.check.interval.ms": 1,
}  # fmt: skip


def settable(profile: str) -> tuple[str, ...]:
    """Return the settings that a profile's group rules use, including those of its dialects."""
    return tuple(sorted(setting_names(profile) - {_NO_SETTING}))


def settings_by_hand(pairs: Iterable[str], profile: str) -> dict[str, int | str]:
    """Return the settings of NAME=VALUE pairs; raise `WrongUsage` for a name that no rule uses, with the nearest names, and for an invalid value."""
    found: dict[str, int | str] = {}
    names = settable(profile)
    for pair in pairs:
        name, has_value, text = pair.partition("=")
        name = name.strip()
        if not has_value:
            raise WrongUsage(f"{BY_HAND} {pair}: write NAME=VALUE, such as {BY_HAND} group.max.size=100")
        if name not in names:
            raise WrongUsage(_unknown(name, names))
        value = _value(name, text.strip(), profile)
        if found.setdefault(name, value) != value:
            raise WrongUsage(f"{BY_HAND} {name}: it is given twice, as {found[name]} and as {value}")
    _check_bounds(found, profile)
    return found


def _unknown(name: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(name.lower().replace("_", "."), names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(names)}"
    return f"{BY_HAND} {name}: no rule of a group asks for this setting; {hint}"


def _value(name: str, text: str, profile: str) -> int | str:
    try:
        value = Settings.of({name: text}, profile).by_name()[name]
    except UnknownSetting as error:
        raise WrongUsage(f"{BY_HAND} {error}") from error
    least = _LEAST.get(name, 0)
    if isinstance(value, int) and not least <= value <= NO_LIMIT:
        raise WrongUsage(f"{BY_HAND} {name} must be a whole number from {least} to {NO_LIMIT}, not {text}")
    return value


def _check_bounds(found: Mapping[str, int | str], profile: str) -> None:
    """Raise `WrongUsage` where the minimum session timeout is above the maximum: no broker starts so (KafkaConfig.validateValues)."""
    bounds = Settings.of(found, profile)
    if bounds.group_min_session_timeout_ms > bounds.group_max_session_timeout_ms:
        least, most = bounds.group_min_session_timeout_ms, bounds.group_max_session_timeout_ms
        raise WrongUsage(f"{BY_HAND} group.min.session.timeout.ms: {least} is above group.max.session.timeout.ms, {most}")


def known_by_itself(settings: Mapping[str, str | None] | str) -> dict[str, KnownSetting]:
    """Return the settings that rules use, by a broker's own report; none where it does not report its settings."""
    if isinstance(settings, str):
        return {}
    defaults = {**dict.fromkeys(OWN_NAMES, 0), **{name: default for dialect in dialects() for name, default in dialect.settings.items()}}
    values = {name: _read_value(settings.get(name), default) for name, default in sorted(defaults.items()) if name != _NO_SETTING}
    return {name: KnownSetting(value, BY_ITSELF) for name, value in values.items() if value is not None}


def _read_value(text: str | None, default: int | str) -> int | str | None:
    """Return a reported value in the type of its default, None where it has no such value."""
    if text is None or isinstance(default, str):
        return text
    number = {"true": "1", "false": "0"}.get(text, text)
    return int(number) if number.lstrip("-").isdigit() else None


def differing(asked: Mapping[str, Any], present: Mapping[str, KnownSetting]) -> dict[str, str]:
    """Return the `asked` settings that the broker is known to have with another value, each with the reason."""
    pairs = ((name, as_text(value), as_text(present[name].value)) for name, value in asked.items() if name in present)
    return {name: f"the broker has {has}, {needed} is needed" for name, needed, has in pairs if has != needed}


def values_of(settings: Mapping[str, KnownSetting]) -> dict[str, int | str]:
    return {name: value.value for name, value in settings.items()}

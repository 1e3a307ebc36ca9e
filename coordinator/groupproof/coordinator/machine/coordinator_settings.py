"""The broker settings that the coordinator reads. Names are Kafka's, with underscores for dots; times are in milliseconds."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from groupproof.protocol.rules.profiles import profile as profile_named

__all__ = ["OWN_NAMES", "Settings", "UnknownSetting", "setting_names"]


_BOOLEANS: Final[Mapping[Any, int]] = {"true": 1, "false": 0}
_SWITCHES: Final = frozenset({"transaction_partition_verification_enable"})


class UnknownSetting(ValueError):
    """The coordinator does not read the setting, or its value is not a whole number. The message names the setting and the correct form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Kafka's defaults of the newest release. `of` returns another release's (TIMER-01 to TIMER-16, TIMER-40).

    `brought` are the dialects' own settings, by their dotted names. `parsed` caches the values that a dialect parses from them, because every
    heartbeat reads them. `new_member_join_timeout_ms` is a constant in Kafka (TIMER-12), not a setting.
    """

    group_initial_rebalance_delay_ms: int = 3_000
    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_max_size: int = 2_147_483_647
    offset_metadata_max_bytes: int = 4_096
    offsets_commit_timeout_ms: int = 5_000
    offsets_retention_check_interval_ms: int = 600_000
    offsets_retention_minutes: int = 10_080
    offsets_topic_num_partitions: int = 50
    transaction_partition_verification_enable: int = 1  # true or false; read since 3.7
    new_member_join_timeout_ms: int = 300_000
    brought: Any = ()  # pairs of a name and its value
    parsed: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def offsets_retention_ms(self) -> int:
        return self.offsets_retention_minutes * 60_000

    def of_dialect(self, name: str) -> int | str:
        """Return a dialect's own setting, by its dotted name; raise `KeyError` where no dialect of the profile has it."""
        value: int | str = dict(self.brought)[name]
        return value

    def by_name(self) -> dict[str, int | str]:
        """Return all settings by their dotted names."""
        own = {name: getattr(self, name.replace(".", "_")) for name in OWN_NAMES}
        return {**own, **dict(self.brought)}

    @classmethod
    def of(cls, named: Mapping[str, Any], profile: str = "kafka-4.1") -> Settings:
        """Return the profile's defaults, overridden by `named` (Kafka's dotted names); raise `UnknownSetting` for a bad name or value."""
        names = {name.replace(".", "_") for name in OWN_NAMES}
        values: dict[str, int] = {}
        brought = {name: value for dialect in profile_named(profile).dialects for name, value in dialect.settings.items()}
        for name, value in {**profile_named(profile).defaults, **named}.items():
            key = name.replace(".", "_")
            if name in brought:
                brought[name] = _as_brought(name, value, brought[name])
                continue
            if key not in names:
                nearest = difflib.get_close_matches(key, names, n=1)
                hint = f"; did you mean {nearest[0].replace('_', '.')}?" if nearest else ""
                raise UnknownSetting(f"the coordinator reads no setting {name!r}{hint}")
            try:
                values[key] = _BOOLEANS[value] if value in _BOOLEANS and key in _SWITCHES else int(value)
            except (TypeError, ValueError):
                raise UnknownSetting(f"{name} must be a whole number, not {value!r}") from None
        return cls(**values, brought=tuple(brought.items()))


def _as_brought(name: str, value: Any, default: int | str) -> int | str:
    try:
        return type(default)(value)
    except (TypeError, ValueError):
        raise UnknownSetting(f"{name} must be a whole number, not {value!r}") from None


OWN_NAMES: Final = tuple(column.name.replace("_", ".") for column in fields(Settings) if column.name not in ("brought", "parsed"))
"""The dotted names of the settings that every dialect reads."""


def setting_names(profile: str) -> frozenset[str]:
    """Return the dotted names of all settings that a coordinator of the profile reads."""
    return frozenset(OWN_NAMES).union(*(dialect.settings for dialect in profile_named(profile).dialects))

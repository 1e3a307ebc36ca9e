"""The broker settings that the coordinator obeys, under Kafka's own names with dots turned to underscores; times are milliseconds."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from groupproof.protocol.rules.profiles import profile as profile_named

__all__ = ["Settings", "UnknownSetting"]


_BOOLEANS: Final[Mapping[Any, int]] = {"true": 1, "false": 0}
_SWITCHES: Final = frozenset({"transaction_partition_verification_enable"})


class UnknownSetting(ValueError):
    """A setting that the coordinator does not read, or a value that is no whole number; the message says which and what to write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Kafka's defaults of the newest release; `of` gives another release's (TIMER-01 to TIMER-16, TIMER-40).

    `new_member_join_timeout_ms` is a constant in Kafka (TIMER-12) and no setting there.
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

    @property
    def offsets_retention_ms(self) -> int:
        return self.offsets_retention_minutes * 60_000

    @classmethod
    def of(cls, named: Mapping[str, Any], profile: str = "kafka-4.1") -> Settings:
        """Return the profile's defaults with `named` (Kafka's dotted names) over them; raise `UnknownSetting`."""
        known = {field.name for field in fields(cls)}
        values: dict[str, int] = {}
        for name, value in {**profile_named(profile).defaults, **named}.items():
            key = name.replace(".", "_")
            if key not in known:
                nearest = difflib.get_close_matches(key, known, n=1)
                hint = f"; did you mean {nearest[0].replace('_', '.')}?" if nearest else ""
                raise UnknownSetting(f"the coordinator reads no setting {name!r}{hint}")
            try:
                values[key] = _BOOLEANS[value] if value in _BOOLEANS and key in _SWITCHES else int(value)
            except (TypeError, ValueError):
                raise UnknownSetting(f"{name} must be a whole number, not {value!r}") from None
        return cls(**values)

"""The names of the broker's settings for classic groups and for offsets (`GroupCoordinatorConfig`, `OffsetConfig` of Kafka)."""

from __future__ import annotations

from typing import Final

__all__ = ["GROUP_MAX_SIZE", "INITIAL_DELAY", "MAX_SESSION", "METADATA_BYTES", "MIN_SESSION", "NO_LIMIT"]

INITIAL_DELAY: Final = "group.initial.rebalance.delay.ms"
MIN_SESSION: Final = "group.min.session.timeout.ms"
MAX_SESSION: Final = "group.max.session.timeout.ms"
GROUP_MAX_SIZE: Final = "group.max.size"
METADATA_BYTES: Final = "offset.metadata.max.bytes"

NO_LIMIT: Final = 2**31 - 1
"""The largest value of a number among Kafka's settings: a bound with it is none."""

"""The broker settings that the group protocol reads, with Kafka's own names and each release's defaults (TIMER-01 to TIMER-16, TIMER-40)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["DEFAULTS", "NEWEST_DEFAULTS"]

NEWEST_DEFAULTS: Final[Mapping[str, int]] = {
    "group.initial.rebalance.delay.ms": 3_000,
    "group.min.session.timeout.ms": 6_000,
    "group.max.session.timeout.ms": 1_800_000,
    "group.max.size": 2_147_483_647,
    "offset.metadata.max.bytes": 4_096,
    "offsets.commit.timeout.ms": 5_000,
    "offsets.retention.check.interval.ms": 600_000,
    "offsets.retention.minutes": 10_080,
    "offsets.topic.num.partitions": 50,
}

DEFAULTS: Final[Mapping[str, Mapping[str, int]]] = {
    "kafka-1.1": {**NEWEST_DEFAULTS, "group.max.session.timeout.ms": 300_000, "offsets.retention.minutes": 1_440},
    "kafka-2.4": NEWEST_DEFAULTS,
    "kafka-2.8": NEWEST_DEFAULTS,
    "kafka-3.9": NEWEST_DEFAULTS,
    "kafka-4.0": NEWEST_DEFAULTS,
    "kafka-4.1": NEWEST_DEFAULTS,
}

"""The broker settings that the group protocol reads, with Kafka's own names and each release's defaults (TIMER-01 to TIMER-16, TIMER-40)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupproof.protocol.rules.deltas import Release

__all__ = ["NEWEST_DEFAULTS", "defaults"]

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

# Oldest first: the values before a release. KIP-186 (2.0) keeps offsets for 7 days, KIP-345 (2.3) allows sessions of 30 minutes.
_BEFORE: Final[Mapping[Release, Mapping[str, int]]] = {
    (2, 0): {"offsets.retention.minutes": 1_440},
    (2, 3): {"group.max.session.timeout.ms": 300_000},
}


def defaults(release: Release) -> dict[str, int]:
    """Return the defaults of a release."""
    settings = dict(NEWEST_DEFAULTS)
    for since, values in _BEFORE.items():
        if release < since:
            settings.update(values)
    return settings

"""Known bugs that every release of Kafka has, which the tables follow: a coordinator without one is right by KIP-848, and a later release of Kafka may be one.

Each is a field that no release sets. The machine does the mended thing where it is set, in a profile that is mixed for that (`profiles.mixed`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["MENDED", "MENDS"]

MENDED: Final = "a release without the bug"
"""Whose the part of a mixed profile is that no release has."""

MENDS: Final[Mapping[str, str]] = {
    "upgrade_begins_at_1": "CGG-11",  # a group that is upgraded at generation 0 begins at 1, as a new one does (docs/findings/kafka-group-at-epoch-0.md)
    "target_by_own_subscriptions": "CGA-05",  # a target is computed by the own subscription of each member (docs/findings/kafka-target-of-a-join-without-topics.md)
}
"""The requirement that the mended coordinator keeps, by the field."""

"""Known bugs of every Kafka release, which the tables follow. A coordinator without one is correct by KIP-848.

A later release of Kafka may fix one. Each is a field that no release sets. Where it is set, in a profile mixed for that (`profiles.mixed`), the
machine does without the bug.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["MENDED", "MENDS"]

MENDED: Final = "a release without the bug"
"""The other profile's name in a mixed profile whose part no release has."""

MENDS: Final[Mapping[str, str]] = {
    "upgrade_begins_at_1": "CGG-11",  # a group that is upgraded at generation 0 begins at 1, as a new one does (docs/findings/kafka-group-at-epoch-0.md)
    "target_by_own_subscriptions": "CGA-05",  # a target is computed by the own subscription of each member (docs/findings/kafka-target-of-a-join-without-topics.md)
}
"""The requirement that a coordinator without the bug keeps, by the field."""

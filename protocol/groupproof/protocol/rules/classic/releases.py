"""The release of each profile, and the rules of older releases: cumulative deltas from the newest backward.

The table of release R is the newest table, with every delta applied whose `since` is newer than R, newest first. So a delta is written against the
table of its own `since`. Read in the coordinators' sources at the release tags. The cells are those of "Error tables per API and state" in the
catalogue's sources.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from groupproof.protocol.rules.classic.deltas_since_2_5 import DELTAS_SINCE_2_5
from groupproof.protocol.rules.classic.deltas_to_2_4 import DELTAS_TO_2_4
from groupproof.protocol.rules.deltas import Change, CoordinatorKind, Delta, Release
from groupproof.protocol.wire.admin_messages import OPERATIONS_NOT_ASKED

__all__ = ["DELTAS", "NEWEST_FIELDS", "OPTIONAL", "RELEASES", "Change", "Delta", "line_of"]

# Every profile and its release, oldest first: mostly the last of its line.
RELEASES: Final[Mapping[str, Release]] = {
    "kafka-1.1": (1, 1, 0), "kafka-2.0": (2, 0, 1), "kafka-2.1": (2, 1, 1), "kafka-2.2": (2, 2, 2), "kafka-2.3": (2, 3, 1), "kafka-2.4": (2, 4, 1),
    "kafka-2.5": (2, 5, 1), "kafka-2.6": (2, 6, 3), "kafka-2.7": (2, 7, 2), "kafka-2.8": (2, 8, 2), "kafka-3.0": (3, 0, 2), "kafka-3.2": (3, 2, 3),
    "kafka-3.3": (3, 3, 2), "kafka-3.7": (3, 7, 2), "kafka-3.7-new": (3, 7, 2), "kafka-3.9": (3, 9, 1), "kafka-3.9-new": (3, 9, 1),
    "kafka-4.0": (4, 0, 2), "kafka-4.1": (4, 1, 0), "kafka-4.2": (4, 2, 2), "kafka-4.3": (4, 3, 1), "kafka-4.4": (4, 4, 0),
}  # fmt: skip

# Profiles of a coordinator that is not the default, each with the profile of its release's default. Up to 3.9 the default is the Scala coordinator;
# `group.coordinator.new.enable` selects the Java one, for classic groups too.
OPTIONAL: Final[Mapping[str, str]] = {"kafka-3.7-new": "kafka-3.7", "kafka-3.9-new": "kafka-3.9"}

# Fields of answers that differ by release. `group_operations` has a bit for each operation on groups (KIP-430), all of them without an authorizer;
# `group_operations_unasked` is the value where the request does not ask. `commits_check_partitions`: the broker refuses offsets of missing partitions
# of an existing topic. `deletions_repeat_topics`: OffsetDelete repeats a topic for each of its partitions. `join_lists_instances_since`: in an older
# JoinGroup version, a leader's member list with an instance cannot be written, and the broker fails while it answers. `unverified_error`: the log's
# error for a transaction's records that need verification, where the broker does not request it. `expiry_spares_pending`: an offset outlives its
# retention while an open transaction has another for its partition (OffsetMetadataManager; GroupMetadata.removeExpiredOffsets waits only for plain
# commits under way).
NEWEST_FIELDS: Final[Mapping[str, int]] = {
    "join_error_generation": -1, "group_operations": 0b1101_0100_1000, "group_operations_unasked": OPERATIONS_NOT_ASKED,
    "commits_check_partitions": 1, "deletions_repeat_topics": 0, "join_lists_instances_since": 0, "unverified_error": 0,
    "expiry_spares_pending": 1,
}  # fmt: skip


def line_of(profile: str) -> CoordinatorKind:
    """Return the coordinator of a profile."""
    return CoordinatorKind.JAVA if profile in OPTIONAL or RELEASES[profile] >= (4, 0) else CoordinatorKind.SCALA


# Newest first.
DELTAS: Final[tuple[Delta, ...]] = (*DELTAS_SINCE_2_5, *DELTAS_TO_2_4)

assert all(newer.since >= older.since for newer, older in pairwise(DELTAS)), "deltas are listed newest first"

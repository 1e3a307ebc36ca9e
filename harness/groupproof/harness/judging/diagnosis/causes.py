"""The causes of a rebalance, sorted as in the catalogue (DIAG-20).

The branches are partition change, client change and coordinator change. A client change is a new, changed or lost member. A lost member had a
heartbeat timeout, left after its poll interval, or closed.
"""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import Final, NamedTuple

__all__ = ["SORTED", "WORDS_OF_CONSUMERS", "WORDS_OF_WORKERS", "Branch", "Cause", "CauseText", "Certainty", "Kind"]


class Branch(Enum):
    """The three reasons for which a group rebalances."""

    PARTITIONS = "partition change"
    CLIENTS = "client change"
    COORDINATOR = "coordinator change"


class Kind(Enum):
    """What changed in a client change."""

    NEW = "new member"
    LOST = "lost member"
    CHANGED = "changed member"


class Cause(StrEnum):
    """Why a rebalance began."""

    FIRST_MEMBER = "first-member"
    NEW_MEMBER = "new-member"
    RETURNED = "member-returned"
    HEARTBEAT_TIMEOUT = "heartbeat-timeout"
    POLL_INTERVAL = "poll-interval"
    CLOSED = "closed"
    LEFT = "left"
    ADMIN_REMOVAL = "admin-removal"
    SYNC_TIMEOUT = "sync-timeout"
    REVOCATION_TIMEOUT = "revocation-timeout"
    SUBSCRIPTION = "subscription-changed"
    HANDOVER = "cooperative-handover"
    METADATA = "metadata-changed"
    STATIC_REPLACED = "static-replaced"
    LEADER_REJOINED = "leader-rejoined"
    PARTITIONS = "partitions-changed"
    MOVED = "coordinator-moved"
    OVER_CAPACITY = "over-capacity"
    NOT_STORED = "assignment-not-stored"
    FORCED = "forced"
    UNREPORTED = "client-change-untold"


class Certainty(Enum):
    """How a cause is known."""

    TOLD = "told"
    """The coordinator gave it as its reason, or logged it."""

    SEEN = "seen"
    """The requests show it."""

    INFERRED = "inferred"
    """It remains after all other causes are excluded (DIAG-23)."""


class CauseText(NamedTuple):
    """A cause in its branch. `words` complete "It began because …"."""

    branch: Branch
    kind: Kind | None
    words: str


_C: Final = Branch.CLIENTS

SORTED: Final[dict[Cause, CauseText]] = {
    Cause.FIRST_MEMBER: CauseText(_C, Kind.NEW, "the group was empty and {member} joined"),
    Cause.NEW_MEMBER: CauseText(_C, Kind.NEW, "{member} is new and joined"),
    Cause.RETURNED: CauseText(_C, Kind.NEW, "{member} came back under a new id after the group had lost it"),
    Cause.HEARTBEAT_TIMEOUT: CauseText(_C, Kind.LOST, "no heartbeat of {member} came within its session timeout"),
    Cause.POLL_INTERVAL: CauseText(_C, Kind.LOST, "{member} did not poll within max.poll.interval.ms and left"),
    Cause.CLOSED: CauseText(_C, Kind.LOST, "{member} was closed, or unsubscribed, and left"),
    Cause.LEFT: CauseText(_C, Kind.LOST, "{member} left: closed, or over its max.poll.interval.ms"),
    Cause.ADMIN_REMOVAL: CauseText(_C, Kind.LOST, "{member} was removed by an administrator"),
    Cause.SYNC_TIMEOUT: CauseText(_C, Kind.LOST, "{member} joined and never asked for its assignment"),
    Cause.REVOCATION_TIMEOUT: CauseText(_C, Kind.LOST, "{member} did not give its partitions up within the rebalance timeout and was fenced"),
    Cause.SUBSCRIPTION: CauseText(_C, Kind.CHANGED, "{member} changed its subscription"),
    Cause.HANDOVER: CauseText(_C, Kind.CHANGED, "{member} gave partitions up in a cooperative rebalance, and they are now handed over"),
    Cause.METADATA: CauseText(_C, Kind.CHANGED, "{member} joined again with other metadata"),
    Cause.STATIC_REPLACED: CauseText(_C, Kind.CHANGED, "static {member} came back and changed the group's protocol"),
    Cause.LEADER_REJOINED: CauseText(_C, Kind.CHANGED, "the leader {member} joined again"),
    Cause.PARTITIONS: CauseText(Branch.PARTITIONS, None, "the partitions of a subscribed topic changed, and the leader {member} joined again"),
    Cause.MOVED: CauseText(Branch.COORDINATOR, None, "the coordinator moved to another broker while the group was not settled"),
    Cause.OVER_CAPACITY: CauseText(Branch.COORDINATOR, None, "the coordinator loaded more members than group.max.size allows"),
    Cause.NOT_STORED: CauseText(Branch.COORDINATOR, None, "the coordinator could not store the assignment"),
    Cause.FORCED: CauseText(Branch.COORDINATOR, None, "an operator forced it"),
    Cause.UNREPORTED: CauseText(_C, None, "a member joined, left, or changed: this log does not say which"),
}

WORDS_OF_CONSUMERS: Final[dict[Cause, str]] = {
    Cause.RETURNED: "{member} came back after the group had lost it",
    Cause.PARTITIONS: "the partitions of a subscribed topic changed",
}
"""Different words for groups of the consumer protocol (KIP-848), which have no leader and whose members keep their ids."""

WORDS_OF_WORKERS: Final[dict[Cause, str]] = {
    Cause.METADATA: "{member} joined again: tasks came or went, or are being handed over",
    Cause.LEADER_REJOINED: "the leader {member} joined again: tasks came or went, or are being handed over",
    Cause.MOVED: "the Managers switched: the new active one knew no group, and {member} was the first to join it",
    Cause.LEFT: "{member} ended in good order and left",
}
"""Different words for groups of DataLink's workers, whose coordinator forgets everything when it is switched."""

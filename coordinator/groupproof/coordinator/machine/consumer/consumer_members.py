"""One member of a consumer group: its subscription, its epoch, and its assigned and pending partitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import repeat
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from groupproof.protocol.wire.messages import JoinProtocol

__all__ = ["AWAY", "LEFT", "Assigned", "ClassicSide", "ConsumerMember", "MemberProgress", "partitions_of"]

AWAY: Final = -2
"""The epoch of a static member that has left temporarily (KIP-848, LEAVE_GROUP_STATIC_MEMBER_EPOCH)."""

LEFT: Final = -1
"""The epoch with which a member leaves."""

Assigned = Mapping[str, Mapping[int, int]]
"""Partitions by topic id, each with the epoch of its assignment (KIP-1251)."""


class MemberProgress(Enum):
    """A member's progress towards its target (Kafka's `MemberState`)."""

    STABLE = "STABLE"
    UNREVOKED_PARTITIONS = "UNREVOKED_PARTITIONS"
    UNRELEASED_PARTITIONS = "UNRELEASED_PARTITIONS"
    UNKNOWN = "UNKNOWN"  # a value that a newer release wrote (CGL-16)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicSide:
    """The data of a classic member's last JoinGroup (Kafka's `ClassicMemberMetadata`). The first protocol is the one in use."""

    session_timeout_ms: int
    protocols: tuple[JoinProtocol, ...]

    @property
    def protocol(self) -> JoinProtocol:
        return self.protocols[0]


@dataclass(slots=True, kw_only=True)
class ConsumerMember:
    """A member. `classic` is None for a member that sends heartbeats of KIP-848.

    `pending` are the partitions that it has to revoke; `ordered_at` is its epoch when it learned of that, None where it has none to revoke. An empty
    `regex` means no expression.
    """

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    assignor: str | None = None
    names: frozenset[str] = frozenset()
    regex: str = ""
    epoch: int = 0
    previous_epoch: int = 0
    progress: MemberProgress = MemberProgress.STABLE
    assigned: Assigned = field(default_factory=dict)
    pending: Assigned = field(default_factory=dict)
    ordered_at: int | None = None
    classic: ClassicSide | None = None

    @property
    def is_away(self) -> bool:
        return self.epoch == AWAY

    def copied(self) -> ConsumerMember:
        """Return a copy. `replace` takes eight times as long, and a load copies every member of a group."""
        return ConsumerMember(
            member_id=self.member_id, instance_id=self.instance_id, rack_id=self.rack_id, client_id=self.client_id, client_host=self.client_host,
            rebalance_timeout_ms=self.rebalance_timeout_ms, assignor=self.assignor, names=self.names, regex=self.regex, epoch=self.epoch,
            previous_epoch=self.previous_epoch, progress=self.progress, assigned=self.assigned, pending=self.pending, ordered_at=self.ordered_at,
            classic=self.classic,
        )  # fmt: skip

    def is_settled(self, assignment_epoch: int) -> bool:
        """Return whether the member has its whole share of this epoch's target (Kafka's `isReconciledTo`)."""
        return self.progress is MemberProgress.STABLE and self.epoch == assignment_epoch


def partitions_of(assigned: Assigned) -> set[tuple[str, int]]:
    """Return the partitions as pairs of topic id and index."""
    found: set[tuple[str, int]] = set()
    for topic_id, indexes in assigned.items():
        found.update(zip(repeat(topic_id), indexes))
    return found

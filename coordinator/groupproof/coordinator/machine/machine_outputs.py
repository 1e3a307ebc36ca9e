"""The types at the coordinator's border: a request's origin, the outputs of the machine, and the view of a group.

Types that are made for each request are named tuples: a frozen dataclass takes twice as long to make.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from groupproof.protocol.wire.messages import GroupResponse

__all__ = ["AppliedRow", "Arrival", "GroupProgress", "GroupView", "MemberView", "Output", "Reply", "Transition"]


class Arrival(NamedTuple):
    """The origin of a request. `token` identifies the request until its reply, which comes later for a parked one.

    With `joins_at_once` a JoinGroup needs no member id, whatever its version: other brokers than Kafka admit newcomers without the round of KIP-394.
    """

    token: Hashable
    api_version: int
    client_id: str
    client_host: str
    joins_at_once: bool = False


class Reply(NamedTuple):
    """The answer to the request of `token`, to be sent now."""

    token: Hashable
    message: GroupResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """A group changed its state.

    `before` is None where the group was created. `rule` is the row that moved it, `reason` Kafka's reason (JOIN-59).
    """

    group_id: str
    generation: int
    before: StrEnum | None
    after: StrEnum
    rule: str
    reason: str

    def columns(self) -> dict[str, Any]:
        """Return the columns of the transition's observation."""
        return {
            "group": self.group_id, "generation": self.generation, "rule": self.rule, "detail": self.reason, "body": {"reason": self.reason},
            "state_before": self.before.value if self.before else None, "state_after": self.after.value,
        }  # fmt: skip


class AppliedRow(NamedTuple):
    """A row of the table was applied to the request of `token`. Where `token` is None, it was applied to a timer or a consequence.

    `member_id` is set for a member's timer.
    """

    token: Hashable | None
    group_id: str
    rule: str
    requirement: str
    member_id: str = ""

    def timer_columns(self) -> dict[str, Any]:
        """Return the columns of the row's observation, for a timer."""
        return {"group": self.group_id, "member": self.member_id or None, "rule": self.rule, "body": {"requirement": self.requirement}}


Output = Reply | Transition | AppliedRow


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberView:
    """One member in the coordinator's view. `parked` is JoinGroup, SyncGroup or None."""

    member_id: str
    client_id: str
    client_host: str
    group_instance_id: str | None
    is_leader: bool
    parked: str | None
    session_timeout_ms: int
    rebalance_timeout_ms: int
    assignment: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupProgress:
    """A summary of a group's progress.

    `absent` are the client ids of members without a parked request; `pending` are the ids that have not joined yet.
    """

    state: StrEnum
    generation: int
    leader: str | None
    absent: tuple[str, ...]
    pending: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupView:
    """A snapshot of a group. `members` are in joining order; `pending` are ids that were handed out and have not joined yet (KIP-394)."""

    group_id: str
    state: StrEnum
    generation: int
    protocol_type: str | None
    protocol_name: str | None
    leader: str | None
    members: tuple[MemberView, ...]
    pending: tuple[str, ...]

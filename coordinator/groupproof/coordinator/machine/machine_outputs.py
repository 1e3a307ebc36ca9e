"""What crosses the coordinator's border: where a request came from, what the machine puts out, and the view of a group.

What is made for each request is a named tuple: a frozen dataclass takes twice as long to be made.
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
    """How a request came; `token` names the request until its reply, which for a parked one comes later."""

    token: Hashable
    api_version: int
    client_id: str
    client_host: str


class Reply(NamedTuple):
    """The answer to the request of `token`, to be sent now."""

    token: Hashable
    message: GroupResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """A group moved; `before` is None where the group was created, `rule` the row that moved it, `reason` Kafka's reason (JOIN-59)."""

    group_id: str
    generation: int
    before: StrEnum | None
    after: StrEnum
    rule: str
    reason: str

    def columns(self) -> dict[str, Any]:
        """Return the columns of the observation that tells of it."""
        return {
            "group": self.group_id, "generation": self.generation, "rule": self.rule, "detail": self.reason, "body": {"reason": self.reason},
            "state_before": self.before.value if self.before else None, "state_after": self.after.value,
        }  # fmt: skip


class AppliedRow(NamedTuple):
    """A row of the table was applied: to the request of `token`, or, where that is None, to a timer (of `member_id`, if it is a member's) or to what followed."""

    token: Hashable | None
    group_id: str
    rule: str
    requirement: str
    member_id: str = ""

    def timer_columns(self) -> dict[str, Any]:
        """Return the columns of the observation that tells of it, where it is a timer's."""
        return {"group": self.group_id, "member": self.member_id or None, "rule": self.rule, "body": {"requirement": self.requirement}}


Output = Reply | Transition | AppliedRow


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberView:
    """One member as the coordinator knows it; `parked` is JoinGroup, SyncGroup or None."""

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
    """How far a group has come; `absent` are the client ids of the members that have nothing parked, `pending` the ids not yet joined."""

    state: StrEnum
    generation: int
    leader: str | None
    absent: tuple[str, ...]
    pending: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupView:
    """A group at one instant; members in the order of their joining, `pending` the ids handed out and not yet joined (KIP-394)."""

    group_id: str
    state: StrEnum
    generation: int
    protocol_type: str | None
    protocol_name: str | None
    leader: str | None
    members: tuple[MemberView, ...]
    pending: tuple[str, ...]

"""One event that the machine processes: its kind, origin and group, and what its row's effects leave for the answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.admin_messages import OPERATIONS_NOT_ASKED

if TYPE_CHECKING:
    from groupproof.coordinator.machine.any_group import AnyGroup, SubscribedGroup
    from groupproof.coordinator.machine.coordinator_settings import Settings
    from groupproof.coordinator.machine.group import Group
    from groupproof.coordinator.machine.machine_outputs import Arrival
    from groupproof.coordinator.machine.members import Member
    from groupproof.coordinator.machine.offsets import Offsets
    from groupproof.protocol.rules.cells import EventKind
    from groupproof.protocol.wire.messages import (
        FetchGroup,
        GroupRequest,
        JoinGroupRequest,
        LeftMember,
        OffsetCommitRequest,
        SyncGroupRequest,
        TxnOffsetCommitRequest,
    )

__all__ = ["OPEN", "CoordinatorStatus", "Event"]


@dataclass(frozen=True, slots=True)
class CoordinatorStatus:
    """Whether the coordinator is active, leads the group's partition, and is loading it. It is checked before the group is."""

    active: bool = True
    led: bool = True
    loading: bool = False


OPEN: Final = CoordinatorStatus()
"""The status for nearly every request."""


class _Views:
    """The event's group and request under the types that its row requires. A missing one fails where the row uses it."""

    if TYPE_CHECKING:
        existing_group: Group
        subscribed_group: SubscribedGroup
        join: JoinGroupRequest
        sync: SyncGroupRequest
        commit: OffsetCommitRequest | TxnOffsetCommitRequest
    else:
        existing_group = subscribed_group = property(attrgetter("group"))
        join = sync = commit = property(attrgetter("request"))


@dataclass(kw_only=True)
class Event(_Views):
    """A request, a timer or a consequence. Guards read it; effects leave `answered_id`, `old_leader`, `left` and `error` for the answer.

    `generation` is -1 where the event has none. `groups` are all groups of the coordinator, for ListGroups. `producer_id` and `is_committed` belong
    to a transaction. `refusal` is the error of appending the request's records to the log. `verdict` is the error of the transaction coordinator.
    Both are the codes that the client gets. `operations` are the authorized operations in a DescribeGroups answer. `request_class` is the number of
    the request's class within its kind, 0 where the kind has no classes.

    A rarely used field is set when its value is known. Until then the class's default stands: every request makes an event, and most need none of
    these fields.
    """

    kind: EventKind
    now_ms: int
    settings: Settings
    group_id: str
    group: AnyGroup | None = None
    member_id: str = ""
    instance_id: str | None = None
    generation: int = -1
    request: GroupRequest | None = None
    arrival: Arrival | None = None
    fetch: FetchGroup | None = field(default=None, init=False)
    gate: CoordinatorStatus = field(default=OPEN, init=False)
    assignment: dict[str, bytes] | None = field(default=None, init=False)
    error: ErrorCode = field(default=ErrorCode.NONE, init=False)
    answered_id: str | None = field(default=None, init=False)
    old_leader: str | None = field(default=None, init=False)
    offsets: Offsets | None = field(default=None, init=False)
    groups: tuple[AnyGroup, ...] = field(default=(), init=False)
    producer_id: int = field(default=-1, init=False)
    is_committed: bool = field(default=False, init=False)
    refusal: ErrorCode = field(default=ErrorCode.NONE, init=False)
    verdict: ErrorCode = field(default=ErrorCode.NONE, init=False)
    operations: int = field(default=OPERATIONS_NOT_ASKED, init=False)
    left: tuple[LeftMember, ...] = field(default=(), init=False)
    members_left: int = field(default=0, init=False)
    request_class: int = field(default=0, init=False)

    @property
    def member(self) -> Member:
        """Return the member that sent the request. Only rows behind the membership check use it."""
        member = self.existing_group.members.by_id.get(self.member_id)
        assert member is not None, f"{self.member_id!r} is no member of {self.group_id!r}"
        return member

    @property
    def version(self) -> int:
        return -1 if self.arrival is None else self.arrival.api_version

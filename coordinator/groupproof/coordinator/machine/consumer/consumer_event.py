"""One event under way in a consumer group: what a heartbeat says, and what its steps leave for one another and for the answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING

from groupproof.coordinator.machine.event import Event

if TYPE_CHECKING:
    from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
    from groupproof.coordinator.machine.consumer.consumer_members import Assigned, ConsumerMember
    from groupproof.protocol.wire.consumer_messages import ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest

__all__ = ["ConsumerGroupEvent"]


class _Views:
    """The group and the request under the types that a row knows them to have."""

    if TYPE_CHECKING:
        consumer_group: ConsumerGroup
        heartbeat: ConsumerGroupHeartbeatRequest
        description: ConsumerGroupDescribeRequest
    else:
        consumer_group = property(attrgetter("group"))
        heartbeat = description = property(attrgetter("request"))


@dataclass(kw_only=True)
class ConsumerGroupEvent(_Views, Event):
    """A heartbeat, a description, a timer or a consequence.

    The first step of a heartbeat sets `beating` to the member and `assigned_before` to what it had; `is_resubscribed` tells that its topics changed,
    `bumps` that the group epoch is due for it.
    """

    member_epoch: int = field(default=0, init=False)
    beating: ConsumerMember | None = field(default=None, init=False)
    assigned_before: Assigned = field(default_factory=dict, init=False)
    is_resubscribed: bool = field(default=False, init=False)
    bumps: bool = field(default=False, init=False)

    @property
    def consumer(self) -> ConsumerMember:
        """Return the member whose heartbeat was taken up."""
        assert self.beating is not None, "the first step of a heartbeat takes the member up"
        return self.beating

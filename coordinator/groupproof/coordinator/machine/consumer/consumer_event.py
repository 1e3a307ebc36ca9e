"""An event in a consumer group: the fields of a heartbeat, and the results that its steps leave for later steps and for the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING

from groupproof.coordinator.machine.consumer.target_assignment import subscription_type
from groupproof.coordinator.machine.event import Event

if TYPE_CHECKING:
    from groupproof.coordinator.assignors.group_spec import SubscriptionType
    from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
    from groupproof.coordinator.machine.consumer.consumer_members import Assigned, ConsumerMember
    from groupproof.protocol.wire.consumer_messages import ConsumerGroupHeartbeatRequest

__all__ = ["ConsumerGroupEvent", "group_of"]


class _Views:
    """The request with the type that the row expects."""

    if TYPE_CHECKING:
        heartbeat: ConsumerGroupHeartbeatRequest
    else:
        heartbeat = property(attrgetter("request"))


@dataclass(kw_only=True)
class ConsumerGroupEvent(_Views, Event):
    """A heartbeat, a description, a timer or a consequence.

    The first step of a heartbeat sets `beating` to the member and `assigned_before` to its previous assignment. `is_resubscribed`: its topics
    changed. `bumps`: the group epoch must go up for it. `has_bumped`: the epoch went up for the request. `is_new`: the group did not have the
    member before. `replaced` is the member whose place it took. `resolved_before` is the number of regular expressions that were resolved before,
    at `resolved_before_ms`. `owned` are the partitions that the member reports, None without a report. `epoch_before` is the group epoch before a
    JoinGroup. `subscriptions` is the group's subscription type before the request, None where it is computed anew. The last four are for the
    answer: the heartbeat interval, the topics' names by id, the assignor, and whether partitions to be revoked count as assigned.
    """

    member_epoch: int = field(default=0, init=False)
    beating: ConsumerMember | None = field(default=None, init=False)
    assigned_before: Assigned = field(default_factory=dict, init=False)
    is_resubscribed: bool = field(default=False, init=False)
    bumps: bool = field(default=False, init=False)
    has_bumped: bool = field(default=False, init=False)
    is_new: bool = field(default=False, init=False)
    replaced: str | None = field(default=None, init=False)
    resolved_before: int = field(default=0, init=False)
    resolved_before_ms: int | None = field(default=None, init=False)
    owned: Mapping[str, frozenset[int]] | None = field(default=None, init=False)
    epoch_before: int = field(default=0, init=False)
    subscriptions: SubscriptionType | None = field(default=None, init=False)
    interval_ms: int = field(default=0, init=False)
    topic_names: Mapping[str, str] = field(default_factory=dict, init=False)
    assignor: str = field(default="", init=False)
    describes_pending: bool = field(default=False, init=False)

    def look_back(self, *, resubscribes: bool = True) -> None:
        """Save the group's state before the request changes it: the request uses the old state, because Kafka replays its records after it.

        `resubscribes` is False for a request that leaves all subscriptions as they are.
        """
        group = group_of(self)
        self.subscriptions = subscription_type(group) if resubscribes else None
        if group.topics_of_regex:
            self.resolved_before, self.resolved_before_ms = len(group.topics_of_regex), group.resolved_ms

    @property
    def consumer(self) -> ConsumerMember:
        """Return the member whose heartbeat is processed."""
        assert self.beating is not None, "the first step of a heartbeat sets the member"
        return self.beating


if TYPE_CHECKING:

    def group_of(event: Event) -> ConsumerGroup:
        """Return the group of an event for a consumer group; the request may be of any dialect."""
        ...

else:
    group_of = attrgetter("group")  # a heartbeat calls it a dozen times

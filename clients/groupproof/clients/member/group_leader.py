"""The leader's part: store the members of the generation, compute the assignment, and detect topics that changed since (CLIENT-12, CLIENT-74)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupproof.clients.assignors.assignment import Assignment, GroupMember
from groupproof.clients.assignors.range_and_roundrobin import ASSIGNORS
from groupproof.clients.member.member_core import Core
from groupproof.protocol.vocabulary import TopicPartition
from groupproof.protocol.wire.messages import JoinGroupResponse, JoinMember
from groupproof.protocol.wire.subscription import Assignment as Blob
from groupproof.protocol.wire.subscription import Subscription, SubscriptionError, decode_subscription, encode_assignment

__all__ = ["Leading"]

_VERSION_MAX: Final = 3
"""The newest existing version of the subscription (KIP-881)."""


class Leading:
    """The leader's data and decisions. Empty for a follower."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._members: list[GroupMember] = []
        self._is_leader = False
        self._skips = False
        self._topics: frozenset[str] = frozenset()
        self._counts: Mapping[str, int] | None = None
        self._previous: Assignment = {}

    @property
    def topics(self) -> frozenset[str]:
        """The topics that this member must watch beside its own: the topics of the group if it is the leader."""
        return self._topics

    def joined(self, response: JoinGroupResponse) -> None:
        """Store the member's role and, for the leader, the members. Raise `SubscriptionError` if a subscription cannot be read."""
        self._is_leader = response.leader == response.member_id
        self._skips = response.skip_assignment
        self._counts = None
        self._members = [self._read(member) for member in response.members] if self._is_leader else []
        self._topics = frozenset(topic for member in self._members for topic in member.topics)

    def missing_topics(self) -> frozenset[str]:
        """Return the group's topics without metadata. The leader assigns only when none is missing."""
        return self._topics.difference(self._core.cluster.partitions)

    def assignments(self) -> list[tuple[str, bytes]]:
        """Return each member's assignment for the leader's SyncGroup, or nothing for a follower's.

        A leader that must skip the assignment (JoinGroup v9, a static leader's restart) sends none, but still watches the topics.
        """
        core = self._core
        self.watch()
        if not self._is_leader and not core.policy.follower_assigns:
            return []
        if self._skips:
            return []
        members = self._members or [GroupMember(member_id=core.member_id, topics=core.topics)]
        assignor = "sticky" if core.policy.leader_assigns == "at-once" else core.protocol or ""
        assignment = self._deviant(ASSIGNORS[assignor](members, core.cluster))
        early = core.policy.ends_assignment_early
        return [(member, encode_assignment(Blob(partitions=tuple(sorted(owned)), is_truncated=early))) for member, owned in assignment]

    def watch(self) -> None:
        """Record, as the leader, the partition counts at the assignment."""
        if self._is_leader:
            self._counts = self._snapshot()

    @property
    def counts(self) -> Mapping[str, int]:
        """The partition count of each topic when the leader assigned it. Empty for a follower."""
        return self._counts or {}

    def has_outgrown(self) -> bool:
        """Return whether partition counts of the group's topics changed since the leader assigned them."""
        return self._counts is not None and self._core.policy.rejoins_on_growth and self._snapshot() != self._counts

    def _read(self, member: JoinMember) -> GroupMember:
        """Decode a member's subscription. A planted bug can make some subscriptions unreadable."""
        wanted = decode_subscription(member.metadata)
        unread = {"none": False, "newer": wanted.version > 0, "later": wanted.version > _VERSION_MAX, "user-data": bool(wanted.user_data)}
        if unread[self._core.policy.subscriptions_unread]:
            raise SubscriptionError(f"subscription of version {wanted.version}")
        return _member(member, wanted)

    def _snapshot(self) -> dict[str, int]:
        return {topic: self._core.cluster.partitions.get(topic, 0) for topic in self._topics}

    def _deviant(self, assignment: Assignment) -> list[tuple[str, list[TopicPartition]]]:
        """Return the assignment to send: the computed one, unless a bug is planted."""
        kind = self._core.policy.leader_assigns
        previous, self._previous = self._previous, assignment
        everyone = sorted(assignment.items())
        if kind == "only-with-partitions":
            return [(member, owned) for member, owned in everyone if owned]
        if kind == "itself-everything":
            return [(self._core.member_id, [partition for _, owned in everyone for partition in owned])]
        if kind == "itself-only":
            return [(member, owned) for member, owned in everyone if member == self._core.member_id]
        if kind == "drops-partition":
            last = max((partition for _, owned in everyone for partition in owned), default=None)
            return [(member, [partition for partition in owned if partition != last]) for member, owned in everyone]
        if kind == "twice":
            everything = [partition for _, owned in everyone for partition in owned]
            return [(member, everything) for member, _ in everyone]
        if kind == "previous" and previous:
            return [(member, previous.get(member, [])) for member, _ in everyone]
        return everyone


def _member(member: JoinMember, wanted: Subscription) -> GroupMember:
    return GroupMember(
        member_id=member.member_id,
        instance_id=member.group_instance_id,
        topics=wanted.topics,
        owned=wanted.owned,
        generation=wanted.generation,
        rack=wanted.rack,
    )

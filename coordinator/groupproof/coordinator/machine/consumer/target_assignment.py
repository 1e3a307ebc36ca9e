"""The target assignment of a group: what the server-side assignor makes of the members and the topics (Kafka's `TargetAssignmentBuilder`). Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from groupproof.coordinator.assignors.group_spec import GroupSpec, MemberSpec, SubscriptionType, TopicSpec
from groupproof.coordinator.assignors.server_assignors import SERVER_ASSIGNORS
from groupproof.coordinator.assignors.spec_order import members_in_order, names_in_order
from groupproof.protocol.java_hash import java_hash

if TYPE_CHECKING:
    from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup, Share
    from groupproof.coordinator.machine.consumer.consumer_members import ConsumerMember

__all__ = ["chosen_assignor", "subscription_type", "target_of"]


def chosen_assignor(group: ConsumerGroup, default: str, choose: Callable[[Sequence[str]], str]) -> str:
    """Return the assignor that most members name; where none does, the default (CGA-02, CGA-03).

    Which of several with most votes it is follows from the order in which Kafka's maps have them, and that from who beat last
    (`ConsumerGroup.computePreferredServerAssignor`): a choice, and no rule.
    """
    votes: dict[str, int] = {}
    for member in group.members.values():
        if member.assignor is not None:
            votes[member.assignor] = votes.get(member.assignor, 0) + 1
    most = max(votes.values(), default=0)
    tied = [assignor for assignor in sorted(votes, key=_bucket) if votes[assignor] == most] or [default]
    return choose(tied) if len(tied) > 1 else tied[0]


def _bucket(name: str) -> int:
    value = java_hash(name) & 0xFFFF_FFFF
    return (value ^ value >> 16) & 15


def subscription_type(group: ConsumerGroup) -> SubscriptionType:
    """Tell whether all members subscribe to the same (`ModernGroup.subscriptionType`; CGX-33)."""
    size = len(group.members)
    if not group.regexes:
        is_same = all(count == size for count in group.names.values())
    else:
        is_same = not group.names and len(group.regexes) == 1 and next(iter(group.regexes.values())) == size
    return SubscriptionType.HOMOGENEOUS if is_same else SubscriptionType.HETEROGENEOUS


def target_of(
    group: ConsumerGroup,
    assignor: str,
    *,
    updated: str | None,
    newcomer: bool,
    replaced: str | None,
    is_view: bool,
    subscriptions: SubscriptionType | None = None,
) -> dict[str, Share]:
    """Return the target of every member; `updated` is the member whose heartbeat the target is computed for.

    `subscriptions` are what the group's are taken to be, None for what they are. It is a `newcomer` if the group did not have it before, and `replaced` is the static member whose place it took.
    """
    before = [member_id for member_id in group.members if not (newcomer and member_id == updated)]
    if replaced is not None:
        before.append(replaced)
    order = members_in_order(before, size_max=max(group.members_max, 1), updated=updated, replaced=replaced, is_view=is_view)
    topic_ids: dict[tuple[frozenset[str], str], tuple[str, ...]] = {}
    members = {
        member_id: MemberSpec(
            subscribed_topic_ids=_topic_ids(group, member, topic_ids), assigned=group.target.get(member_id, {}), instance_id=member.instance_id,
            rack_id=member.rack_id,
        )
        for member_id in order
        if (member := group.members.get(member_id)) is not None
    }  # fmt: skip
    assert len(members) == len(group.members), f"{len(members)} of {len(group.members)} members are in the order that Kafka has them in"
    topics: Mapping[str, TopicSpec] = {topic.topic_id: TopicSpec(partitions=topic.partitions) for topic in group.topics.values()}
    return dict(SERVER_ASSIGNORS[assignor](GroupSpec(members=members, subscription_type=subscriptions or subscription_type(group)), topics))


def _topic_ids(group: ConsumerGroup, member: ConsumerMember, resolved: dict[tuple[frozenset[str], str], tuple[str, ...]]) -> tuple[str, ...]:
    """Return the ids of the member's topics that exist; members that subscribe to the same share what is `known`."""
    key = (member.names, member.regex)
    if key not in resolved:
        names = names_in_order(tuple(group.names_of(member)))
        resolved[key] = tuple(topic.topic_id for name in names if (topic := group.topics.get(name)) is not None)
    return resolved[key]

"""The target assignment of a group: the server-side assignor's result for the members and the topics (Kafka's `TargetAssignmentBuilder`). Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Final
from zlib import crc32

from groupproof.coordinator.assignors.group_spec import NOTHING, GroupSpec, ServerAssignor, SubscriptionType, TargetAssignment, TopicSpec, spec_of
from groupproof.coordinator.assignors.server_assignors import SERVER_ASSIGNORS
from groupproof.coordinator.assignors.spec_order import members_in_order, names_in_order
from groupproof.coordinator.machine.choices import TargetQuestion
from groupproof.protocol.java_hash import java_hash

if TYPE_CHECKING:
    from groupproof.coordinator.machine.choices import Choices
    from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup, Share
    from groupproof.coordinator.machine.consumer.consumer_members import ConsumerMember

__all__ = ["computed_assignor", "stored_assignor", "subscription_type", "target_of"]

TARGETS_MAX: Final = 64
"""The number of targets that are remembered. One more clears the memory."""

_SUBSCRIPTION: Final = attrgetter("names", "regex")
_INSTANCE: Final = attrgetter("instance_id")
_RACK: Final = attrgetter("rack_id")
_SHARE: Final = attrgetter("assigned")


def computed_assignor(group: ConsumerGroup, default: str, choices: Choices, *, updated: str | None) -> str:
    """Return the assignor that most members name, or else the default (CGA-02, CGA-03), for a target after a heartbeat of the member `updated`.

    Of several with most votes it is the one that only this member names: `ConsumerGroup.computePreferredServerAssignor` puts its vote ahead of the
    others.
    """
    member = group.members.get(updated or "")
    return _chosen(group, default, choices, None if member is None else member.assignor, "computed", updated, group.assignment_epoch)


def stored_assignor(group: ConsumerGroup, default: str, choices: Choices) -> str:
    """Return the assignor that the group describes (`ConsumerGroup.preferredServerAssignor`): of those with most votes it may be another one."""
    return _chosen(group, default, choices, None, "stored", group.generation, group.assignment_epoch)


def _chosen(group: ConsumerGroup, default: str, choices: Choices, own: str | None, *occasion: object) -> str:
    """Return the assignor with most votes. No rule decides a tie: it is one choice for each occasion and ballot, Kafka's first."""
    counts = group.votes
    if len(counts) < 2:  # the usual case, and every heartbeat calls this
        return next(iter(counts), default)
    most = max(counts.values())
    tied = sorted((name for name in counts if counts[name] == most), key=lambda name: (most > 1 or name != own, _slot(name)))
    if len(tied) == 1:
        return tied[0]
    ballot = sorted((member.member_id, member.assignor) for member in group.members.values() if member.assignor is not None)
    return choices.assignor(tied, crc32(repr((occasion, ballot)).encode()))


def _slot(name: str) -> int:
    """Return a number that sorts keys as Kafka's `TimelineHashMap` of any size does (`BaseHashTable.findSlot`)."""
    return java_hash(name) * -7046029254386353131 & 0xFFFF_FFFF_FFFF_FFFF


def subscription_type(group: ConsumerGroup) -> SubscriptionType:
    """Return whether all members have the same subscription (`ModernGroup.subscriptionType`; CGX-33).

    Kafka checks that when a member leaves, and only then forgets the topics of the member's regular expression (`consumerGroupFenceMembers`).
    """
    size = len(group.members)
    if not group.regexes:
        is_same = all(group.names[name] == size for name in (*group.names, *group.unmatched))
    else:
        is_same = not group.names and len(group.regexes) == 1 and next(iter(group.regexes.values())) == size
    return SubscriptionType.HOMOGENEOUS if is_same else SubscriptionType.HETEROGENEOUS


def target_of(
    group: ConsumerGroup,
    assignor: str,
    choices: Choices,
    *,
    updated: str | None,
    newcomer: bool,
    replaced: str | None,
    is_view: bool,
    subscriptions: SubscriptionType | None = None,
) -> dict[str, Share]:
    """Return the target of every member; `updated` is the member whose heartbeat the target is computed for.

    `subscriptions` is the assumed subscription type, None for the real one. `newcomer`: the group did not have the member before. `replaced` is the
    static member whose place it took.
    """
    before = list(group.members)
    if newcomer and updated in group.members:
        before.remove(updated)
    if replaced is not None:
        before.append(replaced)
    order = _in_order(tuple(before), max(group.members_max, 1), updated, replaced, is_view=is_view)
    if len(order) != len(group.members):  # without members that have left
        order = tuple(filter(group.members.__contains__, order))
    present = list(map(group.members.__getitem__, order))
    # Computed for all members at once: a group of a hundred members computes a target for each one that joins.
    shares = map(group.target.get, order, repeat(NOTHING))
    facts = zip(_topic_ids_of(group, present), shares, map(_INSTANCE, present), map(_RACK, present), strict=True)
    members = dict(zip(order, map(spec_of, facts), strict=True))
    assert len(members) == len(group.members), f"{len(members)} of {len(group.members)} members are in the order that Kafka has them in"
    topics: Mapping[str, TopicSpec] = {topic.topic_id: TopicSpec(partitions=topic.partitions) for topic in group.topics.values()}
    spec = GroupSpec(members=members, subscription_type=subscriptions or subscription_type(group))
    kafkas = _ASSIGNED.of(_assignor_named(assignor), spec, topics)
    return dict(choices.target(TargetQuestion(group, assignor, spec, topics, kafkas)))


def _assignor_named(name: str) -> ServerAssignor:
    """Return the assignor of that name; raise `KeyError` for the user's own, which `group.consumer.assignors` may list (KIP-848)."""
    if name not in SERVER_ASSIGNORS:
        raise KeyError(f"the targets are those of the assignor {name}, which is none of Kafka's own")
    return SERVER_ASSIGNORS[name]


@lru_cache(maxsize=TARGETS_MAX)
def _in_order(before: tuple[str, ...], size_max: int, updated: str | None, replaced: str | None, *, is_view: bool) -> tuple[str, ...]:
    """Return the order of the members. It is cached, because a repeated heartbeat needs it again."""
    return tuple(members_in_order(before, size_max=size_max, updated=updated, replaced=replaced, is_view=is_view))


class _LastTargets:
    """The recent results of assignors.

    A heartbeat that the log refuses is repeated and needs the same target each time; an assignor itself remembers only its last target.
    """

    def __init__(self) -> None:
        self._made: dict[Hashable, tuple[GroupSpec, Mapping[str, TopicSpec], TargetAssignment]] = {}

    def of(self, assignor: ServerAssignor, spec: GroupSpec, topics: Mapping[str, TopicSpec]) -> TargetAssignment:
        """Return the assignor's target for these arguments; the caller must not change it."""
        key = assignor, tuple(spec.members), tuple(topics)  # the order counts, and equal dicts may have different orders
        made = self._made.get(key)
        if made is None or not _have_same_shares(made[0], spec) or made[0] != spec or made[1] != topics:
            if len(self._made) >= TARGETS_MAX:
                self._made.clear()
            made = self._made[key] = spec, topics, assignor(spec, topics)
        return made[2]


_ASSIGNED: Final = _LastTargets()


def _have_same_shares(one: GroupSpec, other: GroupSpec) -> bool:
    """Return whether the members' shares of the last target are the same objects: the order of their topics counts, too."""
    return all(map(is_, map(_SHARE, one.members.values()), map(_SHARE, other.members.values())))


def _topic_ids_of(group: ConsumerGroup, members: Sequence[ConsumerMember]) -> Iterable[tuple[str, ...]]:
    """Return the ids of the existing topics of each member. Members with the same names, or the same expression and no name, share one tuple."""
    if members and subscription_type(group) is SubscriptionType.HOMOGENEOUS:
        first = members[0]
        return repeat(_topic_ids(group, first.names, first.regex), len(members))
    subscriptions = list(map(_SUBSCRIPTION, members))
    topic_ids = {subscription: _topic_ids(group, *subscription) for subscription in set(subscriptions)}
    return map(topic_ids.__getitem__, subscriptions)


def _topic_ids(group: ConsumerGroup, names: frozenset[str], regex: str) -> tuple[str, ...]:
    """Return the ids of the existing topics of this subscription."""
    topics = names_in_order(tuple(group.names_matched(names, regex)))
    return tuple(topic.topic_id for name in topics if (topic := group.topics.get(name)) is not None)

"""The rules for a target of a consumer group under any assignor (CGA-04 to CGA-23): KIP-848 leaves the rest to the broker. Pure.

`uniform` promises even shares, `range` promises ranges. Who gets an odd partition and the order of members are ties, which each assignor breaks in
its own way.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from groupproof.coordinator.assignors.group_spec import TopicIdPartition, partitions_in

if TYPE_CHECKING:
    from groupproof.coordinator.machine.choices import TargetQuestion

__all__ = ["BrokenRule", "broken_rule", "milder_rule", "subscriptions_of"]

Owned = Mapping[str, AbstractSet[TopicIdPartition]]


class BrokenRule(NamedTuple):
    """A requirement, and how a target breaks it, in words."""

    requirement: str
    words: str


def subscriptions_of(question: TargetQuestion) -> dict[str, frozenset[str]]:
    """Return the ids of the existing topics that each member subscribes to: the real subscriptions, not Kafka's view of them (CGX-33)."""
    group = question.group
    ids = {name: topic.topic_id for name, topic in group.topics.items()}
    return {
        member_id: frozenset(ids[name] for name in group.names_of(group.members[member_id]) if name in ids) for member_id in question.spec.members
    }


def broken_rule(question: TargetQuestion, owned: Owned) -> BrokenRule | None:
    """Return the rule that a target breaks, None if it may be a target of this protocol."""
    subscribed = subscriptions_of(question)
    if sum(map(len, owned.values())) > len(set[TopicIdPartition]().union(*owned.values())):
        return BrokenRule("CGI-11", "gives a partition to two members")
    if any(topic_id not in subscribed[member_id] for member_id, own in owned.items() for topic_id, _ in own):
        return BrokenRule("CGA-05", "gives a member a partition of a topic that it does not subscribe to")
    wanted = {(topic_id, index) for topic_id in frozenset[str]().union(*subscribed.values()) for index in range(question.topics[topic_id].partitions)}
    if wanted - set[TopicIdPartition]().union(*owned.values()):
        return BrokenRule("CGA-04", "gives a partition to nobody")
    return _unlevel(subscribed, owned) if question.assignor == "uniform" else _no_ranges(question, subscribed, owned)


def milder_rule(question: TargetQuestion, owned: Owned, *, is_certain: bool) -> BrokenRule | None:
    """Return the advice that a legal target does not follow. `is_certain` says that the broker has computed no other target since the last one."""
    subscribed = subscriptions_of(question)
    if question.assignor != "uniform":
        return _unlike_ranges(question, subscribed, owned)
    kafkas = {member_id: partitions_in(share) for member_id, share in question.kafkas.items()}
    if is_certain and _is_at_rest(question) and _kept(question, owned) < _kept(question, kafkas):
        return BrokenRule("CGA-11", "takes more partitions from their owners than it need")
    if _could_be_more_level(subscribed, owned):
        return BrokenRule("CGA-13", "is less level than the subscriptions let it be")
    return None


def _is_at_rest(question: TargetQuestion) -> bool:
    """Return whether every member has reached its last target. Otherwise that target may be a guess, and the broker's another one."""
    members = question.group.members
    return all(
        not members[member_id].pending and partitions_in(members[member_id].assigned) == partitions_in(spec.assigned)
        for member_id, spec in question.spec.members.items()
    )


def _kept(question: TargetQuestion, owned: Owned) -> int:
    return sum(len(own & partitions_in(question.spec.members[member_id].assigned)) for member_id, own in owned.items())


# uniform


def _unlevel(subscribed: Mapping[str, frozenset[str]], owned: Owned) -> BrokenRule | None:
    """CGA-10 is about members with equal subscriptions."""
    sizes = [len(own) for own in owned.values()]
    is_unlevel = len(set(subscribed.values())) == 1 and max(sizes) - min(sizes) > 1
    return BrokenRule("CGA-10", "gives one member two partitions more than another with the same subscription") if is_unlevel else None


def _could_be_more_level(subscribed: Mapping[str, frozenset[str]], owned: Owned) -> bool:
    return any(
        len(own) - len(other) > 1 and any(topic_id in subscribed[poorer] for topic_id, _ in own)
        for own in owned.values()
        for poorer, other in owned.items()
    )


# range


def _numbers(own: AbstractSet[TopicIdPartition], topic_id: str) -> list[int]:
    return sorted(index for owned_id, index in own if owned_id == topic_id)


def _no_ranges(question: TargetQuestion, subscribed: Mapping[str, frozenset[str]], owned: Owned) -> BrokenRule | None:
    for topic_id in question.topics:
        numbers = {member_id: _numbers(own, topic_id) for member_id, own in owned.items() if topic_id in subscribed[member_id]}
        if any(later - earlier > 1 for indexes in numbers.values() for earlier, later in pairwise(indexes)):
            return BrokenRule("CGA-15", "gives a member partitions of a topic that are no range")
        sizes = [len(indexes) for indexes in numbers.values()]
        if sizes and max(sizes) - min(sizes) > 1:
            return BrokenRule("CGA-15", "cuts a topic into ranges of which one is longer than another by two")
        if not _are_static_first(question, numbers):
            return BrokenRule("CGA-22", "gives static members other ranges than the first, in the order of their instance ids")
    return None


def _are_static_first(question: TargetQuestion, numbers: Mapping[str, list[int]]) -> bool:
    """Return whether static members have the first ranges: a static member that returns then gets its range again, regardless of the other members."""
    specs = question.spec.members
    static = sorted((member_id for member_id in numbers if specs[member_id].instance_id is not None), key=lambda name: specs[name].instance_id or "")
    first = [numbers[member_id] for member_id in static if numbers[member_id]]
    others = [indexes for member_id, indexes in numbers.items() if member_id not in static and indexes]
    return first == sorted(first) and all(indexes > own for indexes in others for own in first)


def _unlike_ranges(question: TargetQuestion, subscribed: Mapping[str, frozenset[str]], owned: Owned) -> BrokenRule | None:
    """CGA-23 is about topics of one size and members that all subscribe to them."""
    if len(set(subscribed.values())) != 1:
        return None
    by_size: dict[int, set[tuple[tuple[str, tuple[int, ...]], ...]]] = {}
    for topic_id, topic in question.topics.items():
        ranges = tuple((member_id, tuple(_numbers(own, topic_id))) for member_id, own in owned.items())
        by_size.setdefault(topic.partitions, set()).add(ranges)
    if all(len(ranges) == 1 for ranges in by_size.values()):
        return None
    return BrokenRule("CGA-23", "gives members other ranges of one topic than of another with as many partitions")

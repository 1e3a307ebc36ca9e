"""Bugs of server-side assignors, as assignors in place of the reference's. Each says which requirement it breaks; a vector or a case must catch it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from groupproof.coordinator.assignors.group_spec import (
    GroupSpec,
    MemberId,
    MemberSpec,
    ServerAssignor,
    SubscriptionType,
    TargetAssignment,
    TopicId,
    TopicSpec,
)
from groupproof.coordinator.assignors.range_assignor import range_assign
from groupproof.coordinator.assignors.uniform_assignor import uniform_assign
from groupproof.coordinator.assignors.uniform_heterogeneous import HeterogeneousBuilder
from groupproof.coordinator.assignors.uniform_homogeneous import UNKNOWN, HomogeneousBuilder

__all__ = ["BUGS_OF_ASSIGNORS", "AssignorBug"]

Topics = Mapping[TopicId, TopicSpec]


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignorBug:
    """An assignor that is offered under the name of another; `breaks` are requirement ids."""

    name: str
    says: str
    of: str
    breaks: tuple[str, ...]
    assign: ServerAssignor


def _bug(name: str, says: str, breaks: str, assign: ServerAssignor) -> AssignorBug:
    return AssignorBug(name=name, says=says, of=name.partition("-")[0], breaks=tuple(breaks.split()), assign=assign)


# What the assignor is given -------------------------------------------------------------------------------------------------------


def _with_members(assign: ServerAssignor, change: Callable[[MemberId, MemberSpec], MemberSpec]) -> ServerAssignor:
    def changed(spec: GroupSpec, topics: Topics) -> TargetAssignment:
        return assign(replace(spec, members={name: change(name, member) for name, member in spec.members.items()}), topics)

    return changed


def _in_order(assign: ServerAssignor, rank: Callable[[MemberId, MemberSpec], object]) -> ServerAssignor:
    def ordered(spec: GroupSpec, topics: Topics) -> TargetAssignment:
        return assign(replace(spec, members=dict(sorted(spec.members.items(), key=lambda item: (rank(*item), item[0])))), topics)

    return ordered


def _as_type(assign: ServerAssignor, kind: SubscriptionType) -> ServerAssignor:
    return lambda spec, topics: assign(replace(spec, subscription_type=kind), topics)


def _of_fewer_partitions(spec: GroupSpec, topics: Topics) -> TargetAssignment:
    """See no partition beyond those that were assigned last, once there were any."""
    last: dict[TopicId, int] = {}
    for member in spec.members.values():
        for topic, numbers in member.assigned.items():
            last[topic] = max(last.get(topic, 0), *(number + 1 for number in numbers))
    return uniform_assign(spec, {topic: replace(held, partitions=last.get(topic, held.partitions)) for topic, held in topics.items()})


def _seen_by_first(spec: GroupSpec, topics: Topics) -> TargetAssignment:
    """Take the first member's subscription for all members."""
    first = next(iter(spec.members.values())).subscribed_topic_ids
    return _with_members(uniform_assign, lambda _, member: member._replace(subscribed_topic_ids=first))(spec, topics)


# What the assignor does -----------------------------------------------------------------------------------------------------------


class _KeepsAll(HomogeneousBuilder):
    """A member keeps whatever it has: its quota counts for new partitions alone."""

    def _keep_topic(self, member: MemberId, topic: TopicId, numbers: tuple[int, ...], room: int) -> int:
        return super()._keep_topic(member, topic, numbers, max(room, len(numbers)))

    def _deal_unassigned(self) -> None:
        self._unfilled = [*self._unfilled, *((member, len(self._unassigned)) for member in self._members)]
        super()._deal_unassigned()


class _ExtrasFirst(HomogeneousBuilder):
    """The first members take the extra partitions, though others hold them already: more moves than are needed."""

    def __init__(self, spec: GroupSpec, topics: Topics) -> None:
        super().__init__(spec, topics)
        self._held = [UNKNOWN] * len(spec.members)

    def _keep_up_to_quota(self, member: MemberId, assigned: Mapping[TopicId, tuple[int, ...]], *, last_ones: int) -> None:
        super()._keep_up_to_quota(member, assigned, last_ones=min(last_ones, self._extras))


class _RevokesFirst(HomogeneousBuilder):
    """A member that has too many partitions of a topic keeps the last ones instead of the first."""

    def _keep_topic(self, member: MemberId, topic: TopicId, numbers: tuple[int, ...], room: int) -> int:
        return super()._keep_topic(member, topic, tuple(reversed(numbers)), room)


class _DealsBackwards(HomogeneousBuilder):
    """What was revoked is dealt before what nobody had, and the last partition before the first."""

    def _deal_unassigned(self) -> None:
        self._unassigned.reverse()
        super()._deal_unassigned()


class _NeverBalances(HeterogeneousBuilder):
    """Partitions that are assigned never move."""

    def _balance(self, topics: list[TopicId]) -> None:
        assert topics is not None


class _BalancesOnce(HeterogeneousBuilder):
    """One round over the topics is all the balancing there is."""

    def _balance(self, topics: list[TopicId]) -> None:
        for topic in topics:
            self._balance_topic(topic)


class _DealsInTurn(HeterogeneousBuilder):
    """New partitions go to the subscribers in turn, however many they have."""

    def _deal_unassigned(self, topic: TopicId) -> None:
        readers = self._subscribers[topic]
        for number, owner in enumerate(self._owners[topic]):
            if owner < 0:
                self._assign(topic, number, readers[number % len(readers)])


class _ByNameOfTopic(HeterogeneousBuilder):
    """Topics are dealt in the order of their ids, not of the need for them."""

    def _by_need(self, topic: TopicId) -> tuple[float, int, tuple[int, int]]:
        return 0.0, 0, super()._by_need(topic)[2]


def _built(builder: type[HomogeneousBuilder | HeterogeneousBuilder]) -> ServerAssignor:
    """Return uniform with a builder in place of its own, where that one is used."""
    kind = SubscriptionType.HOMOGENEOUS if issubclass(builder, HomogeneousBuilder) else SubscriptionType.HETEROGENEOUS

    def assign(spec: GroupSpec, topics: Topics) -> TargetAssignment:
        if spec.subscription_type is not kind or not all(member.subscribed_topic_ids for member in spec.members.values()):
            return uniform_assign(spec, topics)
        return builder(spec, topics).build()

    return assign


# What the assignor says -----------------------------------------------------------------------------------------------------------


def _then(assign: ServerAssignor, change: Callable[[TargetAssignment], TargetAssignment]) -> ServerAssignor:
    return lambda spec, topics: change(assign(spec, topics))


def _last_partition_lost(target: TargetAssignment) -> TargetAssignment:
    """Keep its last partition from the last member that has one."""
    for member in reversed(target):
        for topic, numbers in target[member].items():
            return target | {member: {**target[member], topic: numbers[:-1]}}
    return target


def _first_partition_twice(target: TargetAssignment) -> TargetAssignment:
    """Give the first partition of the first member to the last member too."""
    held = [(topic, numbers[0]) for partitions in target.values() for topic, numbers in partitions.items() if numbers]
    last = next(reversed(target), None)
    if last is None or not held:
        return target
    topic, number = held[0]
    return target | {last: {**target[last], topic: (*target[last].get(topic, ()), number)}}


def _range_from_the_end(spec: GroupSpec, topics: Topics) -> TargetAssignment:
    """Count partitions from the end, so that the last members get the longer ranges."""
    counted = range_assign(spec, topics)
    return {
        member: {topic: tuple(sorted(topics[topic].partitions - 1 - number for number in numbers)) for topic, numbers in partitions.items()}
        for member, partitions in counted.items()
    }


BUGS_OF_ASSIGNORS: Final[tuple[AssignorBug, ...]] = (
    _bug("uniform-forgets-last-target", "Assigns anew at each rebalance.", "CGA-11",
         _with_members(uniform_assign, lambda _, member: member._replace(assigned={}))),
    _bug("uniform-keeps-all", "A member keeps more than its quota.", "CGA-10", _built(_KeepsAll)),
    _bug("uniform-extras-first", "The first members take the extra partitions from those that hold them.", "CGA-08 CGA-11", _built(_ExtrasFirst)),
    _bug("uniform-revokes-first", "A member gives its first partitions up, not its last.", "CGA-08", _built(_RevokesFirst)),
    _bug("uniform-deals-backwards", "Deals the unassigned partitions from the last to the first.", "CGA-07", _built(_DealsBackwards)),
    _bug("uniform-members-by-id", "Goes through the members in the order of their ids.", "CGA-12", _in_order(uniform_assign, lambda _name, _member: 0)),
    _bug("uniform-static-first", "Goes through static members first, as range does.", "CGA-12",
         _in_order(uniform_assign, lambda _, member: member.instance_id is None)),
    _bug("uniform-by-rack", "Goes through the members by their racks.", "CGA-25", _in_order(uniform_assign, lambda _, member: member.rack_id or "")),
    _bug("uniform-topics-by-id", "Goes through the topics in the order in which the member names them.", "CGA-12",
         _with_members(uniform_assign, lambda _, member: member._replace(subscribed_topic_ids=tuple(sorted(member.subscribed_topic_ids))))),
    _bug("uniform-sees-no-growth", "Does not assign what a topic has grown by.", "CGX-12", _of_fewer_partitions),
    _bug("uniform-subscription-of-first", "Takes the first member's subscription for that of all.", "CGA-14", _seen_by_first),
    _bug("uniform-always-homogeneous", "Deals with members of different subscriptions as if they were alike.", "CGA-13 CGA-14",
         _as_type(uniform_assign, SubscriptionType.HOMOGENEOUS)),
    _bug("uniform-always-heterogeneous", "Deals with members of one subscription topic by topic.", "CGA-07",
         _as_type(uniform_assign, SubscriptionType.HETEROGENEOUS)),
    _bug("uniform-never-balances", "Moves no partition between members of different subscriptions.", "CGA-13", _built(_NeverBalances)),
    _bug("uniform-balances-once", "Goes round the topics once, though a move unbalanced one before.", "CGA-13", _built(_BalancesOnce)),
    _bug("uniform-deals-in-turn", "Deals a topic to its subscribers in turn, however many partitions they have.", "CGA-13", _built(_DealsInTurn)),
    _bug("uniform-topics-without-need", "Deals topics in the order of their ids, not of how much is left of them for each subscriber.", "CGA-13",
         _built(_ByNameOfTopic)),
    _bug("uniform-loses-a-partition", "Leaves the last partition of the last member to nobody.", "CGA-10", _then(uniform_assign, _last_partition_lost)),
    _bug("uniform-gives-a-partition-twice", "Gives a partition to two members.", "CGA-10", _then(uniform_assign, _first_partition_twice)),
    _bug("uniform-as-range", "Answers as range does.", "CGA-10 CGA-11", range_assign),
    _bug("range-as-uniform", "Answers as uniform does.", "CGA-17", uniform_assign),
    _bug("range-by-member-id", "Goes by member ids alone.", "CGA-22", _with_members(range_assign, lambda _, member: member._replace(instance_id=None))),
    _bug("range-static-last", "Goes through static members last.", "CGA-22",
         _with_members(range_assign, lambda name, member: member._replace(instance_id=None if member.instance_id else name))),
    _bug("range-longer-last", "Gives the longer ranges to the last members.", "CGA-16", _range_from_the_end),
    _bug("range-loses-a-partition", "Leaves the last partition of the last member to nobody.", "CGA-15", _then(range_assign, _last_partition_lost)),
    _bug("range-gives-a-partition-twice", "Gives a partition to two members.", "CGA-15", _then(range_assign, _first_partition_twice)),
    _bug("range-always-homogeneous", "Cuts every topic into ranges for all members.", "CGA-19 CGA-21",
         _as_type(range_assign, SubscriptionType.HOMOGENEOUS)),
)  # fmt: skip

"""uniform where members subscribe to different topics.

For each topic it gives unassigned partitions to the members with the fewest. Then it moves partitions until topics are balanced. This is
UniformHeterogeneousAssignmentBuilder of Kafka 4.0 to 4.4; requirements CGA-13 and CGA-14. Members are identified by their index in the group's map,
which breaks ties.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, compress, count, repeat
from operator import add, attrgetter, contains, eq, methodcaller
from typing import Final

from groupproof.coordinator.assignors.group_spec import GroupSpec, TargetAssignment, TopicId, TopicSpec
from groupproof.coordinator.assignors.member_balancer import MemberBalancer
from groupproof.coordinator.assignors.stored_order import MutableAssignment, deep_copy, set_of, stored

__all__ = ["HeterogeneousBuilder", "assign_heterogeneous"]

ROUNDS_MAX: Final = 16
"""MAX_ITERATION_COUNT: a full balance of overlapping subscriptions may take too long."""
_NOBODY: Final = -1
_SIGN: Final = 1 << 63
_ASSIGNED: Final = attrgetter("assigned")


def assign_heterogeneous(spec: GroupSpec, topics: Mapping[TopicId, TopicSpec]) -> TargetAssignment:
    """Return the target of every member."""
    return HeterogeneousBuilder(spec, topics).build()


class HeterogeneousBuilder:
    """Each partition's owner, each member's number of partitions, and the assignments that differ from the last ones."""

    def __init__(self, spec: GroupSpec, topics: Mapping[TopicId, TopicSpec]) -> None:
        self._ids = list(spec.members)
        self._members = list(spec.members.values())
        self._subscribers = _subscribers([member.subscribed_topic_ids for member in self._members])
        self._owners = {topic: [_NOBODY] * topics[topic].partitions for topic in self._subscribers}
        self._sizes = [0] * len(self._members)
        self._changed: dict[int, MutableAssignment] = {}

    def build(self) -> TargetAssignment:
        self._keep_subscribed()
        in_order = sorted(self._subscribers, key=self._by_need)
        for topic in in_order:
            self._deal_unassigned(topic)
        self._balance([topic for topic in in_order if len(self._subscribers[topic]) > 1])
        target: TargetAssignment = dict(zip(self._ids, map(_ASSIGNED, self._members), strict=True))
        for index, assignment in self._changed.items():
            target[self._ids[index]] = stored(assignment.items(), self._members[index].assigned)
        return target

    def _by_need(self, topic: TopicId) -> tuple[float, int, tuple[int, int]]:
        """Order topics by partitions per subscriber, most first, then by subscribers, fewest first, then by id, as Uuid.compareTo does."""
        subscribers = len(self._subscribers[topic])
        return -(len(self._owners[topic]) / subscribers), subscribers, _signed(topic)

    def _keep_subscribed(self) -> None:
        """Remove the topics that a member no longer subscribes to (maybeRevokePartitions)."""
        shares = list(map(_ASSIGNED, self._members))
        for topic in set().union(*shares):
            held: list[tuple[int, ...]] = list(map(methodcaller("get", topic, ()), shares))
            subscribers = self._subscribers.get(topic, [])
            if len(subscribers) < len(held):
                for index in set(compress(count(), map(contains, shares, repeat(topic)))).difference(subscribers):
                    self._changeable(index).remove(topic)
                    held[index] = ()
            if subscribers:
                self._sizes = list(map(add, self._sizes, map(len, held)))
                owners = chain.from_iterable(map(repeat, count(), map(len, held)))
                deque(map(self._owners[topic].__setitem__, chain.from_iterable(held), owners), maxlen=0)  # consumes the map

    def _deal_unassigned(self, topic: TopicId) -> None:
        owners = self._owners[topic]
        if _NOBODY in owners:
            balancer = MemberBalancer(self._subscribers[topic], self._sizes)
            for number in [number for number, owner in enumerate(owners) if owner == _NOBODY]:
                self._assign(topic, number, balancer.next_least_loaded())

    def _balance(self, topics: list[TopicId]) -> None:
        """Balance the topics in turn until no partition has moved since this topic was balanced last."""
        last_moved: int | None = None
        for _ in range(ROUNDS_MAX):
            for position, topic in enumerate(topics):
                if position == last_moved:
                    return
                if self._balance_topic(topic) or last_moved is None:
                    last_moved = position

    def _balance_topic(self, topic: TopicId) -> bool:
        """Move partitions of a topic from the members with the most to those with the fewest. Return whether any moved."""
        subscribers = self._subscribers[topic]
        sizes = list(map(self._sizes.__getitem__, subscribers))
        if max(sizes) - min(sizes) <= 1:
            return False
        balancer, owned = MemberBalancer(subscribers, self._sizes), _Owned(self._owners[topic])
        has_moved = False
        for giver in _givers(balancer, owned):
            number = owned[giver].pop()
            taker = balancer.next_least_loaded()
            if balancer.is_balanced:
                break
            self._assign(topic, number, taker)
            has_moved = True
        return has_moved

    def _assign(self, topic: TopicId, number: int, to: int) -> None:
        owner = self._owners[topic][number]
        if owner != _NOBODY:
            self._remove(topic, number, owner)
        subscribers = len(self._subscribers[topic])
        share = -(-len(self._owners[topic]) // subscribers)
        assignment = self._changeable(to)
        assignment.compute_if_absent(topic, lambda: set_of((), int(share / 0.75) + 1)).put(number, None)
        self._owners[topic][number] = to
        self._sizes[to] += 1

    def _remove(self, topic: TopicId, number: int, owner: int) -> None:
        assignment = self._changeable(owner)
        assignment[topic].remove(number)
        if not len(assignment[topic]):
            assignment.remove(topic)
        self._sizes[owner] -= 1

    def _changeable(self, index: int) -> MutableAssignment:
        if index not in self._changed:
            self._changed[index] = deep_copy(self._members[index].assigned)
        return self._changed[index]


class _Owned(dict[int, list[int]]):
    """The partitions of a topic that a member has before any of them moves. They are computed on demand: few members are asked for."""

    def __init__(self, owners: Sequence[int]) -> None:
        super().__init__()
        self._owners = tuple(owners)

    def __missing__(self, member: int) -> list[int]:
        found = self[member] = list(compress(count(), map(eq, self._owners, repeat(member))))
        return found


def _subscribers(subscribed: Sequence[tuple[TopicId, ...]]) -> dict[TopicId, list[int]]:
    """Return the subscribers of each topic. Most members share a subscription."""
    distinct = dict.fromkeys(subscribed)
    return {
        topic: list(compress(count(), map({topics for topics in distinct if topic in topics}.__contains__, subscribed)))
        for topic in dict.fromkeys(chain.from_iterable(distinct))
    }


def _givers(balancer: MemberBalancer, owned: Mapping[int, list[int]]) -> Iterator[int]:
    """Yield the member that gives up the next partition: one with the most partitions that has one of the topic."""
    while not balancer.is_balanced:
        giver = balancer.next_most_loaded()
        while giver is not None and not owned[giver]:
            balancer.exclude_most_loaded()
            giver = balancer.next_most_loaded()
        if giver is None:
            return
        yield giver


def _signed(topic: TopicId) -> tuple[int, int]:
    """Return the two halves of an id, in the order in which Java compares signed longs."""
    bits = int(topic.replace("-", ""), 16)
    high, low = bits >> 64, bits & ((1 << 64) - 1)
    return high ^ _SIGN, low ^ _SIGN

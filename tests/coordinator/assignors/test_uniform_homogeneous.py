"""uniform among members of one subscription: balance within one, and no move that balance does not ask for (CGA-08, CGA-10, CGA-11)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from tests.coordinator.server_invariants import ID, groups, is_balanced, member, moves, named, topics_of

from groupproof.coordinator.assignors.group_spec import GroupSpec, MemberSpec, SubscriptionType, TopicSpec
from groupproof.coordinator.assignors.uniform_homogeneous import UNKNOWN, HomogeneousBuilder, assign_homogeneous

TOPICS = sorted(ID.values())[:3]
Drawn = tuple[GroupSpec, Mapping[str, TopicSpec]]


def group_of(members: Mapping[str, MemberSpec]) -> GroupSpec:
    return GroupSpec(members=members, subscription_type=SubscriptionType.HOMOGENEOUS)


@given(groups(alike=True))
def test_two_members_differ_by_one_partition_at_most(group: Drawn) -> None:
    assert is_balanced(assign_homogeneous(*group))


@given(groups(alike=True))
def test_no_more_partitions_move_than_balance_asks_for(group: Drawn) -> None:
    spec, topics = group
    subscribed = next(iter(spec.members.values())).subscribed_topic_ids
    sizes = sorted(
        (sum(len(numbers) for topic, numbers in held.assigned.items() if topic in subscribed) for held in spec.members.values()), reverse=True
    )
    unsubscribed = sum(len(numbers) for held in spec.members.values() for topic, numbers in held.assigned.items() if topic not in subscribed)
    quota, longer = divmod(sum(topics[topic].partitions for topic in subscribed), len(spec.members))
    needed = sum(max(0, size - quota - (place < longer)) for place, size in enumerate(sizes))

    # Kafka does not look ahead: a member that comes before the one with an extra partition may take the extra, and so cost one move for each of them.
    assert needed + unsubscribed <= moves(spec, assign_homogeneous(spec, topics)) <= needed + unsubscribed + longer


@given(groups(alike=True))
def test_a_target_is_the_target_of_itself(group: Drawn) -> None:
    spec, topics = group
    target = assign_homogeneous(spec, topics)
    again = replace(spec, members={name: held._replace(assigned=target[name]) for name, held in spec.members.items()})

    assert all(assign_homogeneous(again, topics)[name] is target[name] for name in target)


def test_a_third_member_takes_one_partition_and_the_first_keeps_both() -> None:
    first, second = member("t", {ID["t"]: (0, 1)}), member("t", {ID["t"]: (2, 3)})
    target = assign_homogeneous(group_of({"A": first, "B": second, "C": member("t")}), topics_of({"t": 4}))

    assert named(target) == {"A": {"t": (0, 1)}, "B": {"t": (2,)}, "C": {"t": (3,)}}
    assert target["A"] is first.assigned


def test_the_extra_partitions_go_to_those_that_hold_them_and_else_to_the_last_members() -> None:
    members = {"A": member("t", {ID["t"]: (0,)}), "B": member("t", {ID["t"]: (1, 2)}), "C": member("t")}

    assert named(assign_homogeneous(group_of(members), topics_of({"t": 4}))) == {"A": {"t": (0,)}, "B": {"t": (1, 2)}, "C": {"t": (3,)}}


@pytest.mark.parametrize(("order", "kept"), [((0, 1, 2), (0,)), ((2, 1, 0), (2,))])
def test_a_member_keeps_the_first_partitions_of_its_stored_assignment(order: tuple[int, ...], kept: tuple[int, ...]) -> None:
    members = {name: member("t") for name in "BC"} | {"A": member("t", {ID["t"]: order})}

    assert assign_homogeneous(group_of(members), topics_of({"t": 3}))["A"] == {ID["t"]: kept}


def test_a_topic_that_nobody_subscribes_to_any_more_is_given_up() -> None:
    members = {"A": member("u", {ID["t"]: (0,)}), "B": member("u", {ID["u"]: (0,)})}

    assert named(assign_homogeneous(group_of(members), topics_of({"u": 1}))) == {"A": {}, "B": {"u": (0,)}}


def test_a_member_that_keeps_its_partitions_needs_no_long_check() -> None:
    for seed in range(300):
        draw, last = Random(seed), dict[str, Mapping[str, tuple[int, ...]]]()
        subscribed = draw.sample(TOPICS, draw.randint(1, 3))
        counts = {topic: TopicSpec(partitions=draw.choice((1, 3, 8, 20))) for topic in TOPICS}
        for _ in range(6):
            names = draw.sample("abcdefghij", draw.randint(1, 10))
            if draw.random() < 0.2:
                subscribed = draw.sample(TOPICS, draw.randint(1, 3))
            group = group_of({name: MemberSpec(tuple(subscribed), last.get(name, {})) for name in names})
            quick, long = HomogeneousBuilder(group, counts), HomogeneousBuilder(group, counts)
            long._held = [UNKNOWN] * len(names)

            last, at_length = quick.build(), long.build()
            assert [(name, list(share.items())) for name, share in last.items()] == [
                (name, list(share.items())) for name, share in at_length.items()
            ], seed

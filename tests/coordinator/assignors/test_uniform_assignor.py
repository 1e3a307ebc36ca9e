"""uniform, on the groups that five releases of Apache Kafka were measured with (CGA-07 to CGA-14), and what holds of any group."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from tests.coordinator.server_invariants import ID, groups, law_broken, member, named, spec_of, topics_of

from groupproof.coordinator.assignors.group_spec import GroupSpec, MemberSpec, SubscriptionType, TopicSpec
from groupproof.coordinator.assignors.uniform_assignor import uniform_assign

A, B, C = "A", "B", "C"


@pytest.mark.parametrize(
    ("counts", "subscriptions", "expected"),
    [
        ({"t": 4}, {A: "t", B: "t"}, {A: {"t": (0, 1)}, B: {"t": (2, 3)}}),  # CGA-07
        ({"t": 1}, {A: "t", B: "t", C: "t"}, {A: {}, B: {}, C: {"t": (0,)}}),  # the last one must take the extra partition
        ({"t": 4, "u": 3}, {A: "t", B: "u"}, {A: {"t": (0, 1, 2, 3)}, B: {"u": (0, 1, 2)}}),  # CGA-14
    ],
)
def test_the_target_is_the_one_that_was_measured(counts: Mapping[str, int], subscriptions: Mapping[str, str], expected: object) -> None:
    assert named(uniform_assign(spec_of(subscriptions), topics_of(counts))) == expected


def test_a_member_that_joined_first_keeps_the_only_partition() -> None:
    held = {A: member("t", {ID["t"]: (0,)}), B: member("t"), C: member("t")}  # CGA-09

    assert named(uniform_assign(GroupSpec(members=held, subscription_type=SubscriptionType.HOMOGENEOUS), topics_of({"t": 1}))) == {
        A: {"t": (0,)},
        B: {},
        C: {},
    }


def test_members_of_two_topics_and_of_one_have_two_or_three_partitions_each() -> None:
    target = uniform_assign(spec_of({A: "tu", B: "t", C: "u"}), topics_of({"t": 4, "u": 3}))  # CGA-13

    assert sorted(sum(map(len, partitions.values())) for partitions in target.values()) == [2, 2, 3]


@pytest.mark.parametrize("kind", SubscriptionType)
def test_members_without_topics_are_assigned_nothing_and_give_up_what_they_had(kind: SubscriptionType) -> None:
    spec = GroupSpec(members={A: MemberSpec(subscribed_topic_ids=(), assigned={ID["t"]: (0,)}), B: member("")}, subscription_type=kind)

    assert uniform_assign(spec, topics_of({"t": 1})) == {A: {}, B: {}}


@given(groups())
def test_every_subscribed_partition_has_one_owner_that_subscribes(group: tuple[GroupSpec, Mapping[str, TopicSpec]]) -> None:
    assert law_broken(*group, uniform_assign(*group)) is None

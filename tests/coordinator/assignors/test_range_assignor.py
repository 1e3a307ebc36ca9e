"""range, on the groups that five releases of Apache Kafka were measured with (CGA-15 to CGA-22), and what holds of any group."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from tests.coordinator.server_invariants import ID, groups, law_broken, member, named, spec_of, topics_of

from groupproof.coordinator.assignors.group_spec import GroupSpec, MemberSpec, SubscriptionType, TopicSpec
from groupproof.coordinator.assignors.range_assignor import range_assign, range_in_order

A, B, C = "A", "B", "C"


@pytest.mark.parametrize(
    ("counts", "subscriptions", "expected"),
    [
        ({"t": 4}, {A: "t", B: "t"}, {A: {"t": (0, 1)}, B: {"t": (2, 3)}}),  # CGA-15
        ({"t": 4}, {A: "t", B: "t", C: "t"}, {A: {"t": (0, 1)}, B: {"t": (2,)}, C: {"t": (3,)}}),  # CGA-16
        ({"t": 4, "u": 3}, {B: "tu", A: "tu"}, {A: {"t": (0, 1), "u": (0, 1)}, B: {"t": (2, 3), "u": (2,)}}),  # CGA-17
        ({"t": 4, "u": 3, "o": 1}, {A: "tuo", B: "tuo"}, {A: {"t": (0, 1), "u": (0, 1), "o": (0,)}, B: {"t": (2, 3), "u": (2,)}}),  # CGA-18
        ({"t": 4, "u": 3}, {A: "tu", B: "t", C: "u"}, {A: {"t": (0, 1), "u": (0, 1)}, B: {"t": (2, 3)}, C: {"u": (2,)}}),  # CGA-19
        ({"t": 1}, {A: "t", B: "t", C: "t"}, {A: {"t": (0,)}, B: {}, C: {}}),  # CGA-20
        ({"t": 4, "u": 3}, {A: "t", B: "u"}, {A: {"t": (0, 1, 2, 3)}, B: {"u": (0, 1, 2)}}),  # CGA-21
    ],
)
def test_the_ranges_are_those_that_were_measured(counts: Mapping[str, int], subscriptions: Mapping[str, str], expected: object) -> None:
    assert named(range_assign(spec_of(subscriptions), topics_of(counts))) == expected


def test_static_members_come_first_by_instance_id_and_the_others_by_member_id() -> None:
    members = {"a": member("t"), "z": member("t", instance_id="i1"), "m": member("t", instance_id="i0")}
    spec = GroupSpec(members=members, subscription_type=SubscriptionType.HOMOGENEOUS)

    assert named(range_assign(spec, topics_of({"t": 3}))) == {"m": {"t": (0,)}, "z": {"t": (1,)}, "a": {"t": (2,)}}


@pytest.mark.requirement("CGA-22")
def test_the_same_ranges_may_go_to_the_members_in_any_order() -> None:
    spec, topics = spec_of({A: "tu", B: "t", C: "tu"}), topics_of({"t": 5, "u": 3})

    assert range_in_order(spec, topics, [A, B, C]) == range_assign(spec, topics)
    assert named(range_in_order(spec, topics, [C, B, A])) == {C: {"t": (0, 1), "u": (0, 1)}, B: {"t": (2, 3)}, A: {"t": (4,), "u": (2,)}}


def test_a_range_that_stays_is_the_same_object() -> None:
    last = {ID["t"]: (1, 0)}
    spec = GroupSpec(members={A: MemberSpec(subscribed_topic_ids=(ID["t"],), assigned=last)}, subscription_type=SubscriptionType.HOMOGENEOUS)

    assert range_assign(spec, {ID["t"]: TopicSpec(partitions=2)})[A] is last


def test_a_group_without_members_has_no_target() -> None:
    assert range_assign(GroupSpec(members={}, subscription_type=SubscriptionType.HOMOGENEOUS), topics_of({"t": 1})) == {}


@given(groups())
def test_every_subscribed_partition_has_one_owner_that_subscribes(group: tuple[GroupSpec, Mapping[str, TopicSpec]]) -> None:
    assert law_broken(*group, range_assign(*group)) is None


@given(groups())
def test_the_ranges_of_one_topic_differ_by_one_at_most_and_have_no_gap(group: tuple[GroupSpec, Mapping[str, TopicSpec]]) -> None:
    spec, topics = group
    target = range_assign(spec, topics)

    for topic in topics:
        owned = [tuple(sorted(target[name].get(topic, ()))) for name, held in spec.members.items() if topic in held.subscribed_topic_ids]
        sizes = sorted(map(len, owned))
        assert not sizes or sizes[-1] - sizes[0] <= 1
        assert all(numbers == tuple(range(numbers[0], numbers[-1] + 1)) for numbers in owned if numbers)

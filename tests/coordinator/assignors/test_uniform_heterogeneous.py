"""uniform among members of different subscriptions: every topic's subscribers are balanced where one round of moves can do it (CGA-13)."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from hypothesis import given
from tests.coordinator.server_invariants import ID, groups, law_broken, member, named, spec_of, topics_of

from groupproof.coordinator.assignors.group_spec import GroupSpec, SubscriptionType, TopicSpec
from groupproof.coordinator.assignors.uniform_heterogeneous import _signed, assign_heterogeneous


@given(groups(alike=False))
def test_no_subscriber_could_take_a_partition_from_one_that_has_two_more(group: tuple[GroupSpec, Mapping[str, TopicSpec]]) -> None:
    spec, topics = group
    target = assign_heterogeneous(spec, topics)
    sizes = {name: sum(map(len, partitions.values())) for name, partitions in target.items()}

    assert law_broken(spec, topics, target) is None
    for name, partitions in target.items():
        for topic in partitions:
            poorest = min(sizes[other] for other, held in spec.members.items() if topic in held.subscribed_topic_ids)
            assert sizes[name] - poorest <= 1, (name, topic)


def test_what_is_balanced_stays_where_it_is() -> None:
    members = {"A": member("tu", {ID["t"]: (3, 1)}), "B": member("t", {ID["t"]: (0, 2)})}
    target = assign_heterogeneous(GroupSpec(members=members, subscription_type=SubscriptionType.HETEROGENEOUS), topics_of({"t": 4, "u": 1}))

    assert target["B"] is members["B"].assigned
    assert named(target)["A"] == {"t": (1, 3), "u": (0,)}


def test_a_topic_with_few_subscribers_is_dealt_before_one_with_many() -> None:
    target = assign_heterogeneous(spec_of({"A": "tu", "B": "t"}), topics_of({"t": 2, "u": 2}))

    assert named(target) == {"A": {"u": (0, 1)}, "B": {"t": (0, 1)}}


def test_an_overlap_may_leave_neighbours_one_apart_and_the_ends_two() -> None:
    target = assign_heterogeneous(spec_of({"A": "t", "B": "tu", "C": "u"}), topics_of({"t": 13, "u": 17}))
    sizes = {name: sum(map(len, partitions.values())) for name, partitions in target.items()}

    assert sorted(sizes.values())[-1] - sorted(sizes.values())[0] <= 2  # UniformHeterogeneousAssignmentBuilder.balanceTopics says so itself


def test_partitions_that_move_go_through_a_set_that_is_made_for_a_share() -> None:
    """Of 36 partitions a share is 12, and `new HashSet<>((int) (12 / 0.75) + 1)` has 32 places; the record's set has 16, where 13 still comes before 29."""
    members = {"A": member("tu"), "B": member("tu"), "C": member("t", {ID["t"]: tuple(range(36))})}
    target = assign_heterogeneous(GroupSpec(members=members, subscription_type=SubscriptionType.HETEROGENEOUS), topics_of({"t": 36, "u": 1}))

    assert list(target["A"][ID["t"]]) == [33, 17, 19, 21, 23, 25, 27, 13, 29, 15, 31]


def test_topics_are_in_the_order_in_which_java_compares_the_halves_of_their_ids() -> None:
    """`Uuid.compareTo` compares two signed longs."""
    ids = [str(UUID(int=high << 64 | low)) for high in (1 << 63, 0, 1) for low in (1 << 63, (1 << 64) - 1, 0, 1)]

    assert sorted(ids[::-1], key=_signed) == ids

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupproof.clients.assignors.assignment import Cluster, GroupMember
from groupproof.clients.assignors.faust import copartitioned_groups, faust_assign


def member(name: str, *owned: int, topics: tuple[str, ...] = ("t",)) -> GroupMember:
    return GroupMember(member_id=name, topics=topics, owned=tuple(("t", number) for number in owned))


def numbers(members: list[GroupMember], partitions: int) -> dict[str, list[int]]:
    return {name: [number for _, number in owned] for name, owned in faust_assign(members, Cluster(partitions={"t": partitions})).items()}


# What CopartitionedAssignor of faust-streaming 0.15.3 deals.
@pytest.mark.parametrize(
    ("members", "partitions", "expected"),
    [
        ([member("a")], 3, {"a": [0, 1, 2]}),
        ([member("a"), member("b")], 4, {"a": [0, 2], "b": [1, 3]}),
        ([member("a", 0, 1, 2, 3), member("b")], 4, {"a": [2, 3], "b": [0, 1]}),
        ([member("a", *range(7)), member("b")], 7, {"a": [1, 4, 5, 6], "b": [0, 2, 3]}),
        ([member("a", 0, 1, 2, 3), member("b", 4, 5, 6), member("c")], 7, {"a": [1, 2, 3], "b": [4, 5, 6], "c": [0]}),
        ([member("a"), member("b"), member("c")], 2, {"a": [0], "b": [1], "c": []}),
        ([member("a", 0, 1), member("b", 1, 2)], 4, {"a": [0, 3], "b": [1, 2]}),
    ],
)
def test_partitions_are_dealt_as_faust_deals_them(members: list[GroupMember], partitions: int, expected: dict[str, list[int]]) -> None:
    assert numbers(members, partitions) == expected


@given(st.lists(st.sets(st.integers(0, 11)), min_size=1, max_size=5), st.integers(1, 12))
def test_every_partition_has_one_owner_and_nobody_has_more_than_its_share(claims: list[set[int]], partitions: int) -> None:
    dealt = numbers([member(f"m{number}", *sorted(owned)) for number, owned in enumerate(claims)], partitions)

    assert Counter(number for owned in dealt.values() for number in owned) == Counter(range(partitions))
    assert max(map(len, dealt.values())) <= -(-partitions // len(claims))


def test_topics_of_as_many_partitions_and_the_same_readers_go_together() -> None:
    members = [member("a", topics=("t", "u", "v", "w")), member("b", topics=("t", "u", "w"))]
    cluster = Cluster(partitions={"t": 2, "u": 2, "v": 2, "w": 1})

    assert copartitioned_groups(members, cluster) == [("w",), ("v",), ("t", "u")]
    assert faust_assign(members, cluster) == {"a": [("t", 0), ("u", 0), ("v", 0), ("v", 1), ("w", 0)], "b": [("t", 1), ("u", 1)]}


def test_a_topic_that_does_not_exist_is_passed_over() -> None:
    assert faust_assign([member("a", topics=("x",))], Cluster(partitions={"x": 0})) == {"a": []}

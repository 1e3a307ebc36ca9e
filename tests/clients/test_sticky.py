"""Sticky and cooperative-sticky: properties that hold for every group (the vectors are in test_assignors)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupproof.clients.assignment import Cluster, GroupMember
from groupproof.clients.sticky import claims, cooperative_sticky_assign, sticky_assign

RACKS = (None, "a", "b")
ROUNDS_MAX = 6


@st.composite
def groups(draw: st.DrawFn, *, equal: bool) -> tuple[list[GroupMember], Cluster]:
    counts = {name: draw(st.integers(0, 5)) for name in ("t0", "t1")}
    everything = [(name, number) for name, count in counts.items() for number in range(count)]
    owned = st.lists(st.sampled_from(everything), unique=True, max_size=5) if everything else st.just([])
    topics = st.lists(st.sampled_from(tuple(counts)), unique=True, min_size=1)
    members = [
        GroupMember(
            member_id=f"m{number}", topics=("t0", "t1") if equal else tuple(draw(topics)), owned=tuple(draw(owned)),
            generation=draw(st.integers(-1, 2)), rack=draw(st.sampled_from(RACKS)),
        )
        for number in range(draw(st.integers(1, 5)))
    ]  # fmt: skip
    replica_racks = {name: [frozenset(draw(st.sets(st.sampled_from(("a", "b"))))) for _ in range(count)] for name, count in counts.items()}
    return members, Cluster(partitions=counts, replica_racks=draw(st.sampled_from(({}, replica_racks))))


@pytest.mark.requirement("ASSIGN-06")
@given(group=groups(equal=True))
def test_members_with_one_subscription_differ_by_one_partition_at_most(group: tuple[list[GroupMember], Cluster]) -> None:
    sizes = [len(owned) for owned in sticky_assign(*group).values()]

    assert max(sizes) - min(sizes) <= 1


@pytest.mark.requirement("ASSIGN-06")
@given(group=groups(equal=True))
def test_a_balanced_group_without_racks_moves_nothing(group: tuple[list[GroupMember], Cluster]) -> None:
    members, cluster = group[0], Cluster(partitions=group[1].partitions)
    before = sticky_assign(members, cluster)
    again = [replace(each, owned=tuple(before[each.member_id]), generation=7) for each in members]

    assert {member: set(owned) for member, owned in sticky_assign(again, cluster).items()} == {member: set(owned) for member, owned in before.items()}


@given(group=st.one_of(groups(equal=True), groups(equal=False)))
def test_no_partition_is_given_while_another_still_holds_it(group: tuple[list[GroupMember], Cluster]) -> None:
    members, cluster = group
    sure = claims(members, cluster)
    for member, given_now in cooperative_sticky_assign(members, cluster).items():
        others = {each for other, owned in sure.items() if other != member for each in owned}
        assert not others & set(given_now)


@given(group=st.one_of(groups(equal=True), groups(equal=False)))
def test_cooperation_comes_to_rest(group: tuple[list[GroupMember], Cluster]) -> None:
    members, cluster = group
    for generation in range(3, 3 + ROUNDS_MAX):
        assignment = cooperative_sticky_assign(members, cluster)
        now = [replace(each, owned=tuple(assignment[each.member_id]), generation=generation) for each in members]
        if [set(each.owned) for each in now] == [set(each.owned) for each in members] and members[0].generation > 2:
            break
        members = now
    else:
        pytest.fail(f"still moving after {ROUNDS_MAX} rounds")
    wanted = {topic for member in members for topic in member.topics}
    assert sum(len(each.owned) for each in members) == sum(cluster.partitions[topic] for topic in wanted)


def test_of_two_equal_claims_neither_counts_and_of_two_generations_the_newer() -> None:
    both = (("t", 0), ("t", 1))
    cluster = Cluster(partitions={"t": 2})
    equal = [GroupMember(member_id=each, topics=("t",), owned=both, generation=1) for each in ("a", "b")]
    newer = [equal[0], replace(equal[1], generation=2)]

    assert claims(equal, cluster) == {"a": [], "b": []}
    assert claims(newer, cluster) == {"a": [], "b": list(both)}

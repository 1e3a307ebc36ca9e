"""Sticky and cooperative-sticky: properties that hold for every group (the vectors are in test_assignors)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupproof.clients.assignors.assignment import Assignment, Cluster, GroupMember
from groupproof.clients.assignors.sticky import claims, cooperative_sticky_assign, in_hash_order, sticky_assign

RACKS = (None, "a", "b")
REBALANCES_MAX = 4
"""Kafka's CooperativeStickyAssignorTest.verifyValidityAndBalance: beyond the first, while partitions are being revoked."""


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
    again = [replace(member, owned=tuple(before[member.member_id]), generation=7) for member in members]

    assert {member: set(owned) for member, owned in sticky_assign(again, cluster).items()} == {member: set(owned) for member, owned in before.items()}


@given(group=st.one_of(groups(equal=True), groups(equal=False)))
def test_no_partition_is_given_while_another_still_holds_it(group: tuple[list[GroupMember], Cluster]) -> None:
    members, cluster = group
    sure = claims(members, cluster)
    for member, given_now in cooperative_sticky_assign(members, cluster).items():
        others = {partition for other, owned in sure.items() if other != member for partition in owned}
        assert not others & set(given_now)


@given(group=st.one_of(groups(equal=True), groups(equal=False)))
def test_cooperation_settles_within_the_rebalances_that_kafkas_own_test_allows(group: tuple[list[GroupMember], Cluster]) -> None:
    members, cluster = group
    rebalances = 0
    while revoked_by(assignment := cooperative_sticky_assign(members, cluster), members):
        members = [replace(member, owned=tuple(assignment[member.member_id]), generation=3 + rebalances) for member in members]
        rebalances += 1
        assert rebalances <= REBALANCES_MAX
    wanted = {topic for member in members for topic in member.topics}
    everything = [(topic, number) for topic in wanted for number in range(cluster.partitions[topic])]
    assert sorted(partition for given_now in assignment.values() for partition in given_now) == sorted(everything)


def revoked_by(assignment: Assignment, members: list[GroupMember]) -> bool:
    return any(set(member.owned) - set(assignment[member.member_id]) for member in members)


def test_of_two_equal_claims_neither_counts_and_of_two_generations_the_newer() -> None:
    both = (("t", 0), ("t", 1))
    cluster = Cluster(partitions={"t": 2})
    equal = [GroupMember(member_id=name, topics=("t",), owned=both, generation=1) for name in ("a", "b")]
    newer = [equal[0], replace(equal[1], generation=2)]

    assert claims(equal, cluster) == {"a": [], "b": []}
    assert claims(newer, cluster) == {"a": [], "b": list(both)}


def test_members_of_a_rack_are_dealt_its_partitions_in_turn() -> None:
    members = [GroupMember(member_id=name, topics=("t",), rack="a") for name in ("m0", "m1", "m2")]
    cluster = Cluster(partitions={"t": 7}, replica_racks={"t": [frozenset("a")] * 6 + [frozenset("b")]})

    assert {member: [number for _, number in partitions] for member, partitions in sticky_assign(members, cluster).items()} == {
        "m0": [0, 3, 6], "m1": [1, 4], "m2": [2, 5],
    }  # fmt: skip


def test_a_claim_on_a_partition_that_is_not_there_is_none() -> None:
    member = GroupMember(member_id="a", topics=("t",), owned=(("t", 1), ("t", 2), ("u", 0)), generation=1)

    assert claims([member], Cluster(partitions={"t": 2})) == {"a": [("t", 1)]}


def test_nobody_gets_more_than_its_share_for_the_sake_of_its_rack() -> None:
    members = [GroupMember(member_id=name, topics=("t",), rack=name) for name in "ab"]
    cluster = Cluster(partitions={"t": 4}, replica_racks={"t": tuple(map(frozenset, "aaab"))})
    dealt = sticky_assign(members, cluster)

    assert {member: sorted(number for _, number in owned) for member, owned in dealt.items()} == {"a": [0, 1], "b": [2, 3]}


TWO_TOPICS = Cluster(partitions={"topic1": 3, "topic2": 4})


def _owning(**owned: str) -> list[GroupMember]:
    """Return members of both topics, by what they own: partitions such as `1-0 2-3`."""
    return [
        GroupMember(
            member_id=name, topics=("topic1", "topic2"), owned=tuple((f"topic{part[0]}", int(part[2])) for part in value.split()), generation=1
        )
        for name, value in owned.items()
    ]


def _owned_text(assignment: Assignment) -> dict[str, str]:
    return {member: " ".join(f"{topic[-1]}-{number}" for topic, number in owned) for member, owned in sorted(assignment.items())}


@pytest.mark.requirement("ASSIGN-06")
def test_add_remove_two_consumers_two_topics() -> None:
    """As AbstractStickyAssignorTest.testAddRemoveTwoConsumersTwoTopics: who has too much keeps the first by partition, then topic, and not all of one topic."""
    first = sticky_assign(_owning(consumer1="", consumer2=""), TWO_TOPICS)
    assert _owned_text(first) == {"consumer1": "1-0 1-2 2-1 2-3", "consumer2": "1-1 2-0 2-2"}

    second = sticky_assign(_owning(**_owned_text(first), consumer3="", consumer4=""), TWO_TOPICS)
    assert _owned_text(second) == {"consumer1": "1-0 2-1", "consumer2": "2-0 1-1", "consumer3": "1-2 2-3", "consumer4": "2-2"}

    third = sticky_assign(_owning(consumer3="1-2 2-3", consumer4="2-2"), TWO_TOPICS)
    assert _owned_text(third) == {"consumer3": "1-2 2-3 1-0 2-1", "consumer4": "2-2 1-1 2-0"}


def test_partitions_taken_from_a_balanced_group_are_assigned_by_the_cooperative_assignor_in_two_rounds() -> None:
    owned = {"consumer1": "1-0 1-2 2-1 2-3", "consumer2": "1-1 2-0 2-2", "consumer3": "", "consumer4": ""}
    held = cooperative_sticky_assign(_owning(**owned), TWO_TOPICS)

    assert _owned_text(held) == {"consumer1": "1-0 2-1", "consumer2": "2-0 1-1", "consumer3": "", "consumer4": ""}
    assert _owned_text(cooperative_sticky_assign(_owning(**_owned_text(held)), TWO_TOPICS))["consumer4"] == "2-2"


def test_names_are_gone_through_as_javas_hash_map_does() -> None:
    assert in_hash_order(["consumer1", "consumer2", "consumer3", "consumer4"]) == ["consumer4", "consumer3", "consumer2", "consumer1"]
    assert in_hash_order(["Aa", "BB"]) == ["Aa", "BB"]
    assert in_hash_order(["BB", "Aa"]) == ["BB", "Aa"], "who shares a bucket stays in the order of coming"
    assert in_hash_order([str(number) for number in range(13)]) == ["11", "12", *(str(number) for number in range(11))]


def test_no_more_members_get_one_more_than_there_are_partitions_over() -> None:
    """Of 7 partitions one of three members gets a third one, though two could have one in their rack."""
    owned = {"m0": (("t", 0), ("t", 1)), "m1": (("t", 2), ("t", 3)), "m2": ()}
    members = [GroupMember(member_id=name, topics=("t",), owned=had, generation=1, rack="b" if name == "m2" else "a") for name, had in owned.items()]
    cluster = Cluster(partitions={"t": 7}, replica_racks={"t": [frozenset("ab"), *[frozenset("a")] * 6]})

    assert sorted(map(len, sticky_assign(members, cluster).values())) == [2, 2, 3]

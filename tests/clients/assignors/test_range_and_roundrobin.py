"""Range and round robin, and every assignor against the vectors that Kafka's own tests assert."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupproof.clients.assignors.assignment import Assignment, Cluster, GroupMember
from groupproof.clients.assignors.range_and_roundrobin import ASSIGNORS, in_order
from groupproof.clients.assignors.sticky import claims
from groupproof.protocol.vocabulary import TopicPartition

Vector = dict[str, Any]
VECTORS: list[Vector] = json.loads((Path(__file__).parent / "assignor_vectors.json").read_text())["vectors"]
NAMES = ("t0", "t1", "t2")


def partition(text: str) -> TopicPartition:
    topic, _, number = text.rpartition("-")
    return topic, int(number)


def members_of(vector: Vector) -> list[GroupMember]:
    return [
        GroupMember(
            member_id=member["member_id"],
            topics=tuple(member["topics"]),
            instance_id=member.get("instance_id"),
            owned=tuple(map(partition, member.get("owned", ()))),
            generation=member.get("generation", -1),
            rack=member.get("rack"),
        )
        for member in vector["members"]
    ]


def cluster_of(vector: Vector) -> Cluster:
    racks = {topic: [frozenset(filter(None, item)) for item in of_each] for topic, of_each in vector.get("replica_racks", {}).items()}
    return Cluster(partitions=vector["partitions"], replica_racks=racks)


def assigned(vector: Vector) -> Assignment:
    return ASSIGNORS[vector["assignor"]](members_of(vector), cluster_of(vector))


@pytest.mark.parametrize("vector", [vector for vector in VECTORS if "expected" in vector], ids=lambda item: item["id"])
def test_the_assignment_is_kafkas(vector: Vector) -> None:
    expected = {member: list(map(partition, value)) for member, value in vector["expected"].items()}
    got = assigned(vector)

    if vector["compare"] == "set":
        assert {member: sorted(value) for member, value in got.items()} == {member: sorted(value) for member, value in expected.items()}
    else:
        assert got == expected


@pytest.mark.parametrize("vector", [vector for vector in VECTORS if "expected_rack_mismatches" in vector], ids=lambda item: item["id"])
def test_no_more_partitions_are_read_from_another_rack_than_kafkas(vector: Vector) -> None:
    cluster, racks = cluster_of(vector), {member.member_id: member.rack for member in members_of(vector)}
    far = [item for member, partitions in assigned(vector).items() for item in partitions if racks[member] not in cluster.racks_of(*item)]

    assert len(far) == vector["expected_rack_mismatches"]


@pytest.mark.parametrize(
    ("vector", "wanted"),
    [(vector, wanted) for vector in VECTORS for wanted in vector.get("properties", ())],
    ids=lambda item: item if isinstance(item, str) else item["id"],
)
def test_the_assignment_has_the_properties_that_kafkas_has(vector: Vector, wanted: str) -> None:
    name, _, value = wanted.partition(":")
    assignment = assigned(vector)
    sizes = sorted(map(len, assignment.values()))
    flat = [item for partitions in assignment.values() for item in partitions]

    holds = {
        "valid": all(item[0] in member.topics for member in members_of(vector) for item in assignment[member.member_id]),
        "balanced": sizes[-1] <= 1 or all(_could_not_have(vector, assignment, poor, sizes[-1]) for poor in assignment),
        "sizes": value == ",".join(map(str, sizes)),
        "sizes-between": f"{sizes[0]},{sizes[-1]}" == value,
        "at-most-one-each": sizes[-1] <= 1,
        "no-partition-twice": len(flat) == len(set(flat)),
        "transferring-count": str(sum(vector["partitions"].values()) - len(flat)) == value,
    }
    assert holds[name]


def _could_not_have(vector: Vector, assignment: Assignment, poor: str, most: int) -> bool:
    """Tell whether nobody has two more than `poor` of which one could be moved to it."""
    topics = next(set(member.topics) for member in members_of(vector) if member.member_id == poor)
    rich = [partitions for partitions in assignment.values() if len(partitions) > len(assignment[poor]) + 1]
    return most <= len(assignment[poor]) + 1 or not any(item[0] in topics for partitions in rich for item in partitions)


@pytest.mark.parametrize("vector", [vector for vector in VECTORS if vector.get("expected_transferring")], ids=lambda item: item["id"])
def test_a_cooperative_partition_that_changes_its_owner_is_withheld(vector: Vector) -> None:
    moving = {partition(item) for item in vector["expected_transferring"]}
    before = {item for owned in assigned(vector).values() for item in owned}
    owned = {item for owned in claims(members_of(vector), cluster_of(vector)).values() for item in owned}

    if vector["assignor"] == "cooperative-sticky":
        assert not moving & before
    else:
        assert moving <= before
        assert not moving & owned


def test_static_members_are_sorted_before_dynamic_ones() -> None:
    members = [GroupMember(member_id=name, topics=(), instance_id=instance) for name, instance in (("a", None), ("c", "i2"), ("b", "i1"))]

    assert [group_member.member_id for group_member in in_order(members)] == ["b", "c", "a"]


def test_the_longer_shares_of_a_topic_of_its_own_go_by_member_not_by_partition() -> None:
    members = [GroupMember(member_id=name, topics=("t",), rack=name) for name in "abc"]
    racks = tuple(map(frozenset, "bbaa"))
    assigned_ = ASSIGNORS["range"](members, Cluster(partitions={"t": 4}, replica_racks={"t": racks}))

    assert assigned_ == {"a": [("t", 2), ("t", 3)], "b": [("t", 0)], "c": [("t", 1)]}


@st.composite
def groups(draw: st.DrawFn) -> tuple[list[GroupMember], Cluster]:
    counts = {name: draw(st.integers(0, 5)) for name in NAMES}
    everything = [(name, number) for name, count in counts.items() for number in range(count)]
    owned = st.lists(st.sampled_from(everything), unique=True, max_size=5) if everything else st.just([])
    members = [
        GroupMember(
            member_id=f"m{number}",
            topics=tuple(draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=1))),
            owned=tuple(draw(owned)),
            generation=draw(st.integers(-1, 2)),
        )
        for number in range(draw(st.integers(1, 5)))
    ]
    return members, Cluster(partitions=counts)


@pytest.mark.requirement("ASSIGN-09")
@pytest.mark.parametrize("name", ["range", "roundrobin", "sticky"])
@given(group=groups())
def test_every_subscribed_partition_has_exactly_one_owner_and_it_subscribes(name: str, group: tuple[list[GroupMember], Cluster]) -> None:
    members, cluster = group
    assignment = ASSIGNORS[name](members, cluster)

    given_away = sorted(item for owned in assignment.values() for item in owned)
    wanted = {topic for member in members for topic in member.topics}
    assert given_away == sorted((topic, number) for topic in wanted for number in range(cluster.partitions[topic]))
    assert all(item[0] in member.topics for member in members for item in assignment[member.member_id])


def test_round_robin_continues_in_the_circle_past_who_does_not_subscribe() -> None:
    members = [GroupMember(member_id=name, topics=topics) for name, topics in (("a", ("t",)), ("b", ()), ("c", ("t",)), ("d", ("t",)))]

    assert ASSIGNORS["roundrobin"](members, Cluster(partitions={"t": 4})) == {
        "a": [("t", 0), ("t", 3)], "b": [], "c": [("t", 1)], "d": [("t", 2)],
    }  # fmt: skip

"""The sticky assignment of members whose subscriptions differ."""

from __future__ import annotations

from groupproof.clients.assignors.assignment import Cluster, GroupMember
from groupproof.clients.assignors.racks import Racks
from groupproof.clients.assignors.sticky import sticky_assign
from groupproof.clients.assignors.sticky_general import balance

CLUSTER = Cluster(partitions={"t": 4, "u": 2})


def balanced(members: list[GroupMember], owned: dict[str, list[tuple[str, int]]] | None = None) -> dict[str, list[tuple[str, int]]]:
    nothing: dict[str, list[tuple[str, int]]] = {member.member_id: [] for member in members}
    return balance(members, CLUSTER, Racks(members, CLUSTER), nothing | (owned or {}))


def test_a_topic_of_one_subscriber_goes_to_it_and_the_rest_evens_out() -> None:
    members = [GroupMember(member_id="a", topics=("t",)), GroupMember(member_id="b", topics=("t", "u"))]
    assignment = balanced(members)

    assert sorted(assignment["b"])[-2:] == [("u", 0), ("u", 1)]
    assert [len(assignment["a"]), len(assignment["b"])] == [3, 3]


def test_what_is_owned_stays_as_long_as_nobody_has_two_less() -> None:
    members = [GroupMember(member_id="a", topics=("t",)), GroupMember(member_id="b", topics=("t", "u"))]
    owned = {"a": [("t", 0), ("t", 1), ("t", 2), ("t", 3)], "b": [("u", 0), ("u", 1)]}
    assignment = balanced(members, owned)

    assert [len(assignment["a"]), len(assignment["b"])] == [3, 3]
    assert set(assignment["a"]) < set(owned["a"])


def test_what_is_no_longer_subscribed_is_given_up() -> None:
    members = [GroupMember(member_id="a", topics=("t",)), GroupMember(member_id="b", topics=("u",))]
    assignment = balanced(members, {"a": [("u", 0)]})

    assert {topic for topic, _ in assignment["a"]} == {"t"}
    assert sorted(assignment["b"]) == [("u", 0), ("u", 1)]


def test_a_topic_that_nobody_wants_is_given_to_nobody() -> None:
    assignment = balanced([GroupMember(member_id="a", topics=("t",)), GroupMember(member_id="b", topics=("x",))])

    assert assignment["b"] == []
    assert len(assignment["a"]) == 4


def test_partitions_move_round_after_round_until_none_can() -> None:
    owned = {"m0": [("t", 0), ("t", 1), ("u", 0), ("u", 2)], "m1": [("s", 1)], "m2": [("s", 0)], "m3": [("u", 1)]}
    wanted = {"m0": ("t", "u"), "m1": ("s", "t"), "m2": ("s",), "m3": ("u",)}
    members = [GroupMember(member_id=key, topics=topics, owned=tuple(owned[key]), generation=1) for key, topics in wanted.items()]
    assignment = sticky_assign(members, Cluster(partitions={"s": 3, "t": 2, "u": 3}))

    assert [len(assignment[name]) for name in wanted] == [2, 2, 2, 2]


def test_no_two_partitions_of_a_topic_change_places() -> None:
    members = [GroupMember(member_id=name, topics=topics) for name, topics in (("a", ("t",)), ("b", ("u",)), ("c", ("t", "u")))]
    cluster = Cluster(partitions={"t": 4, "u": 4})
    owned = {"a": [("t", 0), ("t", 1), ("t", 2)], "b": [], "c": [("t", 3), ("u", 0), ("u", 1), ("u", 2), ("u", 3)]}
    assignment = balance(members, cluster, Racks(members, cluster), {name: list(partitions) for name, partitions in owned.items()})

    assert sorted(assignment["a"]) == owned["a"]
    assert sorted(assignment["c"]) == [("t", 3), ("u", 2), ("u", 3)]

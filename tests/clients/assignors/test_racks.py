"""Racks: when they matter, and who is near what."""

from __future__ import annotations

from groupproof.clients.assignors.assignment import Cluster, GroupMember
from groupproof.clients.assignors.racks import Racks

SPREAD = Cluster(partitions={"t": 3}, replica_racks={"t": [frozenset("a"), frozenset("b"), frozenset()]})
SAME = Cluster(partitions={"t": 2}, replica_racks={"t": [frozenset("ab"), frozenset("ab")]})


def member(name: str, rack: str | None) -> GroupMember:
    return GroupMember(member_id=name, topics=("t",), rack=rack)


def test_racks_matter_where_replicas_are_spread_and_a_member_is_near_some() -> None:
    assert Racks([member("x", "a")], SPREAD).matter
    assert not Racks([member("x", "a")], SAME).matter
    assert not Racks([member("x", "z")], SPREAD).matter
    assert not Racks([member("x", None)], SPREAD).matter


def test_a_member_without_a_rack_is_near_everything() -> None:
    racks = Racks([member("x", "a"), member("y", None)], SPREAD)

    assert racks.match("x", ("t", 0))
    assert not racks.match("x", ("t", 1))
    assert racks.match("y", ("t", 1))


def test_a_partition_in_nobodys_rack_may_stay_where_it_is() -> None:
    racks = Racks([member("x", "a")], SPREAD)

    assert racks.may_keep("x", ("t", 2))
    assert racks.rarest_first([("t", 0), ("t", 2), ("t", 1)]) == [("t", 2), ("t", 1), ("t", 0)]

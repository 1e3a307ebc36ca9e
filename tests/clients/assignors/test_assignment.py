"""What assignors are given."""

from __future__ import annotations

from groupproof.clients.assignors.assignment import Cluster


def test_racks_that_are_not_known_are_no_racks() -> None:
    cluster = Cluster(partitions={"t": 2}, replica_racks={"t": [frozenset("a")]})

    assert cluster.racks_of("t", 0) == {"a"}
    assert cluster.racks_of("t", 1) == frozenset()
    assert cluster.racks_of("u", 0) == frozenset()

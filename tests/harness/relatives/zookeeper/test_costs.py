"""What things take."""

from __future__ import annotations

from groupproof.harness.relatives.zookeeper.costs import Costs
from groupproof.protocol.relatives.zookeeper_messages import Children, Create, Delete, Exists, Get, GetEach, Set

COSTS = Costs(read_us=10, write_us=70, child_us=0.5)


def test_reads_writes_and_listings_take_their_time() -> None:
    assert [COSTS.of(operation) for operation in (Get("/"), Exists("/"), Create("/a"), Set("/a", b""), Delete("/a"))] == [10, 10, 70, 70, 70]
    assert COSTS.of(GetEach("/", ("a", "b", "c"))) == 30
    assert COSTS.of(Children("/"), 1_000) == 510

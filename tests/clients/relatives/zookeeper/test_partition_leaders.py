"""Who is fetched from."""

from __future__ import annotations

import pytest
from tests.clients.relatives.zookeeper.bench import BROKER, Bench

from groupproof.clients.outputs import Node
from groupproof.clients.relatives.zookeeper.consumer_outputs import Fetch, FindLeaders, OwnerNodesCreated, StopFetchers
from groupproof.clients.relatives.zookeeper.partition_leaders import FINDER

OTHER = Node(node_id=2, host="other", port=9092)
ALL = {("t", 0), ("t", 1), ("t", 2)}


@pytest.mark.requirement("ZK-52", "ZK-53")
def test_a_partition_waits_until_its_leader_is_found() -> None:
    bench = Bench({"t": 3})
    bench.leaders = {("t", 0): BROKER, ("t", 2): OTHER}
    player = bench.consumer("a").start()

    assert player.outputs_of(Fetch) == [Fetch(BROKER, {("t", 0): -1}), Fetch(OTHER, {("t", 2): -1})]
    assert player.machine.leaderless == {("t", 1)}
    bench.leaders = {("t", 1): OTHER}
    bench.pass_time(199)
    assert len(player.outputs_of(Fetch)) == 2
    bench.pass_time(1)
    assert player.outputs_of(Fetch)[2:] == [Fetch(OTHER, {("t", 1): -1})]
    assert player.machine.leaderless == frozenset()


@pytest.mark.requirement("ZK-53")
def test_at_the_start_all_partitions_are_without_a_leader() -> None:
    bench = Bench({"t": 3})
    player = bench.consumer("a")
    bench.leaders = {}
    player.start()

    assert player.outputs_of(OwnerNodesCreated)[0].partitions == player.machine.leaderless == ALL
    assert player.outputs_of(FindLeaders)[0].topics == {"t"}


@pytest.mark.requirement("ZK-56")
def test_a_leader_that_dies_is_followed_by_the_next_without_change_of_ownership() -> None:
    bench = Bench({"t": 3})
    player = bench.consumer("a").start()
    owners = bench.owners()
    player.feed(("t", 1), 0, 1, 2)
    bench.leaders = {**bench.leaders, ("t", 1): OTHER}
    bench.do(player, player.machine.unfetchable([("t", 1), ("t", 9)], bench.now_ms))
    bench.run()
    bench.pass_time(200)

    assert player.outputs_of(Fetch)[1:] == [Fetch(OTHER, {("t", 1): 3})]
    assert (bench.owners(), len(player.outputs_of(OwnerNodesCreated)), len(player.outputs_of(StopFetchers))) == (owners, 1, 1)


def test_brokers_that_do_not_answer_are_asked_again() -> None:
    bench = Bench({"t": 3})
    leaders, bench.leaders = bench.leaders, {}
    player = bench.consumer("a").start()
    bench.pass_time(400)
    bench.leaders = leaders
    bench.pass_time(200)

    assert len(player.outputs_of(FindLeaders)) == 4
    assert player.outputs_of(Fetch) == [Fetch(BROKER, dict.fromkeys(sorted(ALL), -1))]


def test_the_finder_stops_before_the_fetchers_do() -> None:
    bench = Bench({"t": 3})
    bench.leaders = {}
    player = bench.consumer("a").start()
    assert FINDER in player.machine.threads
    player.close()

    assert FINDER not in player.machine.threads
    assert player.machine.leaderless == frozenset()

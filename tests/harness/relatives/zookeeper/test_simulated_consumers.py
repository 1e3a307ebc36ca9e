"""Consumers on a virtual ZooKeeper, and a network between that takes time and may break."""

from __future__ import annotations

import pytest
from tests.harness.relatives.zookeeper.made import SETTINGS, formed, world_of

from groupproof.clients.relatives.zookeeper.group_settings import ConsumerSettings
from groupproof.clients.relatives.zookeeper.paths import GroupPaths
from groupproof.harness.relatives.zookeeper.simulated_consumers import MS, SimulatedGroup

PATHS = GroupPaths("g")
SECOND = 1_000 * MS


def owners(group: SimulatedGroup) -> dict[int, str]:
    found = {number: group.zookeeper.tree().node(PATHS.owner((topic, number))) for topic, number in sorted(group.partitions)}
    return {number: node.data.decode() for number, node in found.items() if node is not None}


def test_members_that_come_one_after_the_other_share_all_partitions() -> None:
    world, group = formed(3, 6)

    assert owners(world) == {0: "m0-0", 1: "m0-0", 2: "m1-0", 3: "m1-0", 4: "m2-0", 5: "m2-0"}
    assert all(world.consuming.of(member.name) == member.machine.owned for member in group)
    assert world.is_quiet


def test_the_same_seed_has_the_same_course() -> None:
    first, second = formed(4, 8)[0], formed(4, 8)[0]

    assert (first.now_us, first.operations, first.reports, first.heap.events) == (
        second.now_us,
        second.operations,
        second.reports,
        second.heap.events,
    )


def test_members_that_are_registered_when_they_start_see_nobody_come() -> None:
    world = world_of(4)
    group = [world.add_registered(f"m{number}", SETTINGS, way_us=200) for number in range(4)]
    for member in group:
        world.start(member)
    world.settle(SECOND)

    assert (world.watch_events, world.reports["rebalances"], len(owners(world))) == (0, 4, 4)


@pytest.mark.requirement("ZK-24", "TIMER-34")
def test_a_killed_member_is_found_by_its_session_and_its_partitions_are_without_a_consumer_until_then() -> None:
    world, group = formed(2, 2)
    killed_us = world.now_us
    world.kill(group[1])
    world.run(killed_us + 5 * SECOND)
    assert owners(world)[1] == "m1-0"
    world.run(killed_us + 10 * SECOND)
    world.consuming.account(world.now_us)

    assert set(owners(world).values()) == {"m0-0"}
    assert 6 * SECOND <= world.consuming.orphaned_us <= 13 * SECOND  # the timeout, the server's tick, and a conflict at most


@pytest.mark.requirement("ZK-71")
def test_a_member_that_is_cut_off_from_zookeeper_still_consumes_what_another_owns() -> None:
    world, group = formed(2, 2)
    world.cut(group[1])
    world.run(world.now_us + 30 * SECOND)

    assert set(owners(world).values()) == {"m0-0"}  # as far as ZooKeeper knows each has one owner
    assert world.consuming.by["t", 1] == {"m0", "m1"}
    world.heal(group[1])
    world.settle(30 * SECOND)
    world.consuming.account(world.now_us)
    assert (owners(world), world.consuming.by["t", 1]) == ({0: "m0-0", 1: "m1-0"}, {"m1"})
    assert world.consuming.doubled_us > 20 * SECOND


def test_a_member_that_comes_back_in_time_keeps_what_it_has() -> None:
    world, group = formed(2, 2)
    before = world.reports["rebalances"]
    world.cut(group[1])
    world.run(world.now_us + 2 * SECOND)
    world.heal(group[1])
    world.run(world.now_us + 20 * SECOND)

    assert (world.reports["rebalances"], world.consuming.doubled_us) == (before, 0)


def test_a_member_that_is_cut_off_again_before_it_has_a_new_session_gets_one_when_it_is_back() -> None:
    world, group = formed(2, 2)
    world.cut(group[1])
    world.run(world.now_us + 10 * SECOND)
    world.heal(group[1])
    world.run(world.now_us + 500)  # it has heard, and no more
    assert group[1].has_heard
    world.cut(group[1])
    world.run(world.now_us + 10 * SECOND)
    world.heal(group[1])
    world.run(world.now_us + 20 * SECOND)

    assert owners(world) == {0: "m0-0", 1: "m1-0"}


def test_an_event_that_was_under_way_when_the_connection_was_lost_comes_when_it_is_back() -> None:
    world, group = formed(2, 2)
    world.grow("t", 4)
    world.run(world.now_us + 100)  # the event has left the server, and not arrived
    world.cut(group[1])
    world.run(world.now_us + SECOND)
    assert len(group[1].missed) == 1
    world.heal(group[1])
    world.run(world.now_us + 20 * SECOND)

    assert owners(world) == {0: "m0-0", 1: "m0-0", 2: "m1-0", 3: "m1-0"}


def test_a_closed_member_does_not_come_back() -> None:
    world, group = formed(2, 2)
    world.cut(group[1])
    world.close(group[1])
    world.run(world.now_us + SECOND)
    world.heal(group[1])
    world.run(world.now_us + 20 * SECOND)

    assert set(owners(world).values()) == {"m0-0"}


def test_a_member_that_leaves_hands_over_at_once() -> None:
    world, group = formed(2, 2)
    world.close(group[0])
    world.settle(10 * SECOND)

    assert set(owners(world).values()) == {"m1-0"}
    assert group[0].machine.is_closed


@pytest.mark.requirement("ZK-70")
def test_a_topic_that_grows_is_an_event_for_each_member() -> None:
    group, _ = formed(3, 3)
    group.watch_events = 0
    group.grow("t", 6)
    group.settle(30 * SECOND)

    assert (group.watch_events, len(owners(group))) == (3, 6)


@pytest.mark.requirement("ZK-71")
def test_servers_that_lag_give_members_different_views_and_still_one_owner_each() -> None:
    world, group = formed(2, 4, servers=2)
    world.zookeeper.lag(1, 300 * MS)
    new = world.add("m9", SETTINGS, way_us=200)
    world.run(world.now_us + 150 * MS)
    assert {member.name: len(member.machine.owned) for member in (*group, new)} == {"m0": 2, "m1": 2, "m9": 0}  # m1 has not heard of m9
    world.run(world.now_us + 60 * SECOND)

    assert world.reports["conflicts"] > 0
    assert sorted(owners(world).values()) == ["m0-0", "m0-0", "m1-0", "m9-0"]


@pytest.mark.requirement("ZK-72")
def test_behind_a_slow_server_a_member_takes_longer_than_others_try_and_a_partition_stays_without_an_owner() -> None:
    group, _ = formed(2, 4, servers=2)
    group.zookeeper.lag(1, 3 * SECOND)
    group.add("m9", SETTINGS, way_us=200)
    group.run(group.now_us + 600 * SECOND)

    assert group.reports["failures"] > 0
    assert len(owners(group)) == 3
    assert group.is_quiet  # nobody is about to do anything
    group.zookeeper.lag(1, 0)
    group.grow("t", 4)
    group.settle(30 * SECOND)
    assert len(owners(group)) == 4


def test_offsets_may_be_kept_by_the_brokers() -> None:
    group = world_of(2)
    settings = ConsumerSettings(group="g", topics={"t": 1}, offsets_storage="kafka", dual_commit_enabled=False)
    group.add("m0", settings, way_us=200)
    group.run(SECOND)
    group.grow("t", 3)
    group.settle(10 * SECOND)

    assert len(owners(group)) == 3
    assert group.operations["set"] == 0
    assert group.zookeeper.tree().node(PATHS.offset(("t", 0))) is None

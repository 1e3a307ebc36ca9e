"""A group of consumers on the virtual ZooKeeper in any history: members come, leave, die and are cut off, servers lag, topics grow.

What the design promises is held at each step; what it does not (one consumer a partition, an end to every rebalance) is asked for only after everything
is healed and one more event has set everybody off, for a rebalance that was given up waits for the next.
"""

from __future__ import annotations

import random

import hypothesis
import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test
from tests.soaking import SEED

from groupproof.clients.relatives.zookeeper.group_settings import ConsumerSettings
from groupproof.clients.relatives.zookeeper.paths import GroupPaths
from groupproof.coordinator.relatives.zookeeper.ensemble import Ensemble
from groupproof.harness.relatives.zookeeper.connections import Member
from groupproof.harness.relatives.zookeeper.costs import Costs
from groupproof.harness.relatives.zookeeper.simulated_consumers import MS, SimulatedGroup

PATHS = GroupPaths("g")
SECOND = 1_000 * MS
EVENTS_MAX = 4
WHO = st.integers(0, 9)


class AnyGroup(RuleBasedStateMachine):
    """One group's life."""

    @initialize(partitions=st.integers(1, 9), servers=st.integers(1, 3), assignor=st.sampled_from(("range", "roundrobin")), seed=st.integers(0, 999))
    def begin(self, partitions: int, servers: int, assignor: str, seed: int) -> None:
        self.settings = ConsumerSettings(group="g", topics={"t": 1}, assignor=assignor)
        self.servers = servers
        self.world = SimulatedGroup(topics={"t": partitions}, costs=Costs(), zookeeper=Ensemble(servers=servers), chance=random.Random(seed))
        self.comes = 0

    @property
    def alive(self) -> list[Member]:
        return [member for member in self.world.members.values() if not member.is_dead and not member.machine.is_closing]

    @precondition(lambda self: len(self.alive) < 6)
    @rule(name=st.integers(0, 99), threads=st.integers(1, 2))
    def member_comes(self, name: int, threads: int) -> None:
        self.comes += 1
        wanted = ConsumerSettings(group="g", topics={"t": threads}, assignor=self.settings.assignor)
        self.world.add(f"m{name:02}-{self.comes}", wanted, way_us=100 + name * 5, server=name % self.servers)

    @precondition(lambda self: self.alive)
    @rule(who=WHO)
    def member_leaves(self, who: int) -> None:
        self.world.close(self.alive[who % len(self.alive)])

    @precondition(lambda self: self.alive)
    @rule(who=WHO)
    def member_dies(self, who: int) -> None:
        self.world.kill(self.alive[who % len(self.alive)])

    @precondition(lambda self: self.alive)
    @rule(who=WHO)
    def member_is_cut_off(self, who: int) -> None:
        self.world.cut(self.alive[who % len(self.alive)])

    @precondition(lambda self: self.alive)
    @rule(who=WHO, server=st.integers(0, 2))
    def member_is_back(self, who: int, server: int) -> None:
        self.world.heal(self.alive[who % len(self.alive)], server=server % self.servers)

    @rule(more=st.integers(0, 2))
    def topic_grows(self, more: int) -> None:
        self.world.grow("t", self.world.topics["t"] + more)

    @precondition(lambda self: self.servers > 1)
    @rule(lag_ms=st.sampled_from((0, 20, 1_500)))
    def server_lags(self, lag_ms: int) -> None:
        self.world.zookeeper.lag(self.servers - 1, lag_ms * MS)

    @rule(ms=st.sampled_from((1, 20, 500, 2_500, 12_000)))
    def time_passes(self, ms: int) -> None:
        self.world.run(self.world.now_us + ms * MS)

    @invariant()
    def each_owner_node_was_created_by_a_living_session_of_the_consumer_that_it_names(self) -> None:
        for partition in self.world.partitions:
            node = self.world.zookeeper.tree().node(PATHS.owner(partition))
            if node is not None:
                assert self.world.zookeeper.is_alive(node.owner)
                assert self.world.members[node.data.decode().rpartition("-")[0]].session_id == node.owner

    @invariant()
    def who_stops_says_so(self) -> None:
        for member in self.world.members.values():
            assert not member.is_dead or not self.world.consuming.of(member.name)

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        for server in range(1, self.servers):
            self.world.zookeeper.lag(server, 0)
        for member in self.world.members.values():
            self.world.heal(member, server=0)
        self.world.run(self.world.now_us + 20 * SECOND)
        assert self.world.settle(600 * SECOND), "the group does not come to rest"
        for _ in range(EVENTS_MAX):
            if not self.alive or self.is_shared():
                break
            self.topic_grows(0)
            self.world.run(self.world.now_us + 20 * SECOND)
            assert self.world.settle(600 * SECOND), "the group does not come to rest"
        assert not self.alive or self.is_shared(), "partitions without an owner, or with two"

    def is_shared(self) -> bool:
        """Tell whether each partition has one consumer, who owns it and believes so."""
        owned = [partition for member in self.alive for partition in member.machine.owned]
        nodes = [self.world.zookeeper.tree().node(PATHS.owner(partition)) for partition in self.world.partitions]
        consumers = [self.world.consuming.by[partition] for partition in self.world.partitions]
        return sorted(owned) == sorted(self.world.partitions) and None not in nodes and all(len(by) == 1 for by in consumers)


def _lived(examples: int, steps: int, part: int | None = None) -> int:
    """Have Hypothesis write histories; return how many came to their end."""
    lives: list[AnyGroup] = []

    def teardown(self: AnyGroup) -> None:
        AnyGroup.teardown(self)
        lives.append(self)

    machine = type("AnyGroup", (AnyGroup,), {"teardown": teardown})
    seeded = machine if part is None else hypothesis.seed(SEED + part)(machine)
    run_state_machine_as_test(seeded, settings=settings(max_examples=examples, stateful_step_count=steps))
    return len(lives)


@pytest.mark.slow
@pytest.mark.requirement("ZK-05", "ZK-71")
def test_a_group_shares_all_partitions_again_after_any_history() -> None:
    assert _lived(40, 25) >= 40


@pytest.mark.soak
@pytest.mark.parametrize("part", range(4))
def test_a_group_shares_all_partitions_again_after_thousands_of_histories(part: int) -> None:
    assert _lived(500, 50, part) >= 500

"""Clusters are shared by the cases that need the same, a few are up at a time, and none is left."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio

from groupproof.chaos.wire.wire_clusters import ClusterPool, WireCluster, cluster_spec_of
from groupproof.coordinator.machine.storage import partition_of
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.model.plan import Arm, BreakBroker, Member, MoveCoordinator, Pass, Plan, Step
from groupproof.harness.running.scripts.cluster_pool import ClusterSpec
from groupproof.harness.subjects.brokers.apache.apache_kafka import ApacheKafka
from groupproof.harness.subjects.brokers.cluster import BrokerSubject, RunningCluster
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.protocol.faults import Fault, Move, Selector

A, B, C = (ClusterSpec(settings=(("group.max.size", size),), brokers=1) for size in (1, 2, 3))


class Counted:
    """The reference, that counts its clusters; `fails` is how many do not come up."""

    def __init__(self, fails: int = 0) -> None:
        self.inner = ReferenceBrokers(profile="kafka-4.1", seed=1)
        self.events: list[str] = []
        self.up = self.most = 0
        self.fails = fails

    @asynccontextmanager
    async def cluster(self, *, settings: Mapping[str, Any], brokers: int, topics: Mapping[str, int]) -> AsyncIterator[RunningCluster]:
        if self.fails:
            self.fails -= 1
            raise BrokenEnvironment("it did not come up")
        async with self.inner.cluster(settings=settings, brokers=brokers, topics=topics) as running:
            self.up += 1
            self.most = max(self.most, self.up)
            self.events.append(f"+{settings['group.max.size']}")
            yield running
            self.events.append(f"-{settings['group.max.size']}")
            self.up -= 1


def kept(story: Callable[[ClusterPool], Awaitable[None]], *, fails: int = 0, at_most: int = 2) -> Counted:
    subject = Counted(fails)

    async def main() -> None:
        of: BrokerSubject = subject  # type: ignore[assignment] # it starts clusters, more is not asked of it here
        pool = ClusterPool(of, at_most=at_most)
        async with pool.opened():
            with trio.fail_after(100):
                await story(pool)

    run_virtually(main, seed=1, steps_max=100_000)
    return subject


async def use(pool: ClusterPool, spec: ClusterSpec, seconds: float = 1) -> WireCluster:
    async with pool.cluster(spec) as cluster:
        with trio.move_on_after(seconds):
            await trio.sleep_forever()
        return cluster


def test_cases_of_one_cluster_spec_share_its_cluster() -> None:
    async def story(pool: ClusterPool) -> None:
        first = await use(pool, A)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(use, pool, A)
            nursery.start_soon(use, pool, A)
        assert await use(pool, A) is first

    assert kept(story).events.count("+1") == 1


def test_no_more_clusters_are_up_than_may_be_and_every_case_gets_its_own_in_the_end() -> None:
    async def story(pool: ClusterPool) -> None:
        async with trio.open_nursery() as nursery:
            for spec in (A, B, C, A, B, C):
                nursery.start_soon(use, pool, spec)

    assert kept(story).most == 2
    assert kept(story, at_most=1).most == 1


def test_a_case_that_breaks_brokers_has_a_cluster_to_itself_that_goes_with_it() -> None:
    alone = ClusterSpec(settings=A.settings, brokers=1, only="c1")

    async def story(pool: ClusterPool) -> None:
        shared, own = await use(pool, A), await use(pool, alone)
        assert own is not shared
        assert await use(pool, alone) is not own
        assert await use(pool, A) is shared

    assert kept(story).most == 2


def test_a_cluster_that_does_not_come_up_is_tried_again_by_the_next_case() -> None:
    async def story(pool: ClusterPool) -> None:
        with pytest.raises(BrokenEnvironment, match="did not come up"):
            await use(pool, A)
        await use(pool, A)

    assert kept(story, fails=1).most == 1


def test_groups_of_two_cases_are_in_partitions_of_their_own() -> None:
    async def story(pool: ClusterPool) -> None:
        cluster = await use(pool, A)
        cluster.partitions = 5
        cluster.groups.add("g-1")
        same, other = (
            next(name for name in (f"x{number}" for number in range(100)) if (partition_of(name, 5) == partition_of("g-1", 5)) is is_same)
            for is_same in (True, False)
        )
        assert (cluster.is_free(same), cluster.is_free(other)) == (False, True)
        cluster.partitions = 0
        assert cluster.is_free(same)

    kept(story)


@pytest.mark.parametrize(
    ("step", "by_killing", "is_alone"),
    [
        (Pass(ms=1), True, False),
        (BreakBroker(name="b", how="kill"), False, True),
        (MoveCoordinator(), False, False),
        (MoveCoordinator(), True, True),
        (Arm(fault=Fault(name="f", selector=Selector(api="Heartbeat"), action=Move())), True, True),
    ],
)
def test_a_case_that_breaks_or_kills_brokers_runs_alone(step: Step, by_killing: bool, is_alone: bool) -> None:
    plan = Plan(members=(Member(name="m0"),), steps=(step,), coordinator={"group.max.size": 2}, brokers=3)
    spec = cluster_spec_of(plan, "c7", moves_by_killing=by_killing)

    assert (spec.only, spec.brokers, dict(spec.settings)["group.max.size"]) == ("c7" if is_alone else None, 3, 2)


def test_a_plan_that_slows_a_disk_has_its_kafka_started_for_that() -> None:
    plan = Plan(members=(), steps=(BreakBroker(name="b", how="slow-disk"),))
    slowed, whole = cluster_spec_of(plan, "c7"), cluster_spec_of(replace(plan, steps=()), "c7")
    kafka = ApacheKafka(release="4.1.0", cache=Path("/none"), say=print)

    assert (slowed.has_slow_disk, whole.has_slow_disk) == (True, False)
    assert ClusterPool(kafka)._subject_of(slowed) == replace(kafka, has_slow_disk=True)
    assert ClusterPool(kafka)._subject_of(whole) is kafka

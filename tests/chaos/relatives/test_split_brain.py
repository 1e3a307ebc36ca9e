from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import trio
from tests.clients.relatives.zookeeper.real_world import NEEDS_JAVA, real_zookeeper

from groupproof.chaos.relatives.split_brain import CUT, DESIGNS, LATE, course_of, split
from groupproof.chaos.wire.toxiproxy_server import provision_toxiproxy, running_toxiproxy
from groupproof.clients.registry.install_cache import default_cache
from groupproof.harness.relatives.zookeeper_comparison.comparison import COORDINATOR, ZOOKEEPER, Split

SEEDS = range(1, 11)
_AT_ONCE = 4
NEEDS_GO = pytest.mark.skipif(shutil.which("go") is None, reason="no Go here, which builds Toxiproxy")


def test_a_course_follows_from_its_seed_and_affects_one_or_two_of_four() -> None:
    courses = [course_of(CUT, seed) for seed in range(50)]
    assert courses == [course_of(CUT, seed) for seed in range(50)]
    assert {len(course.struck) for course in courses} == {1, 2}
    assert {course.toxics[0].kind for course in courses} == {"down", "timeout"}
    assert {member for course in courses for member in course.struck} == {"m0", "m1", "m2", "m3"}


def test_a_client_that_reaches_the_group_late_does_so_in_both_directions() -> None:
    course = course_of(LATE, 1)
    assert len(course.struck) == 1
    assert [(impairment.kind, impairment.stream) for impairment in course.toxics] == [("latency", "upstream"), ("latency", "downstream")]


def _splits(logs: Path, fault: str, seeds: range) -> list[Split]:
    found: list[Split] = []

    async def live() -> None:
        cache, at_once = default_cache(), trio.CapacityLimiter(_AT_ONCE)
        program = await trio.to_thread.run_sync(provision_toxiproxy, cache, print)
        async with real_zookeeper(logs) as zookeeper, running_toxiproxy(program, cache=cache, logs=logs) as toxiproxy:

            async def one(design: str, seed: int) -> None:
                async with at_once:
                    found.append(await split(design, fault, seed, zookeeper=zookeeper.address, toxiproxy=toxiproxy))

            async with trio.open_nursery() as nursery:
                for seed in seeds:
                    for design in DESIGNS:
                        nursery.start_soon(one, design, seed)

    trio.run(live)
    return found


def _of(found: list[Split], design: str, is_so: Callable[[Split], bool]) -> int:
    return sum(item.design == design and is_so(item) for item in found)


@pytest.mark.soak
@pytest.mark.requirement("ZK-71", "ZK-74")
@pytest.mark.java
@pytest.mark.network
@NEEDS_JAVA
@NEEDS_GO
def test_members_that_are_cut_off_make_two_owners_on_zookeeper_and_never_under_a_coordinator(tmp_path: Path) -> None:
    found = _splits(tmp_path, CUT, SEEDS)
    assert _of(found, ZOOKEEPER, lambda item: item.figures.two_owners_ms > 0) >= 9
    assert _of(found, COORDINATOR, lambda item: item.figures.two_owners_ms > 0) == 0
    # Under a coordinator who was cut off may read on, but what it commits is refused.
    assert _of(found, COORDINATOR, lambda item: item.refused > 0) >= 9
    assert not any(item.unowned for item in found)


@pytest.mark.soak
@pytest.mark.requirement("ZK-72", "ZK-74")
@pytest.mark.java
@pytest.mark.network
@NEEDS_JAVA
@NEEDS_GO
def test_a_rebalance_that_a_late_member_holds_up_is_given_up_on_zookeeper_and_leaves_partitions_to_nobody(tmp_path: Path) -> None:
    found = _splits(tmp_path, LATE, range(1, 7))
    assert _of(found, ZOOKEEPER, lambda item: item.failures > 0 and item.unowned > 0) >= 3
    assert _of(found, COORDINATOR, lambda item: item.failures > 0 or item.unowned > 0) == 0

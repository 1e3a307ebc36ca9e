"""A switch of the Managers under load, over the wire, with tasks that really run."""

from __future__ import annotations

import pytest

from groupproof.clients.relatives.datalink.worker_settings import HandOver
from groupproof.harness.relatives.datalink.manager_switch import Switching, SwitchResult, play


@pytest.fixture(scope="module")
def switched() -> SwitchResult:
    return play(Switching(seed=3, workers=4, tasks=12, before_s=20.0))


@pytest.mark.requirement("MGR-33", "MGR-05", "TIMER-28")
def test_all_workers_come_back_and_each_task_runs_exactly_once(switched: SwitchResult) -> None:
    assert (switched.rejoined, switched.wrong, switched.is_well) == (4, {}, True)
    assert switched.settled_ms is not None
    assert switched.settled_ms < 20_000
    nodes = [obs.node for obs in switched.trace if obs.kind == "transition"]
    assert nodes == sorted(nodes, key=bool), "first the one Manager alone, then the other alone"


def test_the_overlap_is_what_tasks_did_twice_and_is_reported_in_milliseconds(switched: SwitchResult) -> None:
    assert switched.overlap_ms == sum(overlap.ms for overlap in switched.overlaps)
    assert switched.longest_overlap_ms <= switched.overlap_ms
    assert all(len(overlap.workers) == 2 for overlap in switched.overlaps)
    assert switched.items > switched.items_doubled


@pytest.mark.requirement("MGR-13", "MGR-04")
def test_on_the_wire_are_join_group_v1_and_the_others_in_their_first_version(switched: SwitchResult) -> None:
    versions = {(obs.api, obs.version) for obs in switched.trace if obs.kind == "request" and obs.api != "ApiVersions"}

    assert versions == {("FindCoordinator", 0), ("JoinGroup", 1), ("SyncGroup", 0), ("Heartbeat", 0)}


@pytest.mark.parametrize("hand_over", ["incremental"])
def test_an_incremental_hand_over_is_well_too(hand_over: HandOver) -> None:
    found = play(Switching(seed=5, workers=3, tasks=6, assignor="sticky", hand_over=hand_over, before_s=5.0, after_s=2.0))

    assert found.is_well


@pytest.mark.soak
def test_on_real_ports_too() -> None:
    found = play(Switching(seed=1, before_s=8.0, after_s=5.0, is_real=True))

    assert found.is_well
    assert found.overlap_ms >= 0


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(20))
def test_any_seed_is_well(seed: int) -> None:
    assert play(Switching(seed=seed, fences=bool(seed % 2), assignor=("round-robin", "sticky")[seed % 2])).is_well

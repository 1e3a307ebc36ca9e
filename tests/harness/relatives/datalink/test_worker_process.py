"""One worker's process: it dies with what it runs, it takes time to start a task, its network can be cut."""

from __future__ import annotations

from groupproof.harness.relatives.datalink.simulated_group import Course, World
from groupproof.harness.relatives.datalink.worker_process import Bay, TaskTimes


def _alone(**times: int) -> tuple[World, Bay]:
    world = World(Course(workers=1, tasks=3, times=TaskTimes(**times)))
    return world, world.bays[0]


def _running(world: World) -> list[str]:
    return [task for task in ("t0", "t1", "t2") if world.ledger.runners(task)]


def test_a_task_runs_when_its_start_is_over_and_no_sooner() -> None:
    world, bay = _alone(cold_start_ms=5_000)
    bay.start()
    world.heap.run(4_999)
    assert bay.worker.running == {"t0", "t1", "t2"}
    assert _running(world) == []
    world.heap.run(5_500)

    assert _running(world) == ["t0", "t1", "t2"]


def test_a_process_that_is_killed_runs_nothing_any_more_and_comes_back_cold() -> None:
    world, bay = _alone()
    bay.start()
    world.heap.run(10_000)
    bay.kill()
    bay.kill()
    assert (bay.is_up, _running(world)) == (False, [])

    bay.start()
    world.heap.run(60_000)
    assert _running(world) == ["t0", "t1", "t2"]
    assert world.ledger.lost_ms(60_000) >= 3 * 2_000


def test_one_that_leaves_stops_its_tasks_first() -> None:
    world, bay = _alone()
    bay.start()
    world.heap.run(10_000)
    bay.leave()
    world.heap.run(12_000)

    view = world.managers.view("g")
    assert view is not None
    assert (bay.is_up, bay.failure, view.members, _running(world)) == (False, None, (), [])


def test_through_a_network_that_is_cut_nothing_comes_and_tasks_go_on() -> None:
    world, bay = _alone()
    bay.start()
    world.heap.run(10_000)
    bay.is_cut = True
    world.heap.run(25_000)

    view = world.managers.view("g")
    assert view is not None
    assert (view.members, _running(world)) == ((), ["t0", "t1", "t2"])

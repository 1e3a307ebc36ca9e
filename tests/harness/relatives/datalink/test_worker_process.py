"""One worker's process: it dies with what it runs, it takes time to start a task, its network can be cut."""

from __future__ import annotations

from groupproof.harness.relatives.datalink.simulated_group import SimulatedWorkers, WorkerRun
from groupproof.harness.relatives.datalink.worker_process import TaskTimes, WorkerProcess


def _alone(**times: int) -> tuple[SimulatedWorkers, WorkerProcess]:
    workers = SimulatedWorkers(WorkerRun(workers=1, tasks=3, times=TaskTimes(**times)))
    return workers, workers.bays[0]


def _running(workers: SimulatedWorkers) -> list[str]:
    return [task for task in ("t0", "t1", "t2") if workers.ledger.runners(task)]


def test_a_task_runs_when_its_start_is_over_and_no_sooner() -> None:
    workers, worker = _alone(cold_start_ms=5_000)
    worker.start()
    workers.heap.run(4_999)
    assert worker.worker.running == {"t0", "t1", "t2"}
    assert _running(workers) == []
    workers.heap.run(5_500)

    assert _running(workers) == ["t0", "t1", "t2"]


def test_a_process_that_is_killed_runs_nothing_any_more_and_comes_back_cold() -> None:
    workers, worker = _alone()
    worker.start()
    workers.heap.run(10_000)
    worker.kill()
    worker.kill()
    assert (worker.is_up, _running(workers)) == (False, [])

    worker.start()
    workers.heap.run(60_000)
    assert _running(workers) == ["t0", "t1", "t2"]
    assert workers.ledger.lost_ms(60_000) >= 3 * 2_000


def test_one_that_leaves_stops_its_tasks_first() -> None:
    workers, worker = _alone()
    worker.start()
    workers.heap.run(10_000)
    worker.leave()
    workers.heap.run(12_000)

    view = workers.managers.view("g")
    assert view is not None
    assert (worker.is_up, worker.failure, view.members, _running(workers)) == (False, None, (), [])


def test_through_a_network_that_is_cut_nothing_comes_and_tasks_continue() -> None:
    workers, worker = _alone()
    worker.start()
    workers.heap.run(10_000)
    worker.is_cut = True
    workers.heap.run(25_000)

    view = workers.managers.view("g")
    assert view is not None
    assert (view.members, _running(workers)) == ((), ["t0", "t1", "t2"])

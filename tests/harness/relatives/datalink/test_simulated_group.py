"""Workers before a pair of Managers in virtual time: whatever happens, each task runs exactly once again."""

from __future__ import annotations

from typing import Any

import pytest

from groupproof.clients.relatives.datalink.placement import ASSIGNORS
from groupproof.clients.relatives.datalink.tasks import Task
from groupproof.clients.relatives.datalink.worker_settings import HAND_OVERS, HandOver
from groupproof.coordinator.planted.variants import READINGS
from groupproof.harness.relatives.datalink.churn import KINDS, Event, drawn
from groupproof.harness.relatives.datalink.simulated_group import Outcome, SimulatedWorkers, WorkerRun, run
from groupproof.harness.relatives.datalink.worker_process import TaskTimes


def _course(seed: int, *kinds: str, events: int = 8, **options: Any) -> WorkerRun:
    happens = drawn(seed, kinds=kinds or tuple(KINDS), events=events, every_ms=60_000, workers=5)
    return WorkerRun(seed=seed, workers=5, tasks=17, events=happens, **options)


def _longest(outcome: Outcome) -> int:
    return max((overlap.ms for overlap in outcome.overlaps), default=0)


@pytest.mark.requirement("MGR-05", "WTASK-02")
@pytest.mark.parametrize("hand_over", HAND_OVERS)
@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_after_everything_that_can_happen_each_task_runs_exactly_once(assignor: str, hand_over: HandOver) -> None:
    outcome = run(_course(3, assignor=assignor, hand_over=hand_over))

    assert outcome.violations == ()
    assert len(outcome.settled_ms) == 8
    assert outcome.generations > 8


@pytest.mark.parametrize("reading", [reading.name for reading in READINGS])
def test_so_it_is_by_every_reading_of_the_design(reading: str) -> None:
    assert run(_course(4, reading=reading)).violations == ()


@pytest.mark.requirement("PLAN-04")
def test_so_it_is_with_the_dead_state_that_is_planned() -> None:
    assert run(_course(5, "switch", "kill", profile="datalink-dead")).violations == ()


def test_the_same_seed_gives_the_same_run_to_the_last_event() -> None:
    one, other = run(_course(6)), run(_course(6))

    assert one == other
    assert run(_course(7)).events != one.events


@pytest.mark.requirement("MGR-33", "TIMER-28")
def test_of_two_managers_one_is_active_and_after_a_switch_every_worker_joins_the_other_again() -> None:
    workers = SimulatedWorkers(_course(8, events=0))
    workers.go()
    before = workers.managers.view("g")
    assert before is not None
    assert workers.managers.active == 0

    workers.managers.switch()
    workers.heap.run(workers.heap.now_ms + 30_000)

    after = workers.managers.view("g")
    assert after is not None
    assert (workers.managers.active, workers.unsettled(), len(after.members)) == (1, "", 5)
    assert after.generation <= 3, "generations begin anew"
    assert not {member.member_id for member in before.members} & {member.member_id for member in after.members}


@pytest.mark.requirement("MGR-33")
def test_a_manager_that_stays_as_the_standby_tells_workers_to_look_elsewhere() -> None:
    workers = SimulatedWorkers(_course(9, events=0))
    workers.go()

    workers.managers.switch(ends=False)
    workers.heap.run(workers.heap.now_ms + 60_000)

    assert workers.unsettled() == ""


def test_while_there_is_no_manager_workers_continue_working() -> None:
    workers = SimulatedWorkers(_course(10, events=0))
    workers.go()
    workers.managers.switch(without_ms=60_000)
    workers.heap.run(workers.heap.now_ms + 50_000)
    assert workers.managers.view("g") is None
    workers.managers.force("g")

    assert not workers.ledger.not_run_once(workers.board.configs("g").tasks.keys())


def test_a_worker_that_is_cut_off_runs_on_what_others_have_been_given_unless_it_fences_itself() -> None:
    cut = [Event(at_ms=30_000, kind="cut", who=2, for_ms=40_000)]

    as_it_is = run(WorkerRun(workers=5, tasks=17, events=tuple(cut)))
    fenced = run(WorkerRun(workers=5, tasks=17, events=tuple(cut), fences=True))

    assert _longest(as_it_is) > 15_000
    assert _longest(fenced) == 0
    assert as_it_is.violations == fenced.violations == ()


@pytest.mark.requirement("WTASK-08")
def test_updates_alone_start_no_generation() -> None:
    quiet, updated = run(_course(11, events=0)), run(_course(11, "update"))

    assert updated.generations == quiet.generations
    assert updated.starts - quiet.starts == 8, "each restarts its task alone"


@pytest.mark.requirement("WTASK-04", "PLAN-02")
def test_a_forced_rebalance_stops_all_tasks_or_by_increments_none() -> None:
    quiet, all_stop = run(_course(12, events=0)), run(_course(12, "force", events=2))
    kept_before = run(_course(12, events=0, assignor="sticky", hand_over="incremental"))
    kept = run(_course(12, "force", events=2, assignor="sticky", hand_over="incremental"))

    assert all_stop.starts - quiet.starts == 2 * 17
    assert kept.starts == kept_before.starts


def test_a_group_that_cannot_settle_is_said_to_be_so() -> None:
    hopeless = WorkerRun(workers=2, tasks=4, times=TaskTimes(cold_start_ms=500_000), settles_within_ms=10_000)

    outcome = run(hopeless)

    assert "10000 ms after the start task t0 runs on nobody" in outcome.violations[0]


@pytest.mark.requirement("PLAN-01")
def test_unequal_costs_are_placed_by_resources_and_all_run() -> None:
    assert run(_course(13, "kill", "add", assignor="resources", hand_over="incremental", unequal=True)).violations == ()


def test_tasks_that_come_and_go_down_to_none_are_borne() -> None:
    course = WorkerRun(workers=2, tasks=1, events=drawn(1, kinds=["delete", "update", "delete", "add"], events=4, every_ms=30_000, workers=2))

    assert run(course).violations == ()


@pytest.mark.requirement("WORKER-20")
def test_a_worker_that_is_parked_at_the_manager_is_joining_while_it_prepares_and_syncing_while_it_awaits() -> None:
    workers = SimulatedWorkers(_course(14, events=0))
    for worker in workers.bays:
        workers.heap.after(100 * len(worker.name), worker.start)
    observed = set()
    for _ in range(12_000):
        workers.heap.run(workers.heap.now_ms + 1)
        view = workers.managers.view("g")
        for member in () if view is None else view.members:
            if member.parked:
                (state,) = {worker.worker.state for worker in workers.bays if worker.name == member.client_id}
                observed.add((member.parked, state.value, view.state.value if view else ""))

    assert observed == {("JoinGroup", "Joining", "PreparingRebalance"), ("SyncGroup", "Syncing", "CompletingRebalance")}


@pytest.mark.requirement("WTASK-06", "WTASK-07")
@pytest.mark.parametrize("who", range(5))
def test_a_worker_that_is_shown_old_configurations_starts_nothing_until_it_has_caught_up(who: int) -> None:
    workers = SimulatedWorkers(_course(16, events=0))
    workers.go()
    worker = workers.bays[who]
    worker.stale = workers.board.configs("g")
    workers.add_task()
    workers.heap.run(workers.heap.now_ms + 30_000)
    assert workers.unsettled() != ""
    assert not workers.ledger.runners("t17") or worker.name not in workers.ledger.runners("t17")

    worker.stale = None
    workers.heap.run(workers.heap.now_ms + 15_000)

    assert workers.unsettled() == ""


@pytest.mark.requirement("WTASK-05", "MGR-02")
def test_no_worker_runs_a_task_of_another_group() -> None:
    workers = SimulatedWorkers(_course(15, events=0))
    workers.board.add("h", Task(name="theirs"))
    workers.go()

    assert not workers.ledger.runners("theirs")
    assert all("theirs" not in worker.worker.running for worker in workers.bays)
    assert workers.bays[0].worker.configs == workers.board.configs("g")


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(150))
def test_courses_of_every_kind_settle(seed: int) -> None:
    workers = 1 + seed % 9
    course = WorkerRun(
        seed=seed, workers=workers, tasks=seed * 7 % 53, assignor=tuple(ASSIGNORS)[seed % 3], hand_over=HAND_OVERS[seed // 3 % 2], fences=bool(seed % 2),
        reading=(None, *(reading.name for reading in READINGS))[seed % 6], profile=("datalink", "datalink-dead")[seed // 2 % 2], unequal=bool(seed % 5),
        events=drawn(seed, kinds=tuple(KINDS), events=24, every_ms=60_000, workers=workers),
    )  # fmt: skip

    assert run(course).violations == ()

"""The assignors: each task with exactly one worker, balance, and what each is for."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupproof.clients.relatives.datalink.placement import ASSIGNORS, Candidate, Placement, by_resources, round_robin, sticky
from groupproof.clients.relatives.datalink.task_handover import in_this_generation
from groupproof.clients.relatives.datalink.tasks import Task
from groupproof.protocol.relatives.datalink_messages import WorkerStatus, decode_status, encode_status


def _worker(name: str, *held: str, running: tuple[str, ...] = (), generation: int = 1, **more: Any) -> Candidate:
    status = WorkerStatus(url=name, config_version=1, generation=generation, held=held, running=running, version=1, **more)
    return Candidate(member_id=f"{name}-id", status=status)


def _tasks(*names: str) -> list[Task]:
    return [Task(name=name) for name in names]


GROUPS = st.integers(1, 6).flatmap(
    lambda workers: st.tuples(
        st.just(workers), st.lists(st.integers(0, workers - 1), max_size=30), st.integers(0, 10), st.randoms(use_true_random=False)
    )
)


def _drawn(group: tuple[int, list[int], int, random.Random]) -> tuple[list[Candidate], list[Task]]:
    """Return workers that hold tasks, and these tasks with some new ones."""
    workers, holders, new, _ = group
    held = [[f"t{task}" for task, holder in enumerate(holders) if holder == index] for index in range(workers)]
    return [_worker(f"w{index}", *held[index]) for index in range(workers)], _tasks(*(f"t{task}" for task in range(len(holders) + new)))


@pytest.mark.requirement("WTASK-02")
@pytest.mark.parametrize("name", ASSIGNORS)
@settings(max_examples=40)
@given(group=GROUPS)
def test_every_task_is_given_to_exactly_one_worker(name: str, group: tuple[int, list[int], int, random.Random]) -> None:
    workers, tasks = _drawn(group)

    placed = ASSIGNORS[name](workers, tasks, group[3])

    assert placed.keys() == {worker.member_id for worker in workers}
    assert sorted(task for own in placed.values() for task in own) == sorted(task.name for task in tasks)


@pytest.mark.requirement("WTASK-01")
@pytest.mark.parametrize("name", ASSIGNORS)
@settings(max_examples=40)
@given(group=GROUPS)
def test_tasks_of_equal_cost_are_balanced_within_one(name: str, group: tuple[int, list[int], int, random.Random]) -> None:
    workers, tasks = _drawn(group)

    counts = [len(own) for own in ASSIGNORS[name](workers, tasks, group[3]).values()]

    assert max(counts) - min(counts) <= 1


@pytest.mark.requirement("WTASK-03")
def test_round_robin_deals_shuffled_tasks_to_workers_in_the_order_of_their_ids() -> None:
    workers, tasks = [_worker("b"), _worker("a"), _worker("c")], _tasks(*map(str, range(7)))

    placed = [round_robin(workers, tasks, random.Random(seed)) for seed in range(20)]

    assert {tuple(len(own) for own in entry.values()) for entry in placed} == {(3, 2, 2)}
    assert [*placed[0]] == ["a-id", "b-id", "c-id"]
    assert len({entry["a-id"] for entry in placed}) > 10, "the order of the tasks is drawn"


@pytest.mark.requirement("PLAN-03")
@settings(max_examples=40)
@given(group=GROUPS)
def test_sticky_moves_no_more_tasks_than_balance_needs(group: tuple[int, list[int], int, random.Random]) -> None:
    workers, tasks = _drawn(group)
    placed = sticky(workers, tasks, group[3])

    kept = sum(len({*worker.status.held} & {*placed[worker.member_id]}) for worker in workers)
    held = sorted((len(worker.status.held) for worker in workers), reverse=True)
    share, more = divmod(len(tasks), len(workers))
    most = sum(min(count, share) for count in held) + min(more, sum(count > share for count in held))

    assert kept == most


@pytest.mark.requirement("PLAN-03")
def test_a_task_that_is_bound_to_a_worker_is_there_unless_that_worker_is_gone() -> None:
    tasks = [Task(name="mine", bound_to="a"), *_tasks("x", "y")]
    holder = _worker("b", "mine", "x", "y")

    there = sticky([_worker("a"), holder], tasks, random.Random(1))
    gone = sticky([_worker("c"), holder], tasks, random.Random(1))

    assert "mine" in there["a-id"]
    assert "mine" in gone["b-id"], "without its worker a task is like any other, and stays"


@pytest.mark.requirement("PLAN-03")
def test_of_two_workers_that_claim_a_task_the_one_that_runs_it_counts_then_the_later_generation() -> None:
    assert "t" in sticky([_worker("a", "t", running=("t",)), _worker("b", "t", generation=9)], _tasks("t"), random.Random(1))["a-id"]
    assert "t" in sticky([_worker("a", "t"), _worker("b", "t", generation=9)], _tasks("t"), random.Random(1))["b-id"]


@pytest.mark.requirement("PLAN-01")
def test_resources_and_measured_traffic_reach_the_leader_s_assignor() -> None:
    sent = WorkerStatus(
        url="w", config_version=1, capacity=4.0, resources={"cpu": 0.25, "memory": 8.0, "network": 1.5}, traffic={"t": 12.5}, version=1
    )

    worker_status = Candidate(member_id="id", status=decode_status(encode_status(sent))).status

    assert (worker_status.resources, worker_status.traffic, worker_status.capacity) == (sent.resources, sent.traffic, 4.0)


@pytest.mark.requirement("PLAN-01")
def test_by_resources_measured_traffic_counts_more_than_what_is_configured() -> None:
    workers = [_worker("a", traffic={"hot": 9.0}), _worker("b")]

    placed = by_resources(workers, _tasks("hot", "x", "y", "z"), random.Random(1))

    assert sorted(map(len, placed.values())) == [1, 3]
    assert ("hot",) in placed.values()


@pytest.mark.requirement("PLAN-08")
def test_an_assignor_of_one_s_own_needs_a_name_and_no_manager(monkeypatch: pytest.MonkeyPatch) -> None:
    def first_takes_all(workers: object, tasks: list[Task], chance: object) -> Placement:
        return {"a-id": tuple(task.name for task in tasks), "b-id": ()}

    monkeypatch.setitem(ASSIGNORS, "first-takes-all", first_takes_all)

    assert ASSIGNORS["first-takes-all"]([_worker("a"), _worker("b")], _tasks("x"), random.Random(1)) == {"a-id": ("x",), "b-id": ()}


@pytest.mark.requirement("PLAN-02")
@settings(max_examples=40)
@given(group=GROUPS)
def test_an_incremental_hand_over_gives_nobody_what_another_still_runs_and_takes_nothing_that_stays(
    group: tuple[int, list[int], int, random.Random],
) -> None:
    idle, tasks = _drawn(group)
    workers = [_worker(candidate.name, running=candidate.status.held) for candidate in idle]
    target = round_robin(workers, tasks, group[3])

    now = in_this_generation(target, workers)

    runs = {worker.member_id: {*worker.status.running} for worker in workers}
    for member_id, own in now.items():
        assert not {*own} & {task for other, theirs in runs.items() if other != member_id for task in theirs}
        assert runs[member_id] & {*target[member_id]} <= {*own}
    after = [_worker(worker.name, running=now[worker.member_id]) for worker in workers]
    assert in_this_generation(target, after) == target, "in the next generation everything is where it is to be"

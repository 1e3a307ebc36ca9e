"""The incremental hand-over as a worker lives it: what stays is not touched (PLAN-02)."""

from __future__ import annotations

import pytest
from tests.clients.relatives.datalink.desk import Desk

from groupproof.clients.relatives.datalink.worker_outputs import RestartTask, StopTasks
from groupproof.protocol.relatives.datalink_messages import WorkerStatus, decode_assigned, decode_status
from groupproof.protocol.wire.messages import JoinGroupRequest


def _incremental(*tasks: str) -> Desk:
    return Desk(hand_over="incremental").stable(*tasks)


@pytest.mark.requirement("PLAN-02")
def test_a_task_that_stays_on_its_worker_is_not_restarted() -> None:
    recorder = _incremental("a", "b").beating().beaten(27).after(500).joined(leads=False, generation=2).synced("a", "b", "c")

    assert recorder.wishes_of(StopTasks) == []
    assert recorder.wishes_of(RestartTask) == []
    assert recorder.started() == [{"a", "b"}, {"c"}]


@pytest.mark.requirement("PLAN-02")
def test_only_what_moves_is_stopped_and_then_the_worker_joins_again_at_once() -> None:
    recorder = _incremental("a", "b").beating().beaten(27).after(500).joined(leads=False, generation=2)
    before = recorder.count(JoinGroupRequest)

    recorder.synced("a")

    assert [stop_tasks.names for stop_tasks in recorder.wishes_of(StopTasks)] == [("b",)]
    assert recorder.count(JoinGroupRequest) == before + 1
    assert decode_status(recorder.last(JoinGroupRequest).protocols[0].metadata).running == ("a",)


@pytest.mark.requirement("PLAN-02")
@pytest.mark.parametrize("code", [22, 25])
def test_a_worker_that_has_lost_its_membership_stops_everything_because_it_may_run_elsewhere(code: int) -> None:
    recorder = _incremental("a", "b").beating().beaten(code).after(500)

    assert [stop_tasks.names for stop_tasks in recorder.wishes_of(StopTasks)] == [("a", "b")]
    assert decode_status(recorder.last(JoinGroupRequest).protocols[0].metadata).running == ()


def test_a_membership_that_is_lost_while_tasks_are_given_away_makes_the_assignment_void() -> None:
    recorder = _incremental("a", "b").beating().beaten(27).after(500).joined(leads=False, generation=2)
    recorder.at_once = False
    recorder.synced("a", "c").beating().beaten(25)

    recorder.stopped()

    assert recorder.started() == [{"a", "b"}]


def test_a_deleted_task_is_stopped_before_the_worker_joins() -> None:
    recorder = _incremental("a", "b")
    recorder.board.delete("g", "b")

    recorder.polled().after(1_000)

    assert [stop_tasks.names for stop_tasks in recorder.wishes_of(StopTasks)] == [("b",)]


def test_a_task_that_was_updated_meanwhile_is_restarted_when_the_assignment_comes() -> None:
    recorder = _incremental("a").beating().beaten(27)
    recorder.board.update("g", "a")
    recorder.polled().after(500).joined(leads=False, generation=2).synced("a")

    assert [restart_task.task.revision for restart_task in recorder.wishes_of(RestartTask)] == [2]


@pytest.mark.requirement("PLAN-02")
def test_the_leader_ends_one_hand_over_before_it_assigns_again() -> None:
    recorder = Desk("a", "b", "c", "d", "e", "f", hand_over="incremental").joining().joined()
    own = decode_assigned(next(iter(recorder.assignments().values()))).tasks
    recorder.synced(*own)
    recorder.beating().beaten(27).after(500)
    newcomer = WorkerStatus(url="x", config_version=1, version=1)

    recorder.joined(newcomer, generation=2)
    first = {member: decode_assigned(blob).tasks for member, blob in recorder.assignments().items()}
    recorder.synced(*first["w-1"]).joined(newcomer, generation=3)
    second = {member: decode_assigned(blob).tasks for member, blob in recorder.assignments().items()}

    assert (len(first["w-1"]), len(first["x-1"])) == (3, 0)
    assert second["w-1"] == first["w-1"]
    assert len(second["x-1"]) == 3

"""How a worker ends: its tasks stop first, then it says goodbye."""

from __future__ import annotations

from tests.clients.relatives.datalink.desk import Desk

from groupproof.clients.relatives.datalink.worker_outputs import LeaveResult, WorkerState
from groupproof.protocol.wire.messages import LeaveGroupRequest

DOWN = WorkerState.DOWN


def test_a_worker_that_ends_stops_its_tasks_and_then_leaves() -> None:
    recorder = Desk(at_once=False).stable("a").closed()
    assert (recorder.state, recorder.count(LeaveGroupRequest)) == (DOWN, 0)

    recorder.stopped()
    assert recorder.count(LeaveGroupRequest) == 1
    recorder.cut(LeaveGroupRequest)

    assert len(recorder.wishes_of(LeaveResult)) == 1
    assert recorder.worker.next_deadline_ms() is None


def test_one_that_ends_while_its_tasks_stop_waits_for_them() -> None:
    recorder = Desk(at_once=False).stable("a").beating().beaten(27).after(500).closed()
    assert recorder.count(LeaveGroupRequest) == 0

    assert recorder.stopped().count(LeaveGroupRequest) == 1


def test_one_that_was_never_a_member_ends_without_a_leave() -> None:
    assert len(Desk().closed().wishes_of(LeaveResult)) == 1

"""How a worker ends: its tasks stop first, then it says goodbye."""

from __future__ import annotations

from tests.clients.relatives.datalink.desk import Desk

from groupproof.clients.relatives.datalink.worker_outputs import Left, WorkerState
from groupproof.protocol.wire.messages import LeaveGroupRequest

DOWN = WorkerState.DOWN


def test_a_worker_that_ends_stops_its_tasks_then_says_goodbye() -> None:
    desk = Desk(at_once=False).stable("a").closed()
    assert (desk.state, desk.count(LeaveGroupRequest)) == (DOWN, 0)

    desk.stopped()
    assert desk.count(LeaveGroupRequest) == 1
    desk.cut(LeaveGroupRequest)

    assert len(desk.told(Left)) == 1
    assert desk.worker.next_deadline_ms() is None


def test_one_that_ends_while_its_tasks_stop_waits_for_them() -> None:
    desk = Desk(at_once=False).stable("a").beating().beaten(27).after(500).closed()
    assert desk.count(LeaveGroupRequest) == 0

    assert desk.stopped().count(LeaveGroupRequest) == 1


def test_one_that_was_never_a_member_ends_without_a_word() -> None:
    assert len(Desk().closed().told(Left)) == 1

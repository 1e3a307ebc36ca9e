"""The worker's heartbeats and its own view of its session."""

from __future__ import annotations

import pytest

from groupproof.clients.outputs import Node
from groupproof.clients.relatives.datalink.manager_session import ManagerSession
from groupproof.clients.relatives.datalink.worker_requests import Requester
from groupproof.clients.relatives.datalink.worker_settings import WorkerSettings


def _session() -> tuple[ManagerSession, Requester]:
    settings = WorkerSettings(group="g", bootstrap=(("m", 1),), name="w")
    requester = Requester(settings)
    return ManagerSession(settings, requester), requester


@pytest.mark.requirement("TIMER-29")
def test_one_beat_is_in_flight_at_a_time_and_the_next_is_due_an_interval_later() -> None:
    session, requester = _session()
    session.settled(1_000)
    session.beat_if_due(3_999)
    assert not requester.collected()
    session.beat_if_due(4_000)
    session.beat_if_due(9_000)

    (sent,) = requester.collected()
    assert session.is_mine(sent.request_id)  # type: ignore[union-attr]  # it is a Send
    assert not session.is_mine(99)
    assert session.next_ms() == 7_000


@pytest.mark.requirement("WORKER-18", "TIMER-29")
def test_a_session_ends_ten_seconds_after_the_managers_last_answer() -> None:
    session, _ = _session()
    assert not session.is_session_over(10**9)
    session.heard(500)

    assert [session.is_session_over(at_ms) for at_ms in (10_499, 10_500)] == [False, True]
    session.end_session()
    assert not session.is_session_over(10**9)


def test_only_a_member_that_knows_its_coordinator_beats() -> None:
    session, requester = _session()
    assert not session.can_beat()
    requester.generation = 1
    assert not session.can_beat()
    requester.coordinator = Node(node_id=0, host="m", port=1)

    assert session.can_beat()

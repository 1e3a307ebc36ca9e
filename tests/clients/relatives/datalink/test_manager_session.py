"""The worker's heartbeats and its own view of its session."""

from __future__ import annotations

import pytest

from groupproof.clients.outputs import Node
from groupproof.clients.relatives.datalink.manager_session import ManagerSession
from groupproof.clients.relatives.datalink.worker_requests import Post
from groupproof.clients.relatives.datalink.worker_settings import WorkerSettings


def _pulse() -> tuple[ManagerSession, Post]:
    settings = WorkerSettings(group="g", bootstrap=(("m", 1),), name="w")
    post = Post(settings)
    return ManagerSession(settings, post), post


@pytest.mark.requirement("TIMER-29")
def test_one_beat_is_in_flight_at_a_time_and_the_next_is_due_an_interval_later() -> None:
    pulse, post = _pulse()
    pulse.settled(1_000)
    pulse.beat_if_due(3_999)
    assert not post.collected()
    pulse.beat_if_due(4_000)
    pulse.beat_if_due(9_000)

    (sent,) = post.collected()
    assert pulse.is_mine(sent.request_id)  # type: ignore[union-attr]  # it is a Send
    assert not pulse.is_mine(99)
    assert pulse.next_ms() == 7_000


@pytest.mark.requirement("WORKER-18", "TIMER-29")
def test_a_session_is_over_ten_seconds_after_the_manager_was_last_heard_of() -> None:
    pulse, _ = _pulse()
    assert not pulse.is_session_over(10**9)
    pulse.heard(500)

    assert [pulse.is_session_over(at_ms) for at_ms in (10_499, 10_500)] == [False, True]
    pulse.end_session()
    assert not pulse.is_session_over(10**9)


def test_only_a_member_that_knows_its_coordinator_beats() -> None:
    pulse, post = _pulse()
    assert not pulse.can_beat()
    post.generation = 1
    assert not pulse.can_beat()
    post.coordinator = Node(node_id=0, host="m", port=1)

    assert pulse.can_beat()

"""Requests that come too late: faulty, unless they had waited on their way."""

import pytest
from tests.traces import ID, Story

from groupproof.harness.judging.checkers.late_requests import LateRequests
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api


def late(story: Story, request: Observation) -> list[Observation]:
    """Return what is certain to be too late when the whole trace is over."""
    held = LateRequests()
    certain: list[Observation] = []
    for obs in story.trace:
        certain += held.due(obs.at_ms)
        held.follow(obs)
        if obs.seq == request.seq:
            held.add(obs)
    return [*certain, *held.rest()]


def test_a_late_request_whose_answer_was_received_is_faulty() -> None:
    story = Story()
    request = story.beat(member=ID)

    assert late(story.end(3_000), request) == [request]


@pytest.mark.parametrize(("closed_ms", "is_faulty"), [(100, False), (200, True)])
def test_the_end_of_its_connection_right_after_it_says_that_it_had_waited(closed_ms: float, is_faulty: bool) -> None:
    story = Story()
    request = story.request(Api.HEARTBEAT, member=ID, connection=7)
    story.at(closed_ms).see("event", who="link", connection=7, body={"name": "closed"})

    assert bool(late(story.end(3_000), request)) is is_faulty


@pytest.mark.parametrize(("correlation", "is_faulty"), [(1, False), (3, True)])
def test_what_others_on_its_connection_have_overtaken_was_sent_before_them(correlation: int, is_faulty: bool) -> None:
    story = Story()
    story.beat(correlation=2)
    request = story.beat(correlation=correlation)

    assert bool(late(story.end(3_000), request)) is is_faulty

"""One input: what rows may ask of it, and what is a fault to ask."""

from __future__ import annotations

import pytest

from groupproof.coordinator.machine.coordinator_settings import Settings
from groupproof.coordinator.machine.event import Event
from groupproof.coordinator.machine.group import Group
from groupproof.protocol.rules import ClassicEvent
from groupproof.protocol.wire.messages import HeartbeatRequest


def _input(group: Group | None = None) -> Event:
    request = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    return Event(kind=ClassicEvent.HEARTBEAT, now_ms=0, settings=Settings(), group_id="g", group=group, member_id="m", request=request)


def test_a_missing_group_or_member_cannot_be_asked_for() -> None:
    with pytest.raises(AttributeError, match="members"):
        _ = _input().existing_group.members
    with pytest.raises(AssertionError, match="'m' is no member of 'g'"):
        _ = _input(Group(group_id="g")).member


def test_the_group_and_the_request_are_those_that_the_input_has_now() -> None:
    group = Group(group_id="g")
    event = _input()
    event.group = group

    assert event.existing_group is group
    assert all(request is event.request for request in (event.join, event.sync, event.commit))


def test_a_timer_has_no_version() -> None:
    assert _input().version == -1

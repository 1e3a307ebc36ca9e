"""One input: what rows may ask of it, and what is a fault to ask."""

from __future__ import annotations

import pytest

from groupproof.coordinator.machine.event import Input
from groupproof.coordinator.machine.group import Group
from groupproof.coordinator.machine.settings import Settings
from groupproof.protocol.rules import On
from groupproof.protocol.wire.messages import HeartbeatRequest


def _input(group: Group | None = None) -> Input:
    request = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    return Input(on=On.HEARTBEAT, now_ms=0, settings=Settings(), group_id="g", group=group, member_id="m", request=request)


def test_a_missing_group_or_member_cannot_be_asked_for() -> None:
    with pytest.raises(AssertionError, match="Heartbeat has no group"):
        _ = _input().here
    with pytest.raises(AssertionError, match="'m' is no member of 'g'"):
        _ = _input(Group(group_id="g")).member


def test_a_request_is_only_what_it_is() -> None:
    with pytest.raises(AssertionError):
        _ = _input().join
    with pytest.raises(AssertionError):
        _ = _input().sync
    with pytest.raises(AssertionError):
        _ = _input().commit


def test_a_timer_has_no_version() -> None:
    assert _input().version == -1

"""The functions of the classic dialect: one for each word, and none beside."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from groupproof.coordinator.machine.classic_functions import CLASSIC_FUNCTIONS
from groupproof.coordinator.machine.group import Group
from groupproof.coordinator.machine.machine_outputs import Arrival
from groupproof.protocol.rules import ClassicEvent, Guard
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.wire.messages import GroupRequest, HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, LeaveMember, SyncGroupRequest


def _filled(message: GroupRequest) -> tuple[str, str | None, int]:
    event = CLASSIC_FUNCTIONS.event(kind=ClassicEvent.JOIN_GROUP, now_ms=0, settings=None, group_id="g")  # type: ignore[arg-type]  # nothing asks them
    CLASSIC_FUNCTIONS.requests[type(message)].fill(event, message)
    return event.member_id, event.instance_id, event.generation


def test_its_requests_and_batches_are_the_dialect_s() -> None:
    kinds = {*(request.kind for request in CLASSIC_FUNCTIONS.requests.values()), *(batch.kind for batch in CLASSIC_FUNCTIONS.batches.values())}

    assert kinds == set(CLASSIC.requests) - {ClassicEvent.LIST_GROUPS}, "ListGroups asks the broker"


def test_a_group_is_made_of_its_id_and_the_time() -> None:
    made = CLASSIC_FUNCTIONS.group("g", 7)

    assert made == Group(group_id="g", since_ms=7)
    assert made.dialect is CLASSIC


def test_an_event_gets_the_sender_of_the_request() -> None:
    assert _filled(HeartbeatRequest(group_id="g", generation_id=3, member_id="m", group_instance_id="i")) == ("m", "i", 3)
    assert _filled(SyncGroupRequest(group_id="g", generation_id=3, member_id="m")) == ("m", None, 3)
    assert _filled(JoinGroupRequest(group_id="g", session_timeout_ms=1, protocol_type="consumer")) == ("", None, -1), "a join has no generation"


def test_what_is_about_no_member_names_none() -> None:
    leaving = LeaveMember(member_id="m")

    assert _filled(LeaveGroupRequest(group_id="g", members=(leaving,))) == ("", None, -1), "its entries do"


def test_the_gate_is_asked_by_guards_that_look_at_no_group() -> None:
    assert CLASSIC_FUNCTIONS.gate == {Guard.NOT_ACTIVE, Guard.LOADING, Guard.LOADING_OLD, Guard.NOT_LED_HERE, Guard.NOT_LOADED_HERE}


def test_a_repeated_heartbeat_goes_the_short_way_while_its_member_exists_and_owns_its_instance() -> None:
    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id="a", group_instance_id="i")
    again = CLASSIC_FUNCTIONS.requests[HeartbeatRequest].again_at_rest
    arrival = Arrival(None, 4, "c", "/h")

    def asked(by_id: dict[str, Any], instances: dict[str, str], message: HeartbeatRequest = beat) -> int | None:
        return again(SimpleNamespace(members=SimpleNamespace(by_id=by_id, instances=instances)), message, arrival, 7)

    member = SimpleNamespace(session_timeout_ms=9)
    assert asked({"a": member}, {"i": "a"}) == 9, "its session may be another than before"
    assert asked({"a": member}, {"i": "b"}) is None
    assert asked({"a": member}, {"i": "b"}, replace(beat, group_instance_id=None)) == 9
    assert asked({}, {"i": "a"}) is None

"""What bugs planted on the wire do to an answer; that cases catch them is shown in tests/power."""

from __future__ import annotations

from typing import Any

from groupproof.coordinator.machine.incoming_request import IncomingRequest
from groupproof.coordinator.planted.answer_bugs import BUGS_OF_ANSWERS
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import WireRequest, frame, read_response, write_response

BY_NAME = {bugs_of_answer.name: bugs_of_answer for bugs_of_answer in BUGS_OF_ANSWERS}


def _arrived(api: Api, version: int) -> IncomingRequest:
    return IncomingRequest(wire=WireRequest(api=api, version=version, correlation=7, client_id="c", body={}), columns={"node": 1})


def _wrong_answer(name: str, api: Api, version: int, body: dict[str, Any]) -> dict[str, Any] | None:
    return BY_NAME[name].line.says(_arrived(api, version), body)


def test_one_version_of_an_api_is_answered_wrongly() -> None:
    assert _wrong_answer("wrong/Heartbeat-v3", Api.HEARTBEAT, 3, {"error_code": 0}) == {"error_code": 27}
    assert _wrong_answer("wrong/Heartbeat-v3", Api.HEARTBEAT, 4, {"error_code": 0}) == {"error_code": 0}
    assert _wrong_answer("wrong/Heartbeat-v3", Api.SYNC_GROUP, 3, {"error_code": 0}) == {"error_code": 0}


def test_every_version_that_the_newest_release_answers_has_its_bug() -> None:
    assert {f"wrong/JoinGroup-v{version}" for version in range(10)} <= BY_NAME.keys()
    assert "wrong/OffsetCommit-v1" not in BY_NAME


def test_every_member_gets_an_answer_that_makes_it_leader() -> None:
    body = {"error_code": 0, "leader": "a", "member_id": "b"}

    assert _wrong_answer("leader-told-to-all", Api.JOIN_GROUP, 9, body) == {"error_code": 0, "leader": "b", "member_id": "b"}


def test_an_answer_carries_another_correlation_id() -> None:
    data = frame(write_response(Api.HEARTBEAT, 4, 7, {"error_code": 0}))
    sent = BY_NAME["other-correlation"].line.sends(_arrived(Api.HEARTBEAT, 4), data)

    assert len(sent) == len(data)
    assert read_response(Api.HEARTBEAT, 4, sent[4:])[0] == 6


def test_an_answer_comes_twice() -> None:
    line = BY_NAME["heartbeats-answered-twice"].line

    assert line.sends(_arrived(Api.HEARTBEAT, 4), b"x") == b"xx"
    assert line.sends(_arrived(Api.JOIN_GROUP, 4), b"x") == b"x"

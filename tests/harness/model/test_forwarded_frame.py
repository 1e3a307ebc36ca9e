from __future__ import annotations

import pytest

from groupproof.harness.model.forwarded_frame import answer_of, correlation_of, passing_of
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import write_request, write_response


def test_a_request_that_can_be_read_tells_its_body() -> None:
    payload = write_request(Api.HEARTBEAT, 4, 7, "app", {"group_id": "g", "generation_id": 1, "member_id": "m"})

    frame = passing_of(payload)

    assert frame.payload is payload
    assert (frame.api_key, frame.version, frame.correlation) == (12, 4, 7)
    assert frame.wire is not None
    assert frame.wire.body["group_id"] == "g"


@pytest.mark.parametrize(
    ("payload", "api_key", "why"),
    [
        (b"\x03\xe7\x00\x01\x00\x00\x00\x09rest", 999, "no such API is known"),
        (b"\x00\x0c\x00\x63\x00\x00\x00\x09rest", 12, "Heartbeat is read from v0 to v4"),
        (b"\x00\x0c\x00\x04\x00\x00\x00\x09\xff", 12, "it ends early"),
    ],
)
def test_a_request_that_cannot_be_read_still_has_its_header(payload: bytes, api_key: int, why: str) -> None:
    frame = passing_of(payload)

    assert (frame.wire, frame.api_key, frame.correlation, frame.is_answered) == (None, api_key, 9, True)
    assert why in frame.why


def test_what_is_shorter_than_a_header_is_owed_no_answer() -> None:
    frame = passing_of(b"\x00\x0c")

    assert (frame.api_key, frame.is_answered) == (None, False)


@pytest.mark.parametrize(("acks", "is_answered"), [(0, False), (1, True), (-1, True)])
def test_a_produce_without_acks_is_owed_no_answer(acks: int, is_answered: bool) -> None:
    assert passing_of(write_request(Api.PRODUCE, 9, 1, "app", {"acks": acks})).is_answered is is_answered


def test_only_the_first_version_of_the_handshake_is_followed_by_tokens() -> None:
    old, new = (passing_of(write_request(Api.SASL_HANDSHAKE, version, 1, "app", {"mechanism": "PLAIN"})) for version in (0, 1))

    assert (old.tells_tokens, new.tells_tokens) == (True, False)


def test_an_answer_is_read_by_the_version_that_asked() -> None:
    asked = passing_of(write_request(Api.HEARTBEAT, 0, 3, "app", {"group_id": "g", "generation_id": 1, "member_id": "m"}))
    payload = write_response(Api.HEARTBEAT, 0, 3, {"error_code": 27})

    body, why = answer_of(asked, payload)

    assert correlation_of(payload) == 3
    assert body is not None
    assert (body["error_code"], why) == (27, "")


def test_an_answer_that_cannot_be_read_says_why() -> None:
    asked = passing_of(write_request(Api.HEARTBEAT, 0, 3, "app", {"group_id": "g", "generation_id": 1, "member_id": "m"}))

    assert answer_of(asked, b"\0\0\0\3") == (None, "Heartbeat v0 response cannot be read: it ends early")
    assert answer_of(passing_of(b"\x03\xe7\x00\x01\x00\x00\x00\x09"), b"\0\0\0\x09")[0] is None
    assert correlation_of(b"\0") is None

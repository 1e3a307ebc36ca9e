"""Witnesses of numbers and fields on the wire, read from the bytes themselves."""

from __future__ import annotations

import struct

import pytest

from groupproof.protocol.vocabulary import Api, ErrorCode
from groupproof.protocol.wire.message_codec import VERSIONS, read_request, read_response, write_request, write_response
from groupproof.protocol.wire.messages import JoinGroupRequest

CODES = {
    "UNKNOWN_SERVER_ERROR": -1, "NONE": 0, "UNKNOWN_TOPIC_OR_PARTITION": 3, "REQUEST_TIMED_OUT": 7, "OFFSET_METADATA_TOO_LARGE": 12,
    "COORDINATOR_LOAD_IN_PROGRESS": 14, "COORDINATOR_NOT_AVAILABLE": 15, "NOT_COORDINATOR": 16, "ILLEGAL_GENERATION": 22,
    "INCONSISTENT_GROUP_PROTOCOL": 23, "INVALID_GROUP_ID": 24, "UNKNOWN_MEMBER_ID": 25, "INVALID_SESSION_TIMEOUT": 26,
    "REBALANCE_IN_PROGRESS": 27, "INVALID_COMMIT_OFFSET_SIZE": 28, "TOPIC_AUTHORIZATION_FAILED": 29, "GROUP_AUTHORIZATION_FAILED": 30,
    "UNSUPPORTED_VERSION": 35, "NON_EMPTY_GROUP": 68, "GROUP_ID_NOT_FOUND": 69, "MEMBER_ID_REQUIRED": 79, "GROUP_MAX_SIZE_REACHED": 81,
    "FENCED_INSTANCE_ID": 82,
}  # fmt: skip


@pytest.mark.requirement(
    "ERR-01", "ERR-02", "ERR-03", "ERR-04", "ERR-05", "ERR-06", "ERR-07", "ERR-08", "ERR-09", "ERR-10", "ERR-11", "ERR-12", "ERR-13", "ERR-14", "ERR-15",
    "ERR-16", "ERR-17", "ERR-18", "ERR-19", "ERR-20", "ERR-21", "ERR-22",
)  # fmt: skip
@pytest.mark.parametrize(("name", "number"), CODES.items())
def test_an_error_is_its_number_in_two_bytes(name: str, number: int) -> None:
    frame = write_response(Api.HEARTBEAT, 0, 7, {"error_code": int(ErrorCode[name])})

    assert frame == struct.pack(">ih", 7, number)
    assert read_response(Api.HEARTBEAT, 0, frame) == (7, {"throttle_time_ms": 0, "error_code": number})


def _join(version: int) -> JoinGroupRequest:
    protocols = ({"name": "sticky", "metadata": b"s"}, {"name": "range", "metadata": b"r"})
    body = {
        "group_id": "g", "session_timeout_ms": 10_000, "rebalance_timeout_ms": 60_000, "member_id": "m-1", "protocol_type": "consumer",
        "protocols": protocols,
    }  # fmt: skip
    message = read_request(write_request(Api.JOIN_GROUP, version, 1, "c", body)).message
    assert isinstance(message, JoinGroupRequest)
    return message


@pytest.mark.requirement("JOIN-31")
@pytest.mark.parametrize("version", range(VERSIONS[Api.JOIN_GROUP][0], VERSIONS[Api.JOIN_GROUP][1] + 1))
def test_a_join_carries_who_how_long_and_its_protocols_in_order(version: int) -> None:
    read = _join(version)

    assert (read.group_id, read.session_timeout_ms, read.member_id, read.protocol_type) == ("g", 10_000, "m-1", "consumer")
    assert [(protocol.name, protocol.metadata) for protocol in read.protocols] == [("sticky", b"s"), ("range", b"r")]
    assert read.rebalance_timeout_ms == (60_000 if version else -1)  # v0 has no such field; its place takes the session timeout (DISC-08)

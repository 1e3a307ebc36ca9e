"""Witnesses of numbers and fields on the wire, read from the bytes themselves."""

from __future__ import annotations

import struct

import pytest

from groupproof.protocol.messages import JoinGroupRequest
from groupproof.protocol.vocabulary import Api, ErrorCode
from groupproof.protocol.wire import VERSIONS, message_of, read_request, read_response, write_request, write_response

CODES = {
    "ERR-01": ("NONE", 0), "ERR-02": ("UNKNOWN_TOPIC_OR_PARTITION", 3), "ERR-03": ("REQUEST_TIMED_OUT", 7),
    "ERR-08": ("ILLEGAL_GENERATION", 22), "ERR-09": ("INCONSISTENT_GROUP_PROTOCOL", 23), "ERR-11": ("UNKNOWN_MEMBER_ID", 25),
    "ERR-12": ("INVALID_SESSION_TIMEOUT", 26), "ERR-13": ("REBALANCE_IN_PROGRESS", 27), "ERR-14": ("INVALID_COMMIT_OFFSET_SIZE", 28),
    "ERR-15": ("TOPIC_AUTHORIZATION_FAILED", 29), "ERR-16": ("GROUP_AUTHORIZATION_FAILED", 30), "ERR-17": ("UNSUPPORTED_VERSION", 35),
    "ERR-20": ("GROUP_MAX_SIZE_REACHED", 81), "ERR-21": ("FENCED_INSTANCE_ID", 82), "ERR-22": ("UNKNOWN_SERVER_ERROR", -1),
}  # fmt: skip


@pytest.mark.requirement(
    "ERR-01", "ERR-02", "ERR-03", "ERR-08", "ERR-09", "ERR-11", "ERR-12", "ERR-13", "ERR-14", "ERR-15", "ERR-16", "ERR-17", "ERR-20", "ERR-21", "ERR-22"
)  # fmt: skip
@pytest.mark.parametrize("requirement", CODES)
def test_an_error_is_its_number_in_two_bytes(requirement: str) -> None:
    name, number = CODES[requirement]
    frame = write_response(Api.HEARTBEAT, 0, 7, {"error_code": int(ErrorCode[name])})

    assert frame == struct.pack(">ih", 7, number)
    assert read_response(Api.HEARTBEAT, 0, frame) == (7, {"throttle_time_ms": 0, "error_code": number})


def _join(version: int) -> JoinGroupRequest:
    protocols = ({"name": "sticky", "metadata": b"s"}, {"name": "range", "metadata": b"r"})
    body = {
        "group_id": "g", "session_timeout_ms": 10_000, "rebalance_timeout_ms": 60_000, "member_id": "m-1", "protocol_type": "consumer",
        "protocols": protocols,
    }  # fmt: skip
    message = message_of(read_request(write_request(Api.JOIN_GROUP, version, 1, "c", body)))
    assert isinstance(message, JoinGroupRequest)
    return message


@pytest.mark.requirement("JOIN-31")
@pytest.mark.parametrize("version", range(VERSIONS[Api.JOIN_GROUP][0], VERSIONS[Api.JOIN_GROUP][1] + 1))
def test_a_join_carries_who_how_long_and_its_protocols_in_order(version: int) -> None:
    read = _join(version)

    assert (read.group_id, read.session_timeout_ms, read.member_id, read.protocol_type) == ("g", 10_000, "m-1", "consumer")
    assert [(each.name, each.metadata) for each in read.protocols] == [("sticky", b"s"), ("range", b"r")]
    assert read.rebalance_timeout_ms == (60_000 if version else -1)  # v0 has no such field; its place takes the session timeout (DISC-08)

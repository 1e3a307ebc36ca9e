"""Messages that Kafka 4 dropped, read and written as the brokers before it do."""

from __future__ import annotations

import struct

import pytest

from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import VERSIONS, read_request, read_response, write_request, write_response
from groupproof.protocol.wire.messages import OffsetCommitRequest
from groupproof.protocol.wire.old_schemas import ENTITIES, SAME_AS


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


BODY = {
    "group_id": "g", "generation_id": 3, "member_id": "m",
    "topics": ({"name": "t", "partitions": ({"partition_index": 2, "committed_offset": 5, "committed_metadata": "x"},)},),
}  # fmt: skip
FRAME = (
    struct.pack(">hhi", Api.OFFSET_COMMIT, 1, 7) + _text("c") + _text("g") + struct.pack(">i", 3) + _text("m")
    + struct.pack(">i", 1) + _text("t") + struct.pack(">i", 1) + struct.pack(">iqq", 2, 5, -1) + _text("x")
)  # fmt: skip


def test_offset_commit_v1_is_the_oldest_that_the_wire_knows() -> None:
    assert VERSIONS[Api.OFFSET_COMMIT][0] == 1
    assert {(api, version) for api, version, _ in (*ENTITIES, *SAME_AS)} == {(Api.OFFSET_COMMIT, 1)}


def test_offset_commit_v1_gives_each_partition_a_time() -> None:
    assert write_request(Api.OFFSET_COMMIT, 1, 7, "c", BODY) == FRAME


def test_offset_commit_v1_is_read_in_the_newest_shape() -> None:
    request = read_request(FRAME)
    newest = read_request(write_request(Api.OFFSET_COMMIT, 8, 7, "c", BODY))

    assert request.body == newest.body
    message = request.message
    assert isinstance(message, OffsetCommitRequest)
    assert message.topics[0].partitions[0].committed_offset == 5


@pytest.mark.parametrize("code", [0, 25])
def test_offset_commit_v1_is_answered_as_v2(code: int) -> None:
    answer = {"topics": ({"name": "t", "partitions": ({"partition_index": 2, "error_code": code},)},)}
    frame = write_response(Api.OFFSET_COMMIT, 1, 7, answer)

    assert frame == write_response(Api.OFFSET_COMMIT, 2, 7, answer)
    assert read_response(Api.OFFSET_COMMIT, 1, frame)[1]["topics"][0]["partitions"][0]["error_code"] == code

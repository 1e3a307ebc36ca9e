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
    assert {version for api, version, _ in (*ENTITIES, *SAME_AS) if api is Api.OFFSET_COMMIT} == {1}


def test_fetch_and_list_offsets_are_known_from_their_first_version_on() -> None:
    assert VERSIONS[Api.FETCH][0] == 0
    assert VERSIONS[Api.LIST_OFFSETS][0] == 0


ASKED = {
    "replica_id": -1,
    "max_wait_ms": 100,
    "min_bytes": 1,
    "topics": ({"topic": "t", "partitions": ({"partition": 2, "fetch_offset": 9, "partition_max_bytes": 50},)},),
}


@pytest.mark.parametrize(("version", "sizes"), [(0, ()), (1, ()), (2, ()), (3, (2**31 - 1,))])
def test_an_old_fetch_asks_by_partition_and_since_v3_within_a_size(version: int, sizes: tuple[int, ...]) -> None:
    frame = write_request(Api.FETCH, version, 7, "c", ASKED)

    asked = struct.pack(f">iii{'i' * len(sizes)}i", -1, 100, 1, *sizes, 1) + _text("t") + struct.pack(">iiqi", 1, 2, 9, 50)
    assert frame == struct.pack(">hhi", Api.FETCH, version, 7) + _text("c") + asked
    newer = read_request(write_request(Api.FETCH, 4, 7, "c", ASKED)).body
    assert read_request(frame).body == newer


@pytest.mark.parametrize(("version", "throttled"), [(0, b""), (1, b"\0\0\0\0"), (3, b"\0\0\0\0")])
def test_an_old_fetch_is_answered_with_a_message_set(version: int, throttled: bytes) -> None:
    answer = {"responses": ({"topic": "t", "partitions": ({"partition_index": 2, "error_code": 6, "high_watermark": 9, "records": b"abc"},)},)}
    frame = write_response(Api.FETCH, version, 7, answer)

    entry = struct.pack(">iihq", 1, 2, 6, 9) + struct.pack(">i", 3) + b"abc"
    assert frame == struct.pack(">i", 7) + throttled + struct.pack(">i", 1) + _text("t") + entry
    assert read_response(Api.FETCH, version, frame)[1]["responses"][0]["partitions"][0]["records"] == b"abc"


def test_list_offsets_v0_asks_for_a_number_of_offsets() -> None:
    asked = {"replica_id": -1, "topics": ({"name": "t", "partitions": ({"partition_index": 2, "timestamp": -2},)},)}
    frame = write_request(Api.LIST_OFFSETS, 0, 7, "c", asked)

    assert frame == struct.pack(">hhi", Api.LIST_OFFSETS, 0, 7) + _text("c") + struct.pack(">ii", -1, 1) + _text("t") + struct.pack(
        ">iiqi", 1, 2, -2, 1
    )
    assert read_request(frame).body == read_request(write_request(Api.LIST_OFFSETS, 1, 7, "c", asked)).body


@pytest.mark.parametrize(("offset", "answers"), [(20, (20,)), (0, (0,)), (-1, ())])
def test_list_offsets_v0_is_answered_with_a_list(offset: int, answers: tuple[int, ...]) -> None:
    answer = {"topics": ({"name": "t", "partitions": ({"partition_index": 2, "error_code": 0, "offset": offset, "timestamp": -1},)},)}
    frame = write_response(Api.LIST_OFFSETS, 0, 7, answer)

    offsets = struct.pack(f">i{len(answers)}q", len(answers), *answers)
    assert frame == struct.pack(">ii", 7, 1) + _text("t") + struct.pack(">iih", 1, 2, 0) + offsets
    assert read_response(Api.LIST_OFFSETS, 0, frame)[1]["topics"][0]["partitions"][0]["offset"] == offset


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

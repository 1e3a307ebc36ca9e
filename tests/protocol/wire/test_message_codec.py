"""Frames: headers, versions, golden bytes, what is refused; the codec's agreement with kio is `test_codec.py`'s affair."""

from __future__ import annotations

import struct
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import (
    FRAME_BYTES_MAX,
    VERSIONS,
    Framer,
    FrameTooLong,
    FramingError,
    NegativeLength,
    UnsupportedVersion,
    WireError,
    WireRequest,
    _codec,
    frame,
    read_request,
    read_response,
    warm,
    write_request,
    write_response,
)

MEMBER = {"member_id": "m1", "group_instance_id": "i1", "metadata": b"\1"}
OTHER = {"member_id": "m2", "group_instance_id": None, "metadata": b""}
JOIN = {
    "group_id": "g", "session_timeout_ms": 6000, "rebalance_timeout_ms": 30_000, "member_id": "m1", "group_instance_id": "i1",
    "protocol_type": "consumer", "protocols": ({"name": "range", "metadata": b"\1\2"}, {"name": "roundrobin", "metadata": b""}), "reason": "why",
}  # fmt: skip
JOINED = {
    "throttle_time_ms": 7, "error_code": 0, "generation_id": 3, "protocol_type": "consumer", "protocol_name": "range", "leader": "m1",
    "skip_assignment": True, "member_id": "m1", "members": (MEMBER, OTHER),
}  # fmt: skip
SYNC = {
    "group_id": "g", "generation_id": 3, "member_id": "m1", "group_instance_id": None, "protocol_type": "consumer", "protocol_name": "range",
    "assignments": ({"member_id": "m1", "assignment": b"ab"},),
}  # fmt: skip
HEARTBEAT = {"group_id": "g", "generation_id": 3, "member_id": "m1", "group_instance_id": "i1"}
FETCH = {"groups": ({"group_id": "g", "topics": ({"name": "t", "partition_indexes": (0, 1)},)},), "require_stable": True}

# Encoded by kafka-python 3.0.12 from Kafka's own schemas.
GOLDEN_REQUESTS: list[tuple[Api, int, dict[str, Any], str]] = [
    (Api.JOIN_GROUP, 0, JOIN, "0001670000177000026d310008636f6e73756d657200000002000572616e6765000000020102000a726f756e64726f62696e00000000"),
    (Api.JOIN_GROUP, 5, JOIN, "000167000017700000753000026d31000269310008636f6e73756d657200000002000572616e6765000000020102000a726f756e64726f62696e00000000"),
    (Api.JOIN_GROUP, 9, JOIN, "02670000177000007530036d3103693109636f6e73756d6572030672616e6765030102000b726f756e64726f62696e01000477687900"),
    (Api.SYNC_GROUP, 3, SYNC, "0001670000000300026d31ffff0000000100026d31000000026162"),
    (Api.SYNC_GROUP, 5, SYNC, "026700000003036d310009636f6e73756d65720672616e676502036d310361620000"),
    (Api.HEARTBEAT, 0, HEARTBEAT, "0001670000000300026d31"),
    (Api.HEARTBEAT, 4, HEARTBEAT, "026700000003036d3103693100"),
    (Api.LEAVE_GROUP, 1, {"group_id": "g", "members": ({"member_id": "m1"},)}, "00016700026d31"),
    (
        Api.LEAVE_GROUP, 5, {"group_id": "g", "members": ({"member_id": "m1", "reason": "bye"}, {"group_instance_id": "i2"})},
        "026703036d3100046279650001036932000000",
    ),
    (Api.OFFSET_FETCH, 1, FETCH, "00016700000001000174000000020000000000000001"),
    (Api.OFFSET_FETCH, 7, {"groups": ({"group_id": "g", "topics": None},), "require_stable": True}, "0267000100"),
    (Api.OFFSET_FETCH, 8, FETCH, "02026702027403000000000000000100000100"),
    (
        Api.OFFSET_COMMIT, 2,
        {
            "group_id": "g", "generation_id": 3, "member_id": "m1", "retention_time_ms": 60_000,
            "topics": ({"name": "t", "partitions": ({"partition_index": 0, "committed_offset": 5, "committed_metadata": "x"},)},),
        },
        "0001670000000300026d31000000000000ea600000000100017400000001000000000000000000000005000178",
    ),
    (Api.FIND_COORDINATOR, 1, {"coordinator_keys": ("g",), "key_type": 0}, "00016700"),
    (Api.FIND_COORDINATOR, 4, {"coordinator_keys": ("g", "h"), "key_type": 0}, "00030267026800"),
]  # fmt: skip
GOLDEN_RESPONSES: list[tuple[Api, int, dict[str, Any], str]] = [
    (Api.JOIN_GROUP, 5, JOINED, "00000007000000000003000572616e676500026d3100026d310000000200026d3100026931000000010100026d32ffff00000000"),
    (Api.JOIN_GROUP, 9, JOINED, "0000000700000000000309636f6e73756d65720672616e6765036d3101036d3103036d31036931020100036d3200010000"),
    (Api.HEARTBEAT, 4, {"error_code": 27}, "00000000001b00"),
    (Api.LEAVE_GROUP, 1, {"members": ({"member_id": "m1", "error_code": 25},)}, "000000000019"),
    (
        Api.OFFSET_FETCH, 1,
        {"groups": ({"topics": ({"name": "t", "partitions": (
            {"partition_index": 0, "committed_offset": 5, "metadata": "x", "error_code": 16},
        )},)},)},
        "00000001000174000000010000000000000000000000050001780010",
    ),
    (
        Api.OFFSET_FETCH, 5,
        {"groups": ({"error_code": 16, "topics": ({"name": "t", "partitions": (
            {"partition_index": 0, "committed_offset": 5, "committed_leader_epoch": 2, "metadata": None},
        )},)},)},
        "00000000000000010001740000000100000000000000000000000500000002ffff00000010",
    ),
    (Api.FIND_COORDINATOR, 1, {"coordinators": ({"node_id": -1, "port": -1, "error_code": 15},)}, "00000000000fffffffffffff0000ffffffff"),
]  # fmt: skip


@pytest.mark.parametrize(("api", "version", "body", "golden"), GOLDEN_REQUESTS)
def test_a_request_has_the_bytes_that_another_implementation_gives_it(api: Api, version: int, body: dict[str, Any], golden: str) -> None:
    assert write_request(api, version, 5, None, body).hex().endswith(golden)


@pytest.mark.parametrize(("api", "version", "body", "golden"), GOLDEN_RESPONSES)
def test_a_response_has_the_bytes_that_another_implementation_gives_it(api: Api, version: int, body: dict[str, Any], golden: str) -> None:
    assert write_response(api, version, 5, body).hex().endswith(golden)


def test_a_flexible_request_header_keeps_the_old_string_for_the_client_id() -> None:
    frame = bytes.fromhex("000c00040000000500026d3000026700000003036d3103693100")

    assert write_request(Api.HEARTBEAT, 4, 5, "m0", HEARTBEAT) == frame
    assert read_request(frame) == WireRequest(api=Api.HEARTBEAT, version=4, correlation=5, client_id="m0", body=HEARTBEAT)


def test_a_response_header_is_flexible_with_its_version_but_never_for_api_versions() -> None:
    assert write_response(Api.HEARTBEAT, 3, 5, {})[:4] == write_response(Api.HEARTBEAT, 4, 5, {})[:4] == b"\0\0\0\x05"
    assert write_response(Api.HEARTBEAT, 4, 5, {"error_code": 27}) == bytes.fromhex("00000005" + "00" + "00000000001b00")
    assert write_response(Api.API_VERSIONS, 3, 5, {"error_code": 35}) == bytes.fromhex("00000005" + "0023" + "01" + "00000000" + "00")


def test_a_client_id_may_be_null() -> None:
    assert read_request(write_request(Api.HEARTBEAT, 0, 1, None, HEARTBEAT)).client_id is None


def test_an_unknown_version_of_api_versions_tells_what_an_answer_of_v0_needs() -> None:
    with pytest.raises(UnsupportedVersion, match="ApiVersions is read from v0 to v4") as refused:
        read_request(struct.pack(">hhi", 18, 99, 41) + b"\xff\xffwhatever v99 holds")

    assert (refused.value.api, refused.value.api_key, refused.value.version, refused.value.correlation) == (Api.API_VERSIONS, 18, 99, 41)


def test_a_client_reads_the_v0_answer_to_a_version_that_the_broker_does_not_know() -> None:
    """KIP-511."""
    versions = ({"api_key": 18, "min_version": 0, "max_version": 2},)
    correlation, body = read_response(Api.API_VERSIONS, 4, write_response(Api.API_VERSIONS, 0, 9, {"error_code": 35, "api_keys": versions}))

    assert (correlation, body["error_code"], body["api_keys"]) == (9, 35, versions)


@pytest.mark.parametrize(
    ("api_key", "version", "message"), [(999, 0, "no such API is known"), (-1, 0, "no such API"), (11, 10, "v0 to v9"), (11, -1, "v0 to v9")]
)
def test_an_unknown_api_or_version_is_named(api_key: int, version: int, message: str) -> None:
    with pytest.raises(UnsupportedVersion, match=message):
        read_request(struct.pack(">hhih", api_key, version, 1, -1))


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (b"", "a request of 0 bytes is shorter than its header"),
        (b"\0\x0c\0\x04", "a request of 4 bytes is shorter than its header"),
        (write_request(Api.HEARTBEAT, 4, 5, "m0", HEARTBEAT)[:-2], "Heartbeat v4 request cannot be read: group_instance_id is said to have 2 bytes"),
        (write_request(Api.HEARTBEAT, 0, 5, "m0", HEARTBEAT)[:-5], "Heartbeat v0 request cannot be read: it ends early"),
        (struct.pack(">hhih", 12, 0, 5, 2) + b"\xff\xfe", "Heartbeat v0 request cannot be read: text that is not UTF-8"),
        (struct.pack(">hhih", 12, 0, 5, -7), "client id has a length of -7"),
    ],
)
def test_a_broken_request_is_refused_with_what_was_found(frame: bytes, message: str) -> None:
    with pytest.raises(WireError, match=message):
        read_request(frame)


def test_bytes_behind_a_request_are_borne_and_counted() -> None:
    frame = write_request(Api.HEARTBEAT, 4, 5, "m0", HEARTBEAT)

    assert (read_request(frame).surplus, read_request(frame + b"!!").surplus) == (0, 2)
    assert read_request(frame + b"!!").body == read_request(frame).body


def test_a_broken_response_is_refused_with_what_was_found() -> None:
    answer = write_response(Api.HEARTBEAT, 4, 5, {"error_code": 27})
    with pytest.raises(WireError, match="Heartbeat v4 response cannot be read: it ends early"):
        read_response(Api.HEARTBEAT, 4, answer[:-2])
    with pytest.raises(WireError, match="more follow"):
        read_response(Api.HEARTBEAT, 4, answer + b"\0")
    with pytest.raises(WireError, match="it ends early"):
        read_response(Api.HEARTBEAT, 4, b"\0\0")


@pytest.mark.parametrize("version", [5, 9])
def test_an_array_that_claims_two_billion_entries_costs_nothing(version: int) -> None:
    good = write_request(Api.JOIN_GROUP, version, 1, "m0", {**JOIN, "protocols": (), "reason": None})
    at = good.rindex(b"consumer") + len(b"consumer")
    huge = b"\x7f\xff\xff\xff" if version == 5 else b"\xff\xff\xff\xff\x07"
    tracemalloc.start()
    with pytest.raises(WireError, match="protocols is said to have 214748364"):
        read_request(good[:at] + huge + good[at + 1 :])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 50_000


@given(st.binary(max_size=200))
def test_garbage_is_refused_as_garbage(frame: bytes) -> None:
    try:
        read_request(frame)
    except WireError as error:
        assert str(error)


@pytest.mark.slow
@settings(max_examples=400)
@given(st.data())
def test_a_garbage_body_behind_a_good_header_is_read_or_refused(data: st.DataObject) -> None:
    api = data.draw(st.sampled_from(Api))
    version = data.draw(st.integers(*VERSIONS[api]))
    garbage = data.draw(st.binary(max_size=80))
    try:
        read_request(struct.pack(">hhih", api, version, 1, 2) + b"m0" + garbage)
    except WireError as error:
        assert api.title in str(error)
    try:
        read_response(api, version, b"\0\0\0\1" + garbage)
    except WireError as error:
        assert api.title in str(error)


@settings(max_examples=300)
@given(st.sampled_from(GOLDEN_REQUESTS), st.data())
def test_a_good_request_with_one_byte_changed_or_its_end_cut_is_read_or_refused(
    golden: tuple[Api, int, dict[str, Any], str], data: st.DataObject
) -> None:
    api, version, body, _ = golden
    frame = bytearray(write_request(api, version, 1, "m0", body))
    frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    try:
        read_request(bytes(frame[: data.draw(st.integers(0, len(frame)))]))
    except WireError as error:
        assert str(error)


def test_a_body_in_the_wrong_shape_says_which_message_could_not_be_written() -> None:
    with pytest.raises(ValueError, match="Heartbeat v4 request cannot be written: Heartbeat v4 request has no field generation"):
        write_request(Api.HEARTBEAT, 4, 1, "m0", {"generation": 3})
    with pytest.raises(ValueError, match="LeaveGroup v1 request cannot be written: it has no field member_id"):
        write_request(Api.LEAVE_GROUP, 1, 1, "m0", {"group_id": "g", "member_id": "m"})
    with pytest.raises(ValueError, match=r"Heartbeat v5 is unknown: v0 to v4"):
        write_request(Api.HEARTBEAT, 5, 1, "m0", {})


def test_an_error_code_that_no_kafka_knows_crosses_the_wire() -> None:
    assert read_response(Api.HEARTBEAT, 4, write_response(Api.HEARTBEAT, 4, 1, {"error_code": 9999}))[1]["error_code"] == 9999


def test_every_version_holds_the_fields_of_all() -> None:
    oldest = read_request(write_request(Api.JOIN_GROUP, 0, 1, "m0", JOIN)).body
    newest = read_request(write_request(Api.JOIN_GROUP, 9, 1, "m0", JOIN)).body

    assert newest == JOIN
    assert oldest == {**JOIN, "rebalance_timeout_ms": -1, "group_instance_id": None, "reason": None}


def test_a_request_becomes_the_typed_message_of_its_api() -> None:
    message = read_request(write_request(Api.HEARTBEAT, 4, 1, "m0", HEARTBEAT)).message

    assert {name: getattr(message, name) for name in HEARTBEAT} == HEARTBEAT


def test_warming_an_api_loads_every_version_of_it() -> None:
    warm([Api.HEARTBEAT, Api.SYNC_GROUP])

    assert read_request(write_request(Api.HEARTBEAT, 0, 1, None, HEARTBEAT)).version == 0


# Frames


@given(st.lists(st.binary(max_size=20)), st.lists(st.integers(0, 60)))
def test_frames_come_out_whole_however_the_stream_is_cut(payloads: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(map(frame, payloads))
    framer, found, at = Framer(), [], 0
    for cut in [*sorted(cuts), len(stream)]:
        found += framer.feed(stream[at:cut])
        at = max(at, cut)

    assert found == payloads
    assert framer.pending == 0


def test_a_heartbeat_that_comes_again_is_read_as_the_first_time() -> None:
    bodies = [{"group_id": "g", "generation_id": 3, "member_id": member} for member in ("m1", "m2")]
    first, again, other = (
        read_request(write_request(Api.HEARTBEAT, 3, correlation, "c", body), is_for_machine=True)
        for correlation, body in ((1, bodies[0]), (2, bodies[0]), (3, bodies[1]))
    )

    assert (first.correlation, again.correlation, other.correlation) == (1, 2, 3)
    assert again.message is first.message  # nothing was read twice
    assert (again.client_id, again.body, again.surplus) == ("c", first.body, 0)
    assert other.message.member_id == "m2"  # type: ignore[attr-defined]  # a Heartbeat


def test_what_was_read_of_heartbeats_has_a_bound() -> None:
    for number in range(9_000):
        last = read_request(
            write_request(Api.HEARTBEAT, 3, 1, "c", {"group_id": "g", "generation_id": number, "member_id": "m"}), is_for_machine=True
        )
    held = _codec(Api.HEARTBEAT, 3, "request").repeated

    assert held is not None
    assert len(held) <= 8_192
    assert last.message.generation_id == 8_999  # type: ignore[attr-defined]  # a Heartbeat


def test_an_incomplete_frame_is_kept_until_its_rest_comes() -> None:
    framer = Framer()

    assert framer.feed(frame(b"whole") + b"\0\0\0\x04cu") == [b"whole"]
    assert framer.pending == 6
    assert framer.feed(b"t!") == [b"cut!"]


@pytest.mark.parametrize("length", [b"\xff\xff\xff\xff", b"\x80\0\0\0"])
def test_a_negative_length_ends_the_stream(length: bytes) -> None:
    with pytest.raises(NegativeLength, match=r"a frame of -\d+ bytes was announced; first bytes " + length.hex()):
        Framer().feed(length + b"rest")


def test_a_frame_above_the_bound_is_refused_when_its_length_is_known() -> None:
    framer = Framer(10)

    assert framer.feed(frame(b"x" * 10)) == [b"x" * 10]
    with pytest.raises(FrameTooLong, match="a frame of 11 bytes was announced, the bound is 10"):
        framer.feed(b"\0\0\0\x0b")


def test_two_gibibytes_are_refused_without_being_held() -> None:
    tracemalloc.start()
    with pytest.raises(FramingError, match=f"2147483647 bytes was announced, the bound is {FRAME_BYTES_MAX}"):
        Framer().feed(b"\x7f\xff\xff\xff" + bytes(1000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 20_000


def test_a_frame_may_be_empty() -> None:
    assert Framer().feed(frame(b"") + frame(b"")) == [b"", b""]

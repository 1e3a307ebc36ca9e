from __future__ import annotations

from typing import Any

import pytest

from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import read_request, read_response, write_request, write_response

PARTITION = {"partition_index": 0, "committed_offset": 5, "committed_leader_epoch": -1, "metadata": "x", "error_code": 0}


def seen_request(api: Api, version: int, body: dict[str, Any]) -> dict[str, Any]:
    return read_request(write_request(api, version, 1, "m0", body)).body


def seen_response(api: Api, version: int, body: dict[str, Any]) -> dict[str, Any]:
    return read_response(api, version, write_response(api, version, 1, body))[1]


@pytest.mark.parametrize("version", [0, 2, 3, 5])
def test_one_leaving_member_reads_the_same_in_every_version(version: int) -> None:
    body = seen_request(Api.LEAVE_GROUP, version, {"group_id": "g", "members": ({"member_id": "m"},)})

    assert body == {"group_id": "g", "members": ({"member_id": "m", "group_instance_id": None, "reason": None},)}


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"error_code": 16, "members": ({"member_id": "m", "error_code": 25},)}, 16),
        ({"error_code": 0, "members": ({"member_id": "m", "error_code": 25},)}, 25),
        ({"error_code": 0, "members": ({"member_id": "m", "error_code": 0},)}, 0),
        ({"error_code": 15}, 15),
    ],
)
def test_an_old_leave_answer_says_the_top_code_or_else_the_members(answer: dict[str, Any], code: int) -> None:
    """LEAVE-51."""
    assert seen_response(Api.LEAVE_GROUP, 2, answer) == {"throttle_time_ms": 0, "error_code": code, "members": ()}


@pytest.mark.parametrize("version", [0, 3, 4, 6])
def test_one_key_is_found_in_every_version(version: int) -> None:
    found = {"node_id": 1, "host": "h", "port": 9092, "error_code": 0, "error_message": None}

    assert seen_request(Api.FIND_COORDINATOR, version, {"coordinator_keys": ("g",)}) == {"coordinator_keys": ("g",), "key_type": 0}
    assert seen_response(Api.FIND_COORDINATOR, version, {"coordinators": ({"key": "g", **found},)}) == {
        "throttle_time_ms": 0, "coordinators": ({"key": "g" if version >= 4 else "", **found},),
    }  # fmt: skip


@pytest.mark.parametrize("version", [1, 2, 5, 7, 8, 9])
def test_one_group_is_fetched_in_every_version(version: int) -> None:
    asked = {"group_id": "g", "topics": ({"name": "t", "partition_indexes": (0,), "topic_id": None},), "member_id": None, "member_epoch": -1}
    fields = {"error_code": 0, "topics": ({"name": "t", "topic_id": None, "partitions": (PARTITION,)},)}

    assert seen_request(Api.OFFSET_FETCH, version, {"groups": (asked,)}) == {"groups": (asked,), "require_stable": False}
    assert seen_response(Api.OFFSET_FETCH, version, {"groups": ({"group_id": "g", **fields},)}) == {
        "throttle_time_ms": 0, "groups": ({"group_id": "g" if version >= 8 else "", **fields},),
    }  # fmt: skip


def test_before_v2_the_code_of_a_group_is_repeated_on_its_partitions() -> None:
    body = {"groups": ({"group_id": "g", "error_code": 16, "topics": ({"name": "t", "partitions": (PARTITION,)},)},)}

    (old,) = seen_response(Api.OFFSET_FETCH, 1, body)["groups"]
    (new,) = seen_response(Api.OFFSET_FETCH, 2, body)["groups"]
    assert (old["error_code"], old["topics"][0]["partitions"][0]["error_code"]) == (0, 16)
    assert (new["error_code"], new["topics"][0]["partitions"][0]["error_code"]) == (16, 0)


def test_asking_for_every_offset_of_a_group_needs_v2() -> None:
    every = {"groups": ({"group_id": "g", "topics": None},)}

    assert seen_request(Api.OFFSET_FETCH, 2, every)["groups"][0]["topics"] is None
    with pytest.raises(ValueError, match="OffsetFetch v1 request cannot be written: topics cannot be null"):
        write_request(Api.OFFSET_FETCH, 1, 1, "m0", every)


@pytest.mark.parametrize("version", [0, 6, 7, 9])
def test_no_protocol_name_is_null_whatever_the_version_writes_for_it(version: int) -> None:
    assert seen_response(Api.JOIN_GROUP, version, {"error_code": 25})["protocol_name"] is None
    assert seen_response(Api.JOIN_GROUP, version, {"protocol_name": "range"})["protocol_name"] == "range"


@pytest.mark.parametrize(
    ("api", "version", "body", "message"),
    [
        (Api.LEAVE_GROUP, 2, {"members": ({}, {})}, "LeaveGroup v2 names exactly one member, not 2"),
        (Api.FIND_COORDINATOR, 3, {"coordinator_keys": ()}, "FindCoordinator v3 asks for exactly one key, not 0"),
        (Api.OFFSET_FETCH, 7, {"groups": ({}, {})}, "OffsetFetch v7 is about exactly one group, not 2"),
    ],
)
def test_a_batch_does_not_fit_into_a_version_without_batches(api: Api, version: int, body: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        write_request(api, version, 1, "m0", body)


def test_a_batch_of_answers_does_not_fit_into_a_version_without_batches() -> None:
    with pytest.raises(ValueError, match="a FindCoordinator v3 response has exactly one coordinator, not 2"):
        write_response(Api.FIND_COORDINATOR, 3, 1, {"coordinators": ({"key": "g"}, {"key": "h"})})
    with pytest.raises(ValueError, match="an OffsetFetch v7 response is about exactly one group, not 0"):
        write_response(Api.OFFSET_FETCH, 7, 1, {"groups": ()})


def test_commits_keep_the_retention_time_of_old_versions() -> None:
    assert seen_request(Api.OFFSET_COMMIT, 4, {"group_id": "g", "retention_time_ms": 60_000})["retention_time_ms"] == 60_000
    assert seen_request(Api.OFFSET_COMMIT, 8, {"group_id": "g", "retention_time_ms": 60_000})["retention_time_ms"] == -1

from __future__ import annotations

from typing import Any

import pytest

from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.error_responses import error_of, refusal
from groupproof.protocol.wire.message_codec import VERSIONS, read_request, read_response, write_request, write_response

UUID = "67380c45-a2e1-4a3d-a70e-19026e505bcb"
REQUESTS: dict[Api, dict[str, Any]] = {
    Api.PRODUCE: {"topic_data": ({"name": "t", "topic_id": UUID, "partition_data": ({"index": 1},)},)},
    Api.FETCH: {"topics": ({"topic": "t", "topic_id": UUID, "partitions": ({"partition": 1},)},)},
    Api.LIST_OFFSETS: {"topics": ({"name": "t", "partitions": ({"partition_index": 1},)},)},
    Api.METADATA: {"topics": ({"name": "t", "topic_id": UUID},)},
    Api.OFFSET_COMMIT: {"topics": ({"name": "t", "topic_id": UUID, "partitions": ({"partition_index": 1},)},)},
    Api.OFFSET_FETCH: {"groups": ({"group_id": "g", "topics": ({"name": "t", "topic_id": UUID, "partition_indexes": (1,)},)},)},
    Api.FIND_COORDINATOR: {"coordinator_keys": ("g",)},
    Api.LEAVE_GROUP: {"group_id": "g", "members": ({"member_id": "m"},)},
    Api.DESCRIBE_GROUPS: {"groups": ("g",)},
    Api.CREATE_TOPICS: {"topics": ({"name": "t"},)},
    Api.DELETE_TOPICS: {"topics": ({"name": "t"},)},
    Api.CREATE_PARTITIONS: {"topics": ({"name": "t", "count": 3},)},
    Api.ELECT_LEADERS: {"topic_partitions": ({"topic": "t", "partitions": (1,)},)},
    Api.OFFSET_FOR_LEADER_EPOCH: {"topics": ({"topic": "t", "partitions": ({"partition": 1},)},)},
    Api.TXN_OFFSET_COMMIT: {"topics": ({"name": "t", "partitions": ({"partition_index": 1},)},)},
    Api.DESCRIBE_CONFIGS: {"resources": ({"resource_type": 4, "resource_name": "1"},)},
    Api.INCREMENTAL_ALTER_CONFIGS: {"resources": ({"resource_type": 32, "resource_name": "g"},)},
    Api.DELETE_GROUPS: {"groups_names": ("g",)},
    Api.OFFSET_DELETE: {"group_id": "g", "topics": ({"name": "t", "partitions": ({"partition_index": 1},)},)},
    Api.CONSUMER_GROUP_DESCRIBE: {"group_ids": ("g",)},
    Api.DESCRIBE_TOPIC_PARTITIONS: {"topics": ({"name": "t"},)},
}
BY_NAME = {"topic_names": ("t",)}


@pytest.mark.parametrize("api", VERSIONS)
def test_every_api_is_refused_in_every_version_and_the_client_sees_the_code(api: Api) -> None:
    oldest, newest = VERSIONS[api]

    assert {version: codes for version in range(oldest, newest + 1) if (codes := _codes_of_refusals(api, version)) != {16}} == {}


def _codes_of_refusals(api: Api, version: int) -> set[int | None]:
    request = read_request(write_request(api, version, 1, "m0", BY_NAME if api is Api.DELETE_TOPICS and version < 6 else REQUESTS.get(api, {}))).body
    answers = (refusal(api, request, 16), refusal(api, request, 16, version))
    return {error_of(api, read_response(api, version, write_response(api, version, 1, answer))[1]) for answer in answers}


def test_a_refused_join_echoes_the_member_and_says_generation_minus_one() -> None:
    assert refusal(Api.JOIN_GROUP, {"member_id": "m"}, 25) == {"error_code": 25, "generation_id": -1, "member_id": "m"}


def test_a_refused_commit_repeats_the_code_on_every_partition() -> None:
    partitions = ({"partition_index": 0, "committed_offset": 5}, {"partition_index": 3, "committed_offset": 6})
    answer = refusal(Api.OFFSET_COMMIT, {"topics": ({"name": "t", "partitions": partitions}, {"name": "u", "partitions": partitions[:1]})}, 27)

    assert answer == {
        "topics": (
            {"name": "t", "partitions": ({"partition_index": 0, "error_code": 27}, {"partition_index": 3, "error_code": 27})},
            {"name": "u", "partitions": ({"partition_index": 0, "error_code": 27},)},
        )
    }


def test_a_refused_search_finds_node_minus_one_for_each_key() -> None:
    nowhere = {"node_id": -1, "host": "", "port": -1, "error_code": 15}

    assert refusal(Api.FIND_COORDINATOR, {"coordinator_keys": ("g", "h")}, 15) == {"coordinators": ({"key": "g", **nowhere}, {"key": "h", **nowhere})}


def test_a_refused_group_tells_its_partitions_only_where_there_is_no_code_of_the_group() -> None:
    request = REQUESTS[Api.OFFSET_FETCH]

    assert refusal(Api.OFFSET_FETCH, request, 14, 1)["groups"][0]["topics"][0]["partitions"][0]["error_code"] == 14
    assert refusal(Api.OFFSET_FETCH, request, 14, 8) == {"groups": ({"group_id": "g", "error_code": 14},)}


def test_a_request_for_all_offsets_is_refused_by_its_group_alone() -> None:
    assert refusal(Api.OFFSET_FETCH, {"groups": ({"group_id": "g", "topics": None},)}, 16) == {
        "groups": ({"group_id": "g", "error_code": 16, "topics": ()},)
    }


def test_a_refused_fetch_brings_no_records() -> None:
    (partition,) = refusal(Api.FETCH, REQUESTS[Api.FETCH], 6)["responses"][0]["partitions"]

    assert partition == {"partition_index": 1, "error_code": 6, "high_watermark": -1, "records": b""}


@pytest.mark.parametrize(
    ("api", "body", "code"),
    [
        (Api.HEARTBEAT, {"error_code": 27}, 27),
        (Api.HEARTBEAT, {}, 0),
        (Api.LEAVE_GROUP, {"error_code": 0, "members": ({"error_code": 0}, {"error_code": 25})}, 25),
        (Api.LEAVE_GROUP, {"error_code": 16, "members": ({"error_code": 25},)}, 16),
        (Api.OFFSET_COMMIT, {"topics": ({"partitions": ({"error_code": 0},)}, {"partitions": ({"error_code": 22},)})}, 22),
        (Api.OFFSET_FETCH, {"groups": ({"error_code": 0, "topics": ({"partitions": ({"error_code": 0},)},)},)}, 0),
        (Api.METADATA, {"brokers": ({"node_id": 1},), "topics": ({"error_code": 3},)}, 3),
        (Api.METADATA, {"topics": ({"partitions": ({"error_code": 0, "replica_nodes": (1, 2)}, {"error_code": 5, "replica_nodes": (2,)})},)}, 5),
        (Api.JOIN_GROUP, {"error_code": 0, "members": ({"member_id": "m"},)}, 0),
    ],
)
def test_the_error_of_an_answer_is_its_top_one_or_the_first_within(api: Api, body: dict[str, Any], code: int) -> None:
    assert error_of(api, body) == code

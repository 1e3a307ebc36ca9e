"""Bodies under the names of their own release come out in the one shape of every trace."""

from __future__ import annotations

from groupproof.harness.running.importing.old_field_names import newest_request, newest_response
from groupproof.protocol.vocabulary import Api


def test_a_join_of_1_1() -> None:
    body = newest_request(
        Api.JOIN_GROUP,
        {"group_id": "g", "session_timeout": "6000", "rebalance_timeout": "60000", "member_id": "", "protocol_type": "consumer",
         "group_protocols": [{"protocol_name": "range", "protocol_metadata": "java.nio.HeapByteBuffer[pos=0 lim=13 cap=13]"}]},
    )  # fmt: skip

    assert (body["session_timeout_ms"], body["rebalance_timeout_ms"], body["member_id"], body["group_instance_id"]) == (6_000, 60_000, "", None)
    assert body["protocols"] == ({"name": "range", "metadata": b"", "metadata_bytes": 13},)
    assert "group_protocols" not in body


def test_its_answer() -> None:
    body = newest_response(
        Api.JOIN_GROUP, {"error_code": "0", "generation_id": "3", "group_protocol": "range", "leader_id": "a-1", "member_id": "b-1", "members": []}
    )

    assert (body["error_code"], body["generation_id"], body["protocol_name"], body["leader"], body["member_id"]) == (0, 3, "range", "a-1", "b-1")


def test_a_leave_of_one_member_is_a_list_of_one() -> None:
    assert newest_request(Api.LEAVE_GROUP, {"group_id": "g", "member_id": "a-1"})["members"] == (
        {"member_id": "a-1", "group_instance_id": None, "reason": None},
    )


def test_a_leave_of_several() -> None:
    body = newest_request(
        Api.LEAVE_GROUP,
        {"group_id": "g", "members": [{"member_id": "a-1", "group_instance_id": "null"}, {"member_id": "", "group_instance_id": "i", "reason": "x"}]},
    )

    assert [(member["member_id"], member["group_instance_id"], member["reason"]) for member in body["members"]] == [
        ("a-1", None, None),
        ("", "i", "x"),
    ]


def test_a_lookup_in_all_its_shapes() -> None:
    for asked in (
        {"group_id": "g"},
        {"coordinator_key": "g", "coordinator_type": "0"},
        {"key": "g", "key_type": 0},
        {"coordinator_keys": ["g"], "key_type": 0},
    ):
        assert newest_request(Api.FIND_COORDINATOR, asked)["coordinator_keys"] == ("g",)
    for frame in (
        {"error_code": "0", "coordinator": {"node_id": "1"}},
        {"error_code": 0, "node_id": 1},
        {"coordinators": [{"node_id": 1, "error_code": 0}]},
    ):
        assert [coordinator["node_id"] for coordinator in newest_response(Api.FIND_COORDINATOR, frame)["coordinators"]] == [1]


def test_commits_and_their_answers() -> None:
    asked = newest_request(Api.OFFSET_COMMIT, {"group_id": "g", "topics": [{"topic": "t", "partitions": [{"partition": "1", "offset": "7"}]}]})
    answer = newest_response(Api.OFFSET_COMMIT, {"responses": [{"topic": "t", "partition_responses": [{"partition": "1", "error_code": "22"}]}]})

    assert asked["topics"] == ({"name": "t", "partitions": ({"partition_index": 1, "committed_offset": 7},)},)
    assert answer["topics"][0]["partitions"] == ({"partition_index": 1, "error_code": 22},)
